//! A study with the files that it names, as an archive, and the values of the variables that it names.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Component, Path, PathBuf},
};

use anyhow::{Context, Result, anyhow, bail};
use tar::Builder;

use crate::{
    arguments::Choice,
    commands::run::pod::files::{
        Links, STUDY_MAX_BYTES, append_bytes, append_end, append_file, append_tree,
    },
    inputs::{named_files::Named, study::Loaded},
};

/// What a run elsewhere needs of this machine.
#[derive(Debug)]
pub(super) struct Bundle {
    /// The folder that has them all.
    root: PathBuf,
    study: PathBuf,
    /// Absolute, without links.
    files: BTreeSet<PathBuf>,
    /// The folder of the system, and its name; `None`: it is a server by its URL.
    system: Option<(PathBuf, String)>,
    /// What helm made of the system's chart, because the pod has no helm.
    rendered: Option<String>,
    /// Names and values.
    pub(super) variables: BTreeMap<String, String>,
}

impl Bundle {
    /// Finds what a study names.
    ///
    /// # Errors
    /// A file is not there, or cannot be had by the same name elsewhere.
    pub(super) fn new(choice: &Choice, loaded: &Loaded) -> Result<Self> {
        let named = Named::find(choice, loaded)?;
        let study = &choice.study;
        // Files are beside the study as it is named, also if it is a link.
        let folder = match study.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let folder =
            fs::canonicalize(folder).with_context(|| format!("cannot find {}", study.display()))?;
        let name = study.file_name().context("the study has no name")?;
        let study = folder.join(name);
        let mut files = BTreeSet::from([study.clone()]);
        for name in named.files {
            files.insert(file_elsewhere(&folder, &name)?);
        }
        let system = loaded.system.external.is_none().then(|| {
            let name = loaded.system.name.clone();
            (loaded.system_folder.clone(), name)
        });
        Ok(Self {
            root: root_folder(&folder, &files),
            study,
            files,
            system,
            rendered: None,
            variables: named.variables,
        })
    }

    /// Renders the chart of the system, if it is one, for every cell.
    ///
    /// # Errors
    /// Helm cannot be run, or refuses the chart.
    pub(super) async fn render(&mut self, loaded: &Loaded, namespace: &str) -> Result<()> {
        let system = &loaded.system;
        let given = system.manifests.as_ref();
        let given = given.and_then(|manifests| manifests.namespace.as_deref());
        let levels = loaded.study.cells.iter().flat_map(|cell| {
            let upgraded = cell.upgraded_levels().into_iter();
            std::iter::once(&cell.parameters).chain(upgraded)
        });
        let namespace = given.unwrap_or(namespace);
        self.rendered =
            waggle_runner::render_all(system, &loaded.system_folder, namespace, levels).await?;
        Ok(())
    }

    /// The study, relative to the folder of the archive.
    pub(super) fn study(&self) -> Result<PathBuf> {
        self.name(&self.study)
    }

    /// The archive, with one more file.
    ///
    /// # Errors
    /// A file cannot be read, or it is too large.
    pub(super) fn archive(&self, name: &str, text: &[u8]) -> Result<Vec<u8>> {
        let mut archive = Builder::new(Vec::new());
        for file in &self.files {
            append_file(&mut archive, file, &self.name(file)?)?;
            check_size(archive.get_ref())?;
        }
        if let Some((folder, system)) = &self.system {
            let study = self.study()?;
            let beside = study.parent().unwrap_or(Path::new(""));
            let name = beside.join("systems").join(system);
            append_tree(&mut archive, folder, &name, Links::Followed)?;
            if let Some(rendered) = &self.rendered {
                let file = name.join(waggle_runner::RENDERED);
                append_bytes(&mut archive, &file, rendered.as_bytes())?;
            }
        }
        check_size(archive.get_ref())?;
        append_bytes(&mut archive, Path::new(name), text)?;
        append_end(&mut archive)?;
        archive.into_inner().context("cannot end the archive")
    }

    fn name(&self, file: &Path) -> Result<PathBuf> {
        let name = file.strip_prefix(&self.root);
        Ok(name
            .context("a file is outside of its folder")?
            .to_path_buf())
    }
}

fn check_size(archive: &[u8]) -> Result<()> {
    let limit = waggle_units::format_size(STUDY_MAX_BYTES);
    match archive.len() as u64 > STUDY_MAX_BYTES {
        true => bail!("the files of the study and its system have more than {limit}"),
        false => Ok(()),
    }
}

/// A file by its name in the study, which must be found by the same name in another folder.
fn file_elsewhere(folder: &Path, name: &str) -> Result<PathBuf> {
    if Path::new(name).is_absolute() || name.starts_with("~/") {
        bail!(
            "the study names {name}, which is not there in a cluster: name it relative to the study's folder"
        );
    }
    let file = folder.join(name);
    // With its links: the same name leads there in the archive only if the folders have their own names.
    let plain = without_dots(&file);
    match fs::metadata(&plain) {
        Ok(metadata) if metadata.is_file() => Ok(plain),
        Ok(_) => bail!("{} is no file", file.display()),
        Err(why) => Err(anyhow!("cannot read {}: {why}", file.display())),
    }
}

/// Resolves `.` and `..` by name.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

/// The lowest folder above all of them.
fn root_folder(folder: &Path, files: &BTreeSet<PathBuf>) -> PathBuf {
    let above = |candidate: &&Path| files.iter().all(|file| file.starts_with(candidate));
    let root = folder.ancestors().find(above);
    root.unwrap_or(Path::new("/")).to_path_buf()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_by_their_names_from_the_study() {
        let around = tempfile::tempdir().unwrap();
        let folder = around.path().join("studies");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("a.csv"), "").unwrap();
        fs::write(around.path().join("b.csv"), "").unwrap();
        assert_eq!(
            file_elsewhere(&folder, "./a.csv").unwrap(),
            folder.join("a.csv")
        );
        let above = file_elsewhere(&folder, "../b.csv").unwrap();
        assert_eq!(above, around.path().join("b.csv"));
        let files = BTreeSet::from([folder.join("a.csv"), above]);
        assert_eq!(root_folder(&folder, &files), around.path());
        let check = |name: &str, words: &str| {
            let error = file_elsewhere(&folder, name).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        };
        check("/etc/hosts", "name it relative to the study's folder");
        check("~/key.pem", "name it relative to the study's folder");
        check("c.csv", "No such file");
        check("..", "is no file");
    }
}
