//! Runs that go on, begun by the command line: found, shown to their end, and said to have been watched.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use waggle_load::NullServer;
use waggle_testkit::{wait_for, wait_until};

use super::Served;
use crate::workspace::{Workspace, output_text};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// A study of a server of this test, with two cells.
pub(super) fn write_study(workspace: &Workspace, file: &str, repeat: u32) -> NullServer {
    let server = NullServer::start("127.0.0.1:0".parse().unwrap(), ANSWER).unwrap();
    let url = server.address();
    let study = format!(
        "study: small\nquestion: Is it <b>watched</b>?\nsystem: {{ url: 'http://{url}' }}\n\
         factors: {{ connections: [1, 2] }}\n\
         load:\n  model: closed\n  connections: ${{connections}}\n  request: {{ name: get, get: / }}\n\
         schedule:\n  warm_up: 1s\n  measure: 2s\n  repeat: {repeat}\n"
    );
    let file = workspace.path().join(file);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, study).unwrap();
    server
}

fn start_run(workspace: &Workspace, runs: &str) -> Child {
    let mut command = workspace.waggle(&["run", "small.yaml", "--quiet", "--runs", runs]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Interrupts a run as Ctrl-C does.
fn interrupt(run: &Child) {
    let pid = i32::try_from(run.id()).ok().and_then(Pid::from_raw);
    kill_process(pid.unwrap(), Signal::INT).unwrap();
}

/// Trials of a run that have ended.
fn ended_trials(run: &Path) -> usize {
    let entries = fs::read_dir(run.join("trials")).into_iter().flatten();
    let names = entries.flatten().map(|entry| entry.file_name());
    names
        .filter(|name| !name.as_encoded_bytes().starts_with(b"."))
        .count()
}

/// The events of a page, each told to `take`, until the run has ended: their names, and the last text.
fn read_events(served: &Served, path: &str, mut take: impl FnMut(&str)) -> (Vec<String>, String) {
    let mut stream = TcpStream::connect(served.address).unwrap();
    let host = served.address;
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let (mut names, mut last) = (Vec::new(), String::new());
    for line in BufReader::new(stream).lines() {
        let line = line.unwrap();
        if let Some(name) = line.strip_prefix("event: ") {
            take(name);
            names.push(name.to_owned());
            last.clear();
        } else if let Some(data) = line.strip_prefix("data: ") {
            last.push_str(data);
        }
    }
    (names, last)
}

#[test]
fn a_run_of_the_command_line_is_shown_to_its_end_and_says_that_it_was_watched() {
    let workspace = Workspace::new();
    // It goes on until it is interrupted.
    let _server = write_study(&workspace, "small.yaml", 50);
    fs::create_dir(workspace.path().join("runs")).unwrap();
    let served = Served::start(&workspace, &["runs"]);
    let run = start_run(&workspace, "runs");
    let pid = run.id();
    let live = wait_for("the run is listed as running", || {
        let page = served.page("/");
        page.contains("badge running")
            .then(|| super::list_names(&page).pop())?
    });
    // The page says what there is without scripts, too.
    let page = wait_for("the page shows the run", || {
        let page = served.page(&format!("/runs/{live}/live"));
        page.contains("id=\"live-cells\"").then_some(page)
    });
    assert!(page.contains("Is it &lt;b&gt;watched&lt;/b&gt;?"), "{page}");
    assert!(page.contains(&format!(
        "data-events=\"/runs/{}/events\"",
        live.replace('-', "%2D")
    )));
    let by_process = served.page(&format!("/live/{pid}"));
    assert!(
        by_process.contains("data-events=\"/runs/small%2D"),
        "{by_process}"
    );
    let folder = workspace.path().join("runs").join(&live);
    let (mut states, mut wanted) = (0, None);
    let (names, last) = read_events(&served, &format!("/runs/{live}/events"), |name| {
        states += usize::from(name == "state");
        let ended = ended_trials(&folder);
        // The second that ends from now on began while it was followed.
        let wanted = wanted.get_or_insert(ended + 2);
        if states >= 2 && ended >= *wanted {
            interrupt(&run);
            *wanted = usize::MAX;
        }
    });
    assert_eq!(
        names.last().map(String::as_str),
        Some("ended"),
        "{names:?}: {last}"
    );
    assert!(
        names.iter().filter(|name| *name == "state").count() >= 2,
        "{names:?}"
    );
    assert!(last.contains("Ended with exit code 130"), "{last}");
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", output_text(&output));
    let report = served.page(&format!("/runs/{live}/report"));
    let remark = "one process on this machine followed the run meanwhile";
    assert!(
        report.contains(remark),
        "the report says that it was watched"
    );
    let text = fs::read_to_string(folder.join("report.md")).unwrap();
    assert!(text.contains(remark), "{text}");
    assert!(!folder.join("events.sock").exists());
    // What has ended is shown as ended.
    let page = served.page(&format!("/runs/{live}/live"));
    assert!(page.contains("Ended with exit code"), "{page}");
    assert_eq!(served.get(&format!("/live/{pid}")).status, 404);
    assert!(!served.page("/").contains("badge running"));
}

#[test]
fn a_run_in_another_folder_is_found_and_one_that_nobody_looks_at_is_not_followed() {
    let workspace = Workspace::new();
    let _server = write_study(&workspace, "small.yaml", 50);
    fs::create_dir(workspace.path().join("runs")).unwrap();
    let served = Served::start(&workspace, &["runs"]);
    let run = start_run(&workspace, "elsewhere");
    let pid = run.id();
    wait_for("the run is found", || {
        let link = format!("href=\"/live/{pid}\"");
        served.page("/").contains(&link).then_some(())
    });
    assert_eq!(super::list_names(&served.page("/")), [""; 0]);
    let folder = fs::read_dir(workspace.path().join("elsewhere")).unwrap();
    let folder = folder.flatten().next().unwrap().path();
    wait_until("a trial has ended", || ended_trials(&folder) > 0);
    interrupt(&run);
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", output_text(&output));
    let reported = workspace.output(&["report", folder.to_str().unwrap()]);
    let report = fs::read_to_string(folder.join("report.html"));
    let report = report.unwrap_or_else(|why| panic!("{why}: {}", output_text(&reported)));
    assert!(
        !report.contains("followed the run"),
        "the list alone follows nothing"
    );
}
