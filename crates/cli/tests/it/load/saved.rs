//! `waggle load --save`: a saved run can be reported and repeated, and contains no secret; other loads leave no files.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use serde_json::Value;
use waggle_load::NullServer;
use waggle_results::{Run, TrialEnd};
use waggle_testkit::http::{Reply, Server, ok};

use crate::{
    exit_codes::{find_code, load_code, load_result, run_code},
    workspace::{Workspace, output_text},
};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

fn server() -> NullServer {
    NullServer::start("127.0.0.1:0".parse().unwrap(), ANSWER).unwrap()
}

/// Every file below a folder.
fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            paths.extend(files(&path));
        } else {
            paths.push(path);
        }
    }
    paths
}

/// Runs a load with these flags, saves the run in `kept`, and returns the result.
fn load_and_keep(workspace: &Workspace, url: &str, flags: &[&str]) -> Value {
    let base = ["load", url, "-c", "2", "--json", "--save=kept"];
    let output = workspace.output(&[&base[..], flags].concat());
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("`waggle report kept` writes its report"),
        "{}",
        output_text(&output)
    );
    load_result(&output)
}

#[test]
fn saved_load_is_a_run() {
    let (workspace, server) = (Workspace::new(), server());
    let url = format!("http://me:pass-word@{}/hello?x=1", server.address());
    let flags = [
        "-n",
        "200",
        "-H",
        "X-Api-Key: open-sesame",
        "--threshold",
        "failed == 0",
    ];
    let result = load_and_keep(&workspace, &url, &flags);
    assert_eq!(result["succeeded"], 200, "{result}");
    let folder = workspace.path().join("kept");
    let run = Run::read(&folder).unwrap();
    let [trial] = &run.trials[..] else {
        panic!("a load is one trial");
    };
    assert_eq!(trial.info.end, TrialEnd::Completed);
    assert_eq!(trial.info.measured.succeeded, 200);
    for file in files(&folder) {
        let text = String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned();
        for secret in ["open-sesame", "pass-word", "bWU6cGFzcy13b3Jk"] {
            assert!(!text.contains(secret), "{}", file.display());
        }
    }
    let output = workspace.output(&["report", "kept"]);
    assert_eq!(
        output.status.code(),
        Some(run_code(&waggle_analysis::model(&run))),
        "{}",
        output_text(&output)
    );
    assert!(
        folder.join("report.html").exists(),
        "{}",
        output_text(&output)
    );
    // In the study, secrets come from the environment instead of flags.
    let output = workspace.output(&["run", "kept/study.yaml", "--quiet"]);
    assert_eq!(output.status.code(), Some(2), "{}", output_text(&output));
    assert!(
        output_text(&output).contains("X_API_KEY, which is not set"),
        "{}",
        output_text(&output)
    );
    let mut again = workspace.waggle(&["run", "kept/study.yaml", "--quiet", "--runs", "again"]);
    again
        .env("X_API_KEY", "open-sesame")
        .env("AUTHORIZATION", "bWU6cGFzcy13b3Jk");
    let output = again.output().unwrap();
    let folders: Vec<_> = fs::read_dir(workspace.path().join("again"))
        .unwrap()
        .collect();
    assert_eq!(folders.len(), 1, "{}", output_text(&output));
    let run = Run::read(&folders[0].as_ref().unwrap().path()).unwrap();
    assert_eq!(
        run.trials[0].info.measured.succeeded,
        200,
        "{}",
        output_text(&output)
    );
}

#[test]
fn scenario_and_body_are_saved_next_to_the_study() {
    let (workspace, server) = (Workspace::new(), server());
    let url = format!("http://{}", server.address());
    fs::create_dir(workspace.path().join("shop")).unwrap();
    fs::write(workspace.path().join("shop/people.csv"), "name\nann\nbob\n").unwrap();
    let scenario = "name: shop\nfeeds:\n  - { name: people, file: people.csv }\nflows:\n  - name: buy\n    \
                    steps: [{ name: order, post: '/{{people.name}}' }]\n";
    fs::write(workspace.path().join("shop/shop.yaml"), scenario).unwrap();
    let result = load_and_keep(
        &workspace,
        &url,
        &["--scenario", "shop/shop.yaml", "-n", "20"],
    );
    assert_eq!(result["steps"][0]["succeeded"], 20, "{result}");
    let output = workspace.output(&["plan", "kept/study.yaml"]);
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    fs::remove_dir_all(workspace.path().join("kept")).unwrap();
    // As a form: without the line end. These bytes are not valid text.
    fs::write(workspace.path().join("odd.bin"), b"\xff\xfe\n").unwrap();
    let result = load_and_keep(&workspace, &url, &["--data", "@odd.bin", "-n", "20"]);
    assert_eq!(result["settings"]["body_bytes"], 2, "{result}");
    assert_eq!(
        fs::read(workspace.path().join("kept/body")).unwrap(),
        b"\xff\xfe"
    );
    let output = workspace.output(&["load", &url, "-n", "1", "--save=kept"]);
    assert_eq!(output.status.code(), Some(2), "{}", output_text(&output));
    assert!(
        output_text(&output).contains("kept"),
        "{}",
        output_text(&output)
    );
}

