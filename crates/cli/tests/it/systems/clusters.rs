//! A system that runs already and asks who is there: a run makes a room of its own in it, which is removed at the end, after Ctrl-C, and
//! after SIGKILL by `waggle system down`. The token is in no file and in no output.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use rustix::process::{Pid, Signal, kill_process};
use waggle_testkit::{
    http::{Reply, Request, Server, answer, ok},
    tls::Authority,
    wait_until,
};

use crate::workspace::{Workspace, output_text};

const TOKEN: &str = "hush-hush-7";
/// Of a room; the answer has it in which it is made.
const KEY: &str = "open-sesame-9";
const SYSTEM: &str = "
system: cluster
summary: An API with rooms.
parameters:
  room: { summary: where the load is, text: {}, default: bench }
certificates: { server: {} }
components:
  disk:
    ports: [tcp]
    process: { command: [not-there] }
    ready: { tcp: { port: tcp } }
  api:
    depends_on: [disk]
    ports: [https]
    tls: { https: {} }
    process: { command: [not-there], environment: { TOKEN: '${secret.token}' } }
    ready: { http: { port: https, path: /ready } }
    setup:
      - { name: what stays, port: https, post: /own, headers: { Authorization: 'Bearer ${secret.token}' } }
      - name: a room
        port: https
        post: /rooms
        headers: { Authorization: 'Bearer ${secret.token}' }
        body: '${room}'
        expect: { status: 201 }
        capture: { key: { json: $.key } }
        undo:
          delete: /rooms/${room}
          headers: { Authorization: 'Bearer ${secret.token}' }
          timeout: 20s
endpoints:
  api: { component: api, port: https }
kubeconfig: api
verify:
  - name: the room is there
    endpoint: api
    get: /rooms/${room}
    headers: { Authorization: 'Bearer ${secret.token}' }
    expect: { status: 200 }
  - name: a stranger is refused
    endpoint: api
    get: /rooms/${room}
    headers: { Authorization: 'Bearer ${secret.stranger}' }
    expect: { status: [401, 403] }
probes:
  changes:
    component: api
    port: https
    watch:
      get: /changes?since=${version}
      headers: { Authorization: 'Bearer ${secret.token}' }
      begin: { at: '0' }
      version: $.version
    extract: { run: { after: 'run=' }, key: { after: 'key=' }, time: { after: 'time=' } }
";

/// What there is in the API.
#[derive(Debug, Default)]
struct Rooms {
    names: Mutex<BTreeSet<String>>,
    /// Requests of the load.
    is_loaded: AtomicBool,
    /// No room may be removed.
    are_kept: AtomicBool,
    /// Requests that it should not get.
    wrong: Mutex<Vec<String>>,
}

impl Rooms {
    fn answer(&self, request: &Request) -> Vec<u8> {
        if request.header("authorization") != Some(&format!("Bearer {TOKEN}")) {
            self.wrong.lock().unwrap().push(request.head.clone());
            return answer(401, "", "who are you?");
        }
        let mut names = self.names.lock().unwrap();
        let name = request.path.strip_prefix("/rooms/").unwrap_or_default();
        match (request.method.as_str(), request.path.as_str()) {
            ("POST", "/rooms") if names.insert(request.text().to_owned()) => {
                answer(201, "", &format!("{{\"key\": \"{KEY}\"}}"))
            }
            ("POST", "/rooms") => answer(409, "", "it is there"),
            ("DELETE", _) if self.are_kept.load(Ordering::Relaxed) => answer(403, "", "no"),
            ("DELETE", _) if names.remove(name) => ok("it goes"),
            ("GET", "/load") if request.header("x-room") == Some(KEY) => {
                self.is_loaded.store(true, Ordering::Relaxed);
                ok("fine")
            }
            ("GET", "/ready") => ok("ready"),
            ("GET", _) if names.contains(name) => ok("a room"),
            ("GET" | "DELETE", _) => answer(404, "", ""),
            _ => {
                self.wrong.lock().unwrap().push(request.head.clone());
                answer(400, "", "")
            }
        }
    }

    fn names(&self) -> Vec<String> {
        self.names.lock().unwrap().iter().cloned().collect()
    }
}

