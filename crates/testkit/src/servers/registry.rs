//! A registry of images: crane's own, which keeps them in memory. `tests/registry/fetch` builds it.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tempfile::TempDir;

use crate::{
    Process, http,
    servers::{process::free_port, server_folder::server_folder},
};

/// A running registry, without TLS and without passwords.
#[derive(Debug)]
pub struct Registry {
    _process: Process,
    address: SocketAddr,
    crane: PathBuf,
    _folder: TempDir,
}

impl Registry {
    /// On 127.0.0.1.
    pub fn start() -> Self {
        Self::start_on(Ipv4Addr::LOCALHOST)
    }

    /// On this address, such as that of this machine in a test's cluster.
    pub fn start_on(host: Ipv4Addr) -> Self {
        let folder = server_folder("registry-");
        let crane = crane_program();
        let address = SocketAddr::from((host, free_port()));
        let listen = format!("--address={address}");
        let program = crane.to_str().expect("a path in UTF-8");
        let command = [program, "registry", "serve", &listen];
        let mut process = Process::start("crane", folder.path(), &command, &[]);
        process.wait_until("be ready", || {
            http::get(address, "/v2/").is_ok_and(|answer| answer.status == 200)
        });
        Self {
            _process: process,
            address,
            crane,
            _folder: folder,
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What crane says, such as of `digest REPOSITORY:TAG`; panics if it fails. The last argument is an image of this registry.
    pub fn crane(&self, arguments: &[&str]) -> String {
        let (image, others) = arguments.split_last().expect("an image");
        let image = format!("{}/{image}", self.address);
        let output = Command::new(&self.crane)
            .arg("--insecure")
            .args(others)
            .arg(image)
            .stdin(Stdio::null())
            .output()
            .expect("crane runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "crane {arguments:?}: {said}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }
}

fn crane_program() -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/registry/fetch");
    let output = Command::new(&script).arg("--folder").output();
    let output = output.expect("the script says where crane is");
    let folder = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let program = Path::new(&folder).join("bin/crane");
    assert!(
        program.is_file(),
        "crane is not there: `tests/registry/fetch` builds it"
    );
    program
}
