//! The folders after a trial: logs are kept, files of the system are removed.

use std::{fs, io, path::Path};

use waggle_results::{TrialInfo, private_file};

use crate::trial::{Trial, TrialContext};

impl Trial<'_> {
    /// Moves the components' logs into the trial's folder, without secrets.
    pub(crate) fn keep_logs(&self, info: &mut TrialInfo) {
        let TrialContext {
            logs,
            kept_logs,
            secrets,
            ..
        } = self.context;
        let copied = if logs == kept_logs {
            Ok(())
        } else {
            copy_files(logs, kept_logs)
        };
        if let Err(problem) = copied.and_then(|()| secrets.redact_files(kept_logs)) {
            info.remarks
                .push(format!("the components' logs could not be kept: {problem}"));
        }
    }

    /// Removes the files of the system.
    pub(crate) fn remove_folder(&self, info: &mut TrialInfo) {
        if let Err(problem) = fs::remove_dir_all(self.context.folder)
            && problem.kind() != io::ErrorKind::NotFound
        {
            info.remarks.push(format!(
                "cannot remove {}: {problem}",
                self.context.folder.display()
            ));
        }
    }
}

fn copy_files(from: &Path, to: &Path) -> io::Result<()> {
    private_file::create_folder(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        private_file::copy_file(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}
