//! Temporary folders of servers, which are removed however the test program ends.
//!
//! Servers that tests share live in statics, which are not dropped, and a killed program drops nothing. So a shell waits for the end
//! of the program, at its standard input, and removes the folders that are left.

use std::{
    io::Write,
    os::unix::process::CommandExt,
    process::{ChildStdin, Command, Stdio},
    sync::Mutex,
};

use tempfile::TempDir;

/// Reads names of folders, one a line, until the program ends; its servers are killed with it, and may be writing until then.
const REMOVE: &str =
    r#"while read -r folder; do set -- "$@" "$folder"; done; sleep 1; rm -rf -- "$@""#;

/// Creates a folder. It is removed when it is dropped, and at the latest a second after the end of this program.
pub fn server_folder(prefix: &str) -> TempDir {
    static REMOVER: Mutex<Option<ChildStdin>> = Mutex::new(None);
    let folder = TempDir::with_prefix(prefix).expect("a folder");
    let mut remover = REMOVER.lock().expect("no holder panics");
    let names = remover.get_or_insert_with(start_remover);
    writeln!(names, "{}", folder.path().display()).expect("the remover reads");
    folder
}

/// In a process group of its own, so that no signal to that of the tests ends it.
fn start_remover() -> ChildStdin {
    let remover = Command::new("sh")
        .args(["-c", REMOVE, "remover"])
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let stdin = remover.expect("a shell").stdin;
    stdin.expect("its input is a pipe")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait_until;

    #[test]
    fn a_folder_is_removed_after_the_program_that_made_it() {
        let folder = TempDir::with_prefix("removed-").unwrap().keep();
        std::fs::write(folder.join("log"), "text").unwrap();
        let mut names = start_remover();
        writeln!(names, "{}", folder.display()).unwrap();
        drop(names);
        wait_until("the folder is removed", || !folder.exists());
    }
}
