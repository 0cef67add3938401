//! Where a load's run lies: in a folder of its own below the one for temporary files, gone with the load, or where it is to be kept.

use std::{
    cell::OnceCell,
    fs::{self, DirBuilder},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    time::SystemTime,
};

use anyhow::{Context, Result};

/// What a body is called that no file of the user's has.
pub(super) const BODY: &str = "body";

/// The folders of a load. What is temporary goes when this does.
#[derive(Debug)]
pub(crate) struct Place {
    temporary: PathBuf,
    /// Where the run is kept.
    kept: Option<PathBuf>,
    is_made: OnceCell<()>,
}

/// A file that a run needs to be run again, and what it is called beside the study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Needed {
    pub(crate) file: PathBuf,
    pub(crate) name: PathBuf,
}

impl Place {
    /// Makes nothing yet.
    pub(crate) fn new(kept: Option<PathBuf>) -> Self {
        let since_1970 = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        let name = format!(
            "waggle-load-{}-{:x}",
            std::process::id(),
            since_1970.as_nanos()
        );
        Self {
            temporary: std::env::temp_dir().join(name),
            kept,
            is_made: OnceCell::new(),
        }
    }

    /// The folder of the run; the one around it, if that is temporary, is there.
    ///
    /// # Errors
    /// There is no folder for temporary files that can be written.
    pub(crate) fn run_folder(&self) -> Result<PathBuf> {
        match &self.kept {
            Some(folder) => Ok(folder.clone()),
            None => Ok(self.made()?.join("run")),
        }
    }

    /// Makes the temporary folder, for nobody else to look into.
    fn made(&self) -> Result<&Path> {
        if self.is_made.get().is_none() {
            let made = DirBuilder::new().mode(0o700).create(&self.temporary);
            made.with_context(|| format!("cannot create {}", self.temporary.display()))?;
            self.is_made.get_or_init(|| ());
        }
        Ok(&self.temporary)
    }

    /// What is gone with the load.
    pub(crate) fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Whether the run is kept.
    pub(crate) fn keeps(&self) -> bool {
        self.kept.is_some()
    }

    /// Where a body lies that no file of the user's has.
    pub(super) fn body(&self) -> PathBuf {
        self.temporary.join(BODY)
    }

    /// Writes such a body.
    pub(super) fn make_body(&self, bytes: &[u8]) -> Result<PathBuf> {
        let body = self.made()?.join(BODY);
        fs::write(&body, bytes).with_context(|| cannot_write(&body))?;
        Ok(body)
    }

    /// The run is over: what it needs to be run again is put beside its study. Tells the folder, if it is kept.
    pub(crate) fn keep(&self, needed: &[Needed]) -> Result<Option<&Path>> {
        let Some(folder) = &self.kept else {
            return Ok(None);
        };
        for Needed { file, name } in needed {
            let to = folder.join(name);
            let parent = to.parent().unwrap_or(folder);
            fs::create_dir_all(parent)
                .and_then(|()| fs::copy(file, &to))
                .with_context(|| cannot_write(&to))?;
        }
        Ok(Some(folder))
    }
}

fn cannot_write(file: &Path) -> String {
    format!("cannot write {}", file.display())
}

impl Drop for Place {
    fn drop(&mut self) {
        // What cannot be removed lies among temporary files.
        fs::remove_dir_all(&self.temporary).ok();
    }
}
