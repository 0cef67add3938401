//! A real server: a process that holds a listening socket, with workers that do not.

use std::{
    net::{SocketAddr, TcpListener},
    os::{fd::OwnedFd, unix::process::CommandExt},
    process::{Child, Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process_group};
use waggle_testkit::wait_until;

use super::ServerProcesses;

/// A process that holds the socket, waits for a line, and then starts a worker that uses a CPU, for 20 s at most.
struct Server {
    process: Child,
    address: SocketAddr,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let socket = Stdio::from(OwnedFd::from(listener));
        let script =
            "ulimit -t 20; read -r line; sh -c 'while :; do :; done' </dev/null >/dev/null & wait";
        let process = Command::new("sh")
            .args(["-c", script])
            .process_group(0)
            .stdin(Stdio::piped())
            // It is not written to: it is where the socket is held.
            .stdout(socket)
            .spawn()
            .unwrap();
        Self { process, address }
    }

    fn start_worker(&mut self) {
        use std::io::Write;
        let mut input = self.process.stdin.take().unwrap();
        input.write_all(b"go\n").unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        kill_process_group(Pid::from_child(&self.process), Signal::KILL).ok();
        self.process.wait().ok();
    }
}

#[test]
fn a_server_on_this_machine_is_sampled_with_the_workers_that_it_starts_later() {
    let mut server = Server::start();
    let name = || "server-0".to_owned();
    let mut processes = ServerProcesses::find([(name(), server.address)]);
    assert!(processes.is_whole());
    let usage: Vec<_> = processes.usage().collect();
    let [before] = usage.as_slice() else {
        panic!("{usage:?}");
    };
    assert_eq!(before.replica, "server-0");
    assert!(
        before.cpu.as_millis() < 20 && before.rss_bytes > 0,
        "{before:?}"
    );
    server.start_worker();
    let cpu = |processes: &ServerProcesses| processes.usage().map(|used| used.cpu).max();
    wait_until("the worker's CPU", || {
        cpu(&processes).is_some_and(|cpu| cpu.as_millis() >= 50)
    });
    // Found again, what was used so far still counts.
    processes.refresh();
    assert!(cpu(&processes).unwrap().as_millis() >= 50 && processes.is_whole());
    // Found for the first time, it does not.
    let anew = ServerProcesses::find([(name(), server.address)]);
    assert!(cpu(&anew).unwrap() < cpu(&processes).unwrap());
    let address = server.address;
    drop(server);
    let gone = ServerProcesses::find([(name(), address)]);
    assert!(!gone.is_whole() && gone.usage().next().is_none());
}

#[test]
fn a_server_in_this_process_or_elsewhere_has_no_processes_of_its_own() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let here = listener.local_addr().unwrap();
    let elsewhere: SocketAddr = "198.51.100.1:80".parse().unwrap();
    let servers = [("here-0", here), ("elsewhere-0", elsewhere)];
    let servers = servers.map(|(name, address)| (name.to_owned(), address));
    let processes = ServerProcesses::find(servers);
    assert!(processes.is_whole() && processes.usage().next().is_none());
}