/// The API, and a folder with a study of it.
struct Lab {
    workspace: Workspace,
    rooms: Arc<Rooms>,
    _server: Server,
}

impl Lab {
    fn new(measure: &str) -> Self {
        let rooms = Arc::new(Rooms::default());
        let authority = Authority::new("ours");
        let answering = Arc::clone(&rooms);
        let server = Server::start_secure(authority.server(), move |request| {
            Reply::Answer(answering.answer(request))
        });
        let workspace = Workspace::new();
        let write = |name: &str, text: &str| fs::write(workspace.path().join(name), text).unwrap();
        fs::create_dir_all(workspace.path().join("systems/cluster")).unwrap();
        write("systems/cluster/system.yaml", SYSTEM);
        write("ca.pem", &authority.pem);
        write("token", TOKEN);
        let url = format!("https://localhost:{}", server.address.port());
        write(
            "kube.yaml",
            &format!(
                "clusters: [{{ name: c, cluster: {{ server: '{url}', certificate-authority: ca.pem }} }}]\n\
                 users: [{{ name: u, user: {{ tokenFile: token }} }}]\n\
                 contexts: [{{ name: x, context: {{ cluster: c, user: u }} }}]\n"
            ),
        );
        write(
            "study.yaml",
            &format!(
                "study: rooms\nquestion: Is anything left?\n\
                 system: {{ use: cluster, set: {{ room: mine }}, kubeconfig: {{ file: '${{env.CLUSTER}}', context: x }} }}\n\
                 load:\n  model: closed\n  connections: 2\n  request: {{ name: ask, get: /load, endpoint: api, headers: {{ X-Room: '${{secret.key}}' }} }}\n\
                 schedule: {{ ready_timeout: 20s, warm_up: 200ms, measure: {measure}, interval: 100ms, repeat: 1 }}\n"
            ),
        );
        Self {
            workspace,
            rooms,
            _server: server,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.workspace.path().join(name)
    }

    fn waggle(&self, arguments: &[&str]) -> Command {
        let mut command = self.workspace.waggle(arguments);
        command
            .env("XDG_STATE_HOME", self.path("state"))
            .env("CLUSTER", "kube.yaml")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn output(&self, arguments: &[&str]) -> Output {
        self.waggle(arguments).output().unwrap()
    }

    /// Starts the run, and returns when it is under load.
    fn start(&self) -> Child {
        let child = self.waggle(&["run", "study.yaml", "--quiet"]).spawn();
        let loaded = || self.rooms.is_loaded.load(Ordering::Relaxed);
        wait_until("the load has begun", loaded);
        child.unwrap()
    }

    /// Files with notes of what was made.
    fn notes(&self) -> Vec<PathBuf> {
        let folder = self.path("state/waggle/created/cluster");
        match fs::read_dir(folder) {
            Ok(entries) => entries.map(|entry| entry.unwrap().path()).collect(),
            Err(_) => Vec::new(),
        }
    }

    /// Nothing wrong was asked, and nothing that waggle wrote has the token.
    fn check_silence(&self, shown: &[&Output]) {
        let wrong = self.rooms.wrong.lock().unwrap();
        assert!(wrong.is_empty(), "{wrong:?}");
        for secret in [TOKEN, KEY] {
            for output in shown {
                let text = output_text(output);
                assert!(!text.contains(secret), "{text}");
            }
            for folder in ["runs", "state"] {
                assert!(!contains(&self.path(folder), secret), "{folder}");
            }
        }
    }
}

pub(crate) fn contains(folder: &Path, text: &str) -> bool {
    let Ok(entries) = fs::read_dir(folder) else {
        return false;
    };
    let mut paths = entries.map(|entry| entry.unwrap().path());
    paths.any(|path| match path.is_dir() {
        true => contains(&path, text),
        // A run that was killed leaves its socket.
        false if !path.is_file() => false,
        false => String::from_utf8_lossy(&fs::read(&path).unwrap()).contains(text),
    })
}

#[test]
fn a_run_removes_what_it_made() {
    let lab = Lab::new("{ requests: 40, timeout: 60s }");
    let output = lab.output(&["run", "study.yaml", "--quiet"]);
    lab.workspace.report_of(&output);
    assert!(
        lab.rooms.is_loaded.load(Ordering::Relaxed),
        "{}",
        output_text(&output)
    );
    assert_eq!(lab.rooms.names(), Vec::<String>::new());
    assert_eq!(lab.notes(), Vec::<PathBuf>::new());
    lab.check_silence(&[&output]);
}

#[test]
fn ctrl_c_removes_it_too() {
    let lab = Lab::new("60s");
    let child = lab.start();
    assert_eq!(lab.rooms.names(), ["mine"]);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", output_text(&output));
    assert_eq!(lab.rooms.names(), Vec::<String>::new());
    assert_eq!(lab.notes(), Vec::<PathBuf>::new());
    lab.check_silence(&[&output]);
}

#[test]
fn what_a_killed_run_made_is_removed_by_system_down() {
    let lab = Lab::new("60s");
    let mut child = lab.start();
    let during = lab.output(&["system", "down", "cluster"]);
    let expected = "removes at its end: setup \"a room\" in api at";
    assert!(
        output_text(&during).contains(expected),
        "{}",
        output_text(&during)
    );
    child.kill().unwrap();
    let killed = child.wait_with_output().unwrap();
    assert_eq!(lab.rooms.names(), ["mine"]);
    assert_eq!(lab.notes().len(), 1);
    // The next run finds somebody else's room, and leaves it alone.
    let next = lab.output(&["run", "study.yaml", "--runs", "other"]);
    let expected =
        "api runs already, and its setup \"a room\" failed: expected status 201, got 409";
    assert!(
        output_text(&next).contains(expected),
        "{}",
        output_text(&next)
    );
    assert_eq!((lab.rooms.names().len(), lab.notes().len()), (1, 1));
    let down = lab.output(&["system", "down", "cluster"]);
    assert!(down.status.success(), "{}", output_text(&down));
    let expected = "removed: setup \"a room\" in api at";
    assert!(
        output_text(&down).contains(expected),
        "{}",
        output_text(&down)
    );
    assert_eq!(lab.rooms.names(), Vec::<String>::new());
    assert_eq!(lab.notes(), Vec::<PathBuf>::new());
    let again = lab.output(&["system", "down", "cluster"]);
    assert!(output_text(&again).contains("cluster is not up"));
    lab.check_silence(&[&during, &killed, &next, &down]);
}

#[test]
fn what_cannot_be_removed_is_named_with_what_helps() {
    let lab = Lab::new("{ requests: 40, timeout: 60s }");
    lab.rooms.are_kept.store(true, Ordering::Relaxed);
    let output = lab.output(&["run", "study.yaml", "--quiet"]);
    let shown = output_text(&output);
    assert!(
        shown.contains("not removed: setup \"a room\" in api at"),
        "{shown}"
    );
    assert!(
        shown.contains("(DELETE /rooms/mine); `waggle system down cluster` tries again"),
        "{shown}"
    );
    let down = lab.output(&["system", "down", "cluster"]);
    assert!(!down.status.success());
    let expected =
        "the request was refused with status 403; remove it yourself: DELETE /rooms/mine";
    assert!(
        output_text(&down).contains(expected),
        "{}",
        output_text(&down)
    );
    assert_eq!(lab.notes().len(), 1);
    // The study is what says who one is.
    fs::rename(lab.path("study.yaml"), lab.path("moved.yaml")).unwrap();
    let blind = lab.output(&["system", "down", "cluster"]);
    let expected = "its study cannot be read any more: cannot read";
    assert!(
        output_text(&blind).contains(expected),
        "{}",
        output_text(&blind)
    );
    fs::rename(lab.path("moved.yaml"), lab.path("study.yaml")).unwrap();
    lab.rooms.are_kept.store(false, Ordering::Relaxed);
    let down = lab.output(&["system", "down", "cluster"]);
    assert!(down.status.success(), "{}", output_text(&down));
    assert_eq!((lab.rooms.names().len(), lab.notes().len()), (0, 0));
    lab.check_silence(&[&output, &down, &blind]);
}
