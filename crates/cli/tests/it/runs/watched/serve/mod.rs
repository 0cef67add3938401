//! `waggle serve` at its port: what each page says, who may ask, runs that go on, and runs that are started.

mod access;
mod launch;
mod live;
mod pages;

use std::{
    io::{BufRead, BufReader},
    net::SocketAddr,
    process::{Child, ExitStatus, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use waggle_testkit::http::{Answer, Connection};

use crate::workspace::Workspace;

/// A server of the folder `runs` of a workspace, at a free port of loopback.
struct Served {
    child: Child,
    address: SocketAddr,
    /// Of another request than the plain one.
    fields: Vec<String>,
}

impl Served {
    fn start(workspace: &Workspace, flags: &[&str]) -> Self {
        Self::start_with(workspace, flags, &[])
    }

    fn start_with(workspace: &Workspace, flags: &[&str], variables: &[(&str, &str)]) -> Self {
        let fixed = ["serve", "--listen", "127.0.0.1:0"];
        let mut command = workspace.waggle(&[&fixed, flags].concat());
        command.envs(variables.iter().copied());
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        let address = line
            .split("http://")
            .nth(1)
            .and_then(|rest| rest.split('/').next());
        let address = address.unwrap_or_else(|| panic!("{line}")).parse().unwrap();
        Self {
            child,
            address,
            fields: Vec::new(),
        }
    }

    fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &format!("Host: {}\r\n", self.address), "")
    }

    /// The page of a path, which is there.
    #[track_caller]
    fn page(&self, path: &str) -> String {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.body
    }

    /// Sends a form as a browser does, with the token of the page.
    fn post(&self, path: &str, page: &str, body: &str) -> Answer {
        let token = attribute(page, "name=\"token\" value=\"");
        let address = self.address;
        let fields = format!("Host: {address}\r\nOrigin: http://{address}\r\n");
        self.ask("POST", path, &fields, &format!("token={token}&{body}"))
    }

    fn ask(&self, method: &str, path: &str, fields: &str, body: &str) -> Answer {
        let more: String = self.fields.concat();
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\n{fields}{more}Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        Connection::ask(self.address, &request).unwrap()
    }

    /// As by Ctrl-C.
    fn end(mut self) -> ExitStatus {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
        self.child.wait().unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            kill_process(Pid::from_child(&self.child), Signal::INT).ok();
            self.child.wait().ok();
        }
    }
}

/// The rest of the first attribute that begins so.
#[track_caller]
fn attribute<'a>(page: &'a str, start: &str) -> &'a str {
    let rest = page.split(start).nth(1);
    let value = rest.and_then(|rest| rest.split('"').next());
    value.unwrap_or_else(|| panic!("no {start} in {page}"))
}

/// The names of the runs in a list, in its order.
fn list_names(page: &str) -> Vec<String> {
    let rows = page.split("class=\"name\"><a href=\"/runs/").skip(1);
    let names = rows.map(|row| row.split('>').nth(1).unwrap().split('<').next().unwrap());
    names.map(str::to_owned).collect()
}
