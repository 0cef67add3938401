//! Telegraf with the configuration of a test.

use std::fs;

use tempfile::TempDir;

use crate::{Process, program, servers::server_folder::server_folder};

/// A running Telegraf.
#[derive(Debug)]
pub struct Telegraf {
    process: Process,
    folder: TempDir,
}

impl Telegraf {
    /// `configuration` is the text of its file.
    pub fn start(configuration: &str) -> Self {
        let folder = server_folder("telegraf-");
        fs::write(folder.path().join("telegraf.conf"), configuration).expect("its configuration");
        let process = launch(&folder);
        Self { process, folder }
    }

    /// Returns when `is_so` is true; panics with the end of the log if it ends first, or on timeout.
    pub fn wait_until(&mut self, what: &str, is_so: impl FnMut() -> bool) {
        self.process.wait_until(what, is_so);
    }

    pub fn kill(&mut self) {
        self.process.kill();
    }

    pub fn restart(&mut self) {
        self.process.kill();
        self.process = launch(&self.folder);
    }

    pub fn log_end(&self) -> String {
        self.process.log_end()
    }
}

fn launch(folder: &TempDir) -> Process {
    let program = program("telegraf", "telegraf");
    let program = program.to_str().expect("a path in UTF-8");
    Process::start(
        "telegraf",
        folder.path(),
        &[program, "--config", "telegraf.conf"],
        &[],
    )
}