/// A server that records its distinct requests, head and body.
struct RecordingServer {
    workspace: Workspace,
    server: Server,
    requests: Arc<Mutex<BTreeSet<String>>>,
}

impl RecordingServer {
    fn new() -> Self {
        let requests = Arc::new(Mutex::new(BTreeSet::new()));
        let noted = Arc::clone(&requests);
        let server = Server::start(move |request| {
            // Keys and times differ between records.
            let body = match request.header("x-records") {
                None => request.text(),
                Some(_) => "records",
            };
            let whole = format!("{}{body}", request.head);
            noted.lock().unwrap().insert(whole);
            Reply::Answer(ok(""))
        });
        let workspace = Workspace::new();
        fs::write(workspace.path().join("one.lp"), "boiler temperature=1 1\n").unwrap();
        Self {
            workspace,
            server,
            requests,
        }
    }

    fn take(&self) -> BTreeSet<String> {
        std::mem::take(&mut *self.requests.lock().unwrap())
    }

    /// Runs a load with these flags, then the saved study. The request of the load contains `part`; that of the study is the same
    /// if nothing is left out.
    #[track_caller]
    fn check(&self, path: &str, flags: &[&str], part: &str, left_out: &[&str]) {
        let url = format!("http://{}{path}", self.server.address);
        let result = load_and_keep(&self.workspace, &url, &[&["-n", "20"], flags].concat());
        assert_eq!(result["succeeded"], 20, "{flags:?}: {result}");
        let of_load = self.take();
        assert_eq!(of_load.len(), 1, "{flags:?}: {of_load:?}");
        let has_part = of_load.iter().all(|request| request.contains(part));
        assert!(has_part, "{flags:?}: {of_load:?}");
        let folder = self.workspace.path().join("kept");
        let study = fs::read_to_string(folder.join("study.yaml")).unwrap();
        let lines = study.lines();
        let lines = lines.filter_map(|line| line.strip_prefix("# Left out: "));
        assert_eq!(Vec::from_iter(lines), left_out, "{flags:?}");
        let run = ["run", "kept/study.yaml", "--quiet", "--runs", "again"];
        let output = self.workspace.output(&run);
        let of_study = self.take();
        assert_eq!(of_study.len(), 1, "{study}\n{}", output_text(&output));
        assert_eq!(of_study == of_load, left_out.is_empty(), "{of_study:?}");
        fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn saved_study_sends_the_same_request() {
    let seen = RecordingServer::new();
    let check = |path: &str, flags: &[&str], part: &str| seen.check(path, flags, part, &[]);
    check("/a?b", &["-X", "PURGE"], "PURGE /a?b HTTP/1.1\r\n");
    check("/", &["-X", "get", "--body", "x"], "get / HTTP/1.1\r\n");
    let braces = "{{a}} ${b} $${c} {{{{";
    check("/", &["-X", "GET", "--body", braces], braces);
    check(
        "/?{{x}}={{&${y}",
        &["-H", "X-A: {{b}} ${c}"],
        "/?{{x}}={{&${y} ",
    );
    let form = ["--data", "a=b", "-H", "Content-Type:"];
    check("/", &form, "Content-Length: 3\r\n\r\na=b");
    let records = ["--records", "one.lp", "-H", "X-Records: 1"];
    check("/", &records, "\r\nContent-Type: text/plain");
    let host = seen.server.address;
    check(
        "/",
        &[&records[..], &["-X", "GET", "-H", "Content-Type:"]].concat(),
        &format!("GET / HTTP/1.1\r\nHost: {host}\r\nX-Records: 1\r\nContent-Length: "),
    );
    let host = ["-H", "Host: me", "-H", "TE: trailers"];
    check(
        "/",
        &[&host[..], &["-H", "If-None-Match: a", "-H", "Empty;"]].concat(),
        "Host: me\r\nTE: trailers\r\nIf-None-Match: a\r\nEmpty: \r\n",
    );
}

#[test]
fn saved_study_names_what_is_left_out() {
    RecordingServer::new().check(
        "/",
        &["-H", "A: 1", "-H", "a: 2", "-H", "Connection: keep-alive"],
        "A: 1\r\na: 2\r\nConnection: keep-alive\r\n",
        &[
            "another a of request: a study sends each header once",
            "headers that are specific to a connection or browser: connection",
        ],
    );
}

/// A folder for temporary files.
struct Temporary(PathBuf);

impl Temporary {
    fn new(workspace: &Workspace) -> Self {
        let folder = workspace.path().join("temporary");
        fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    fn load(&self, workspace: &Workspace, url: &str, flags: &[&str]) -> Command {
        let mut load = workspace.waggle(&[&["load", url, "--json"], flags].concat());
        load.env("TMPDIR", &self.0);
        load
    }

    fn count(&self) -> usize {
        fs::read_dir(&self.0).unwrap().count()
    }
}

#[test]
fn load_that_is_not_saved_leaves_no_files() {
    let (workspace, server) = (Workspace::new(), server());
    let url = server.address().to_string();
    let temporary = Temporary::new(&workspace);
    fs::write(workspace.path().join("odd.bin"), b"\xff\xfe\n").unwrap();
    let check = |flags: &[&str], code: &dyn Fn(&Output) -> i32| {
        let output = temporary.load(&workspace, &url, flags).output().unwrap();
        let expected = Some(code(&output));
        assert_eq!(output.status.code(), expected, "{}", output_text(&output));
        assert_eq!(temporary.count(), 0, "{flags:?}");
    };
    let ended = |output: &Output| {
        let result = load_result(output);
        assert_eq!(result["succeeded"], 20, "{result}");
        load_code(&result)
    };
    check(&["-n", "20"], &ended);
    check(&["-n", "20", "--data", "@odd.bin"], &ended);
    check(&["-n", "20", "--body", "@nowhere"], &|_| 2);
    let search = "-d 300ms --search connections --start 1 --max 1 --confirmations 1";
    let search: Vec<&str> = search.split(' ').collect();
    check(&search, &|output| {
        find_code(&serde_json::from_slice(&output.stdout).unwrap())
    });
}

#[test]
fn missing_temporary_folder_is_explained() {
    let (workspace, server) = (Workspace::new(), server());
    let url = server.address().to_string();
    let load = |flags: &[&str]| {
        let mut load = workspace.waggle(&[&["load", &url, "-n", "20", "--json"], flags].concat());
        load.env("TMPDIR", "nowhere").output().unwrap()
    };
    let output = load(&[]);
    assert_eq!(output.status.code(), Some(2), "{}", output_text(&output));
    for part in ["TMPDIR=FOLDER", "--save=FOLDER"] {
        assert!(
            output_text(&output).contains(part),
            "{}",
            output_text(&output)
        );
    }
    load_result(&load(&["--save=kept"]));
}

#[test]
fn interrupted_load_leaves_no_files() {
    let (workspace, server) = (Workspace::new(), server());
    let temporary = Temporary::new(&workspace);
    let url = server.address().to_string();
    let mut load = temporary.load(&workspace, &url, &["-d", "1m"]);
    let load = load.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut load = load.spawn().unwrap();
    // A line of progress shows that the load runs.
    let mut progress = BufReader::new(load.stderr.take().unwrap()).lines();
    progress.next().unwrap().unwrap();
    assert_eq!(temporary.count(), 1);
    let pid = load.id().to_string();
    let asked = Command::new("kill").args(["-INT", &pid]).status().unwrap();
    assert!(asked.success());
    for line in progress {
        line.unwrap();
    }
    let output = load.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", output_text(&output));
    assert_eq!(load_result(&output)["interrupted"], true);
    assert_eq!(temporary.count(), 0);
}

#[test]
fn files_of_a_killed_load_are_removed_by_a_later_one() {
    let (workspace, server) = (Workspace::new(), server());
    let temporary = workspace.path().join("temporary");
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    let folder = |name: &str, modified: SystemTime| {
        let folder = temporary.join(name);
        fs::create_dir_all(folder.join("run")).unwrap();
        fs::write(folder.join("run/study.yaml"), "left").unwrap();
        let opened = fs::File::open(&folder).unwrap();
        opened.set_modified(modified).unwrap();
        (folder, opened)
    };
    let (abandoned, _) = folder("waggle-load-1-1", long_ago);
    let (just_made, _) = folder("waggle-load-2-2", SystemTime::now());
    let (of_another, _) = folder("other", long_ago);
    let (held, lock) = folder("waggle-load-3-3", long_ago);
    lock.lock().unwrap();
    let url = format!("http://{}/", server.address());
    let load = ["load", &url, "--quiet", "-c", "1", "-n", "10"];
    let ended = workspace
        .waggle(&load)
        .env("TMPDIR", &temporary)
        .output()
        .unwrap();
    assert!(
        output_text(&ended).contains("10 succeeded"),
        "{}",
        output_text(&ended)
    );
    let is_there = [&abandoned, &just_made, &of_another, &held].map(|folder| folder.exists());
    assert_eq!(is_there, [false, true, true, true]);
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 3);
}

#[test]
fn saved_text_body_has_no_secret() {
    let (workspace, server) = (Workspace::new(), server());
    let url = format!("http://{}/", server.address());
    let folder = workspace.path().join("kept");
    let check = |flags: &[&str], expected: Option<&str>, lines: &[&str]| {
        load_and_keep(&workspace, &url, &[&["-n", "10"], flags].concat());
        let body = fs::read(folder.join("body")).ok();
        let body = body.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let body = body.map(|text| text.trim_end_matches('x').to_owned());
        assert_eq!(body.as_deref(), expected);
        let study = fs::read_to_string(folder.join("study.yaml")).unwrap();
        let head: Vec<&str> = study.lines().filter(|line| line.contains("ody")).collect();
        for line in lines {
            assert!(head.iter().any(|of_head| of_head.contains(line)), "{study}");
        }
        assert!(!study.contains("hush"), "{study}");
        let output = workspace.output(&["plan", "kept/study.yaml"]);
        assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
        fs::remove_dir_all(&folder).unwrap();
    };
    let long = "x".repeat(70_000);
    let form = format!("password=hush&a={long}");
    check(
        &["--body", &form],
        Some("password=REPLACE-ME&a="),
        &["# Left out: password in the body", "body_file: \"body\""],
    );
    let markup = format!("<password>hush</password>{long}");
    check(&["--body", &markup], None, &["# Left out: the body of"]);
    fs::write(workspace.path().join("odd.bin"), b"\xff\n").unwrap();
    check(
        &["--data", "@odd.bin"],
        Some("\u{fffd}"),
        &["# Saved unchanged, including any secrets: the body, which is not text"],
    );
    check(
        &["--expect", "body_contains=hello", "--body", "token=hush"],
        None,
        &[],
    );
}

#[test]
fn saved_scenario_replaces_no_file_of_the_run() {
    let (workspace, server) = (Workspace::new(), server());
    let url = format!("http://{}", server.address());
    let scenario = |file: &str, feed: &str| {
        let folder = workspace.path().join("shop");
        fs::create_dir_all(folder.join("trials")).unwrap();
        fs::write(folder.join(feed), "name\nann\n").unwrap();
        let text = format!(
            "name: shop\nfeeds:\n  - {{ name: people, file: {feed} }}\nflows:\n  - name: buy\n    \
             steps: [{{ name: order, post: '/{{{{people.name}}}}' }}]\n"
        );
        fs::write(folder.join(file), text).unwrap();
        format!("shop/{file}")
    };
    let study = scenario("study.yaml", "run.csv");
    load_and_keep(&workspace, &url, &["--scenario", &study, "-n", "20"]);
    let run = ["run", "kept/study.yaml", "--quiet", "--runs", "again"];
    let output = workspace.output(&run);
    let again = fs::read_dir(workspace.path().join("again"));
    assert_eq!(again.unwrap().count(), 1, "{}", output_text(&output));
    fs::remove_dir_all(workspace.path().join("kept")).unwrap();
    let study = scenario("shop.yaml", "trials/people.csv");
    let flags = ["load", &url, "--scenario", &study, "-n", "20"];
    let output = workspace.output(&[&flags[..], &["--save=kept"]].concat());
    assert_eq!(output.status.code(), Some(2), "{}", output_text(&output));
    assert!(output_text(&output).contains("trials/people.csv has the name of a file of the run"));
    assert!(!workspace.path().join("kept").exists());
    // Without --save there is no conflict.
    load_result(&workspace.output(&[&flags[..], &["--json"]].concat()));
}

#[test]
fn load_that_does_not_start_leaves_no_new_folder() {
    let (workspace, server) = (Workspace::new(), server());
    let check = |url: &str, before: &str, code: i32| {
        let url = format!("{url} -c 1000 -n 10 --save=kept");
        let program = env!("CARGO_BIN_EXE_waggle");
        let mut load = Command::new("sh");
        let line = format!("{before} && ulimit -n 256 && exec {program} load {url}");
        let output = load
            .args(["-c", &line])
            .current_dir(workspace.path())
            .output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", output_text(&output));
        assert!(
            output_text(&output).contains("ulimit -n"),
            "{}",
            output_text(&output)
        );
    };
    let url = format!("http://{}/", server.address());
    check(&url, "true", 2);
    assert!(!workspace.path().join("kept").exists());
    // An existing folder is not removed.
    check(&url, "mkdir kept", 2);
    assert!(workspace.path().join("kept").exists());
}
