//! `waggle init`: the written study runs against its server and contains no secret.

mod captures;
mod curl;
mod data;
mod openapi;

use std::{
    collections::BTreeSet,
    fs,
    sync::{Arc, Mutex},
};

use waggle_load::NullServer;
use waggle_testkit::http::{Reply, Server, ok};

use crate::workspace::{Workspace, output_text};

pub(crate) const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nSet-Cookie: s=1\r\n\r\nok";

/// Writes the source, whose name is the last argument, creates a study from it and runs it once; returns the text of the study.
/// `SERVER` is the address of a server that answers every request.
pub(crate) fn made_and_run(source: &str, arguments: &[&str]) -> String {
    let server = NullServer::start("127.0.0.1:0".parse().unwrap(), ANSWER).unwrap();
    let workspace = Workspace::new();
    let with_server = |text: &str| text.replace("SERVER", &server.address().to_string());
    let file = workspace.path().join(arguments.last().unwrap());
    fs::write(file, with_server(source)).unwrap();
    let arguments: Vec<String> = arguments.iter().map(|text| with_server(text)).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let made = workspace.output(&[&["init", "-o", "made.yaml"], &arguments[..]].concat());
    assert_eq!(made.status.code(), Some(0), "{}", output_text(&made));
    let mut command = workspace.waggle(&["run", "made.yaml", "--quick", "--quiet"]);
    let ran = command
        .env("AUTHORIZATION", "sesame")
        .env("X_API_KEY", "sesame")
        .env("TOKEN", "sesame &")
        .env("PASSWORD", "sesame\"s")
        .output()
        .unwrap();
    let model = workspace.report_of(&ran);
    assert!(
        model.trials.iter().all(|trial| trial.failure.is_none()),
        "{}",
        output_text(&ran)
    );
    let succeeded: u64 = model
        .trials
        .iter()
        .filter_map(|trial| trial.numbers.as_ref())
        .map(|numbers| numbers.counts.succeeded)
        .sum();
    let answered = server.stop();
    assert!(
        succeeded > 0 && answered > succeeded,
        "{answered} {succeeded}"
    );
    for file in walk(&workspace.run_folder()) {
        let text = fs::read(&file).unwrap();
        let leaked = text.windows(6).any(|window| window == b"sesame");
        assert!(!leaked, "{} contains a secret", file.display());
    }
    fs::read_to_string(workspace.path().join("made.yaml")).unwrap()
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(walk(&path));
        } else {
            files.push(path);
        }
    }
    files
}

#[test]
fn a_curl_command_becomes_a_study_that_runs() {
    let text = made_and_run(
        "curl -X POST 'http://SERVER/orders?token=hidden' -H 'Authorization: Bearer hidden' \\\n  \
         --json '{\"name\": \"${x} {{y}}\", \"password\": \"hidden\"}'\n",
        &["--from", "curl", "source"],
    );
    assert!(!text.contains("hidden"), "{text}");
    for part in [
        "Bearer ${env.AUTHORIZATION}",
        "/orders?token=${env.TOKEN}",
        r#"\"password\":\"${env.PASSWORD}\""#,
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// Each value with the escapes of its place: a path, JSON and a form.
#[test]
fn values_of_the_environment_are_sent_in_paths_and_bodies() {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let noted = Arc::clone(&seen);
    let server = Server::start(move |request| {
        let request = format!("{} {}", request.path, request.text());
        noted.lock().unwrap().insert(request);
        Reply::Answer(ok(""))
    });
    let workspace = Workspace::new();
    let url = format!("http://{}", server.address);
    let commands = format!(
        "curl '{url}/a?api_key=hidden' --json '{{\"user\": \"ada\", \"password\": \"hidden\", \"pin\": 1234}}'\n\
         curl '{url}/b' -d 'user=ada&password=hidden'\n"
    );
    fs::write(workspace.path().join("commands"), commands).unwrap();
    let made = workspace.output(&["init", "--from", "curl", "commands", "-o", "made.yaml"]);
    let said = output_text(&made);
    assert!(
        said.contains("are not written: API_KEY, PASSWORD, PIN\n"),
        "{said}"
    );
    let mut command = workspace.waggle(&["run", "made.yaml", "--quick", "--quiet"]);
    let variables = [("API_KEY", "k/&"), ("PASSWORD", "a\"b +\\"), ("PIN", "99")];
    let ran = command.envs(variables).output().unwrap();
    let expected = [
        "/a?api_key=k%2F%26 {\"password\":\"a\\\"b +\\\\\",\"pin\":99,\"user\":\"ada\"}",
        "/b user=ada&password=a%22b%20%2B%5C",
    ];
    let seen = seen.lock().unwrap();
    assert_eq!(
        *seen,
        expected.map(str::to_owned).into(),
        "{}",
        output_text(&ran)
    );
}

/// In the study, in the file of a body, and in the system of the other version.
#[test]
fn marks_in_place_of_secrets_are_found_before_the_run() {
    let workspace = Workspace::new();
    workspace.system("faulty");
    let folder = workspace.path();
    let study = |body: &str| {
        format!(
            "study: s\nquestion: Is it REPLACE-ME?\nsystem: {{ use: faulty }}\nload:\n  model: closed\n  connections: 1\n  \
             request: {{ name: r, post: /a, {body} }}\nschedule: {{ measure: 1s }}\n"
        )
    };
    let check = |body: &str, flags: &[&str], place: &str| {
        fs::write(folder.join("study.yaml"), study(body)).unwrap();
        for (command, code) in [("plan", 0), ("run", 2)] {
            let output = workspace.output(&[&[command, "study.yaml"], flags].concat());
            let said = output_text(&output).replace('\n', " ");
            assert_eq!(output.status.code(), Some(code), "{said}");
            let expected = format!("{place}: REPLACE-ME is in place of the value of \"password\"");
            assert!(said.contains(&expected), "{expected}: {said}");
        }
    };
    check("body: 'password=REPLACE-ME'", &[], "study.yaml:7:39");
    fs::write(
        folder.join("body.json"),
        "{\n  \"password\": \"REPLACE-ME\"\n}",
    )
    .unwrap();
    check("body_file: body.json", &[], "body.json:2:16");
    let other = folder.join("systems/other");
    fs::create_dir_all(&other).unwrap();
    let system = fs::read_to_string(folder.join("systems/faulty/system.yaml")).unwrap();
    let system = system.replacen("summary: ", "summary: password=REPLACE-ME ", 1);
    fs::write(other.join("system.yaml"), system).unwrap();
    check(
        "body: a",
        &["--against", "system=systems/other"],
        "systems/other/system.yaml:3:10",
    );
}

#[test]
fn a_variable_that_is_not_set_is_named_with_its_place() {
    let workspace = Workspace::new();
    let file = workspace.path().join("command");
    fs::write(file, "curl -u a:hidden http://127.0.0.1:1/").unwrap();
    let check = |arguments: &[&str], code: i32, says: &str| {
        let mut command = workspace.waggle(arguments);
        let output = command.env_remove("AUTHORIZATION").output().unwrap();
        let said = output_text(&output);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(says), "{says}: {said}");
    };
    let made = ["init", "--from", "curl", "command", "-o", "made.yaml"];
    let expected = "\
set first, because secrets are not written: AUTHORIZATION (what comes after \"Basic\")
run it:        waggle run made.yaml
";
    check(&made, 0, expected);
    let text = fs::read_to_string(workspace.path().join("made.yaml")).unwrap();
    let (before, _) = text.split_once("\"Basic ${env.AUTHORIZATION}\"").unwrap();
    let line = before.lines().count();
    let column = before.lines().last().unwrap().len() + 1;
    let problem = format!(
        "made.yaml:{line}:{column}: the header Authorization takes its value from the environment variable AUTHORIZATION, \
         which is not set"
    );
    check(&["run", "made.yaml"], 2, &problem);
    let note = format!("cannot be run here yet: {problem}");
    check(&["plan", "made.yaml"], 0, &note);
    let in_body = text
        .replace("\"Basic ${env.AUTHORIZATION}\"", "a")
        .replace("headers:", "body: \"a=${env.AUTHORIZATION}\"\n    headers:");
    fs::write(workspace.path().join("made.yaml"), in_body).unwrap();
    let line = line - 1;
    let problem = format!(
        "made.yaml:{line}:11: the body takes its value from the environment variable AUTHORIZATION, which is not set"
    );
    check(&["run", "made.yaml"], 2, &problem);
}

#[test]
fn a_har_becomes_a_session_that_runs() {
    let text = made_and_run(
        r#"{"log":{"entries":[
        {"startedDateTime":"2026-01-02T03:04:05Z","time":10,"response":{"status":200},"request":{"method":"POST",
         "url":"http://SERVER/login","headers":[{"name":"Cookie","value":"s=hidden"}],
         "postData":{"mimeType":"application/x-www-form-urlencoded","text":"user=a&password=hidden"}}},
        {"startedDateTime":"2026-01-02T03:04:05.3Z","time":10,"response":{"status":200},
         "request":{"method":"GET","url":"http://SERVER/orders?q={{x}}","headers":[{"name":"X-Api-Key","value":"hidden"}]}}
        ]}}"#,
        &["--from", "har", "source"],
    );
    assert!(!text.contains("hidden"), "{text}");
    for part in ["think_time: 290ms", "user=a&password=${env.PASSWORD}"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn an_openapi_document_becomes_flows_that_run() {
    let text = made_and_run(
        "openapi: 3.1.0\nservers: [{ url: 'http://SERVER' }]\npaths:\n  /a: { get: { responses: { 200: {} } } }\n  \
         /b: { post: { requestBody: { content: { text/plain: { example: hello } } }, responses: {} } }\n",
        &["--from", "openapi", "--include-writes", "source"],
    );
    assert!(
        text.contains("name: get-a") && text.contains("name: post-b"),
        "{text}"
    );
}

#[test]
fn files_are_not_replaced_and_mistakes_have_code_2() {
    let workspace = Workspace::new();
    let check = |arguments: &[&str], code: i32, says: &str| {
        let output = workspace.output(arguments);
        assert_eq!(output.status.code(), Some(code), "{}", output_text(&output));
        assert!(
            output_text(&output).contains(says),
            "{says}: {}",
            output_text(&output)
        );
    };
    let url = "http://127.0.0.1:1/x";
    check(&["init", url, "-o", "made.yaml"], 0, "waggle run made.yaml");
    check(
        &["init", url, "-o", "made.yaml"],
        2,
        "made.yaml exists; --force",
    );
    check(&["init", url, "-o", "made.yaml", "--force"], 0, "made.yaml");
    check(&["plan", "made.yaml"], 0, "http://127.0.0.1:1");
    check(&["init", "ftp://h"], 2, "expected http or https");
    check(&["init", "--from", "har", "none.har"], 2, "none.har");
    fs::write(workspace.path().join("bad"), "curl 'http://h").unwrap();
    check(&["init", "--from", "curl", "bad"], 2, "not closed");
    check(&["init", url, "-o", "-"], 0, "model: closed");
    check(
        &["init", "bad"],
        2,
        "bad is a file; its format is required: --from curl",
    );
    check(
        &["init", url, "--include-writes"],
        2,
        "requires --from openapi",
    );
    check(&["init", url, "--server", url], 2, "without --from");
    fs::write(
        workspace.path().join("curl"),
        "curl http://h/a -H 'Host: b' -H 'X-A: 1' -H 'X-A: 2'",
    )
    .unwrap();
    let other = [
        "init",
        "curl",
        "--from",
        "curl",
        "-o",
        "other.yaml",
        "--server",
    ];
    check(
        &[&other[..], &["http://h:9/x"]].concat(),
        2,
        "has a path or a user",
    );
    let summary = "left out:\n  another X-A of get-a: a study sends each header once\n\
                   show the plan";
    check(&[&other[..], &["http://other:9"]].concat(), 0, summary);
    check(&["plan", "other.yaml"], 0, "http://other:9");
    let curl = "curl http://h/a -H 'Host: b' -H Host: --next http://h/c -X 'a b' --next http://h/e -X CONNECT";
    let two = format!("{curl}\ncurl http://h/d");
    fs::write(workspace.path().join("two"), two).unwrap();
    check(
        &["init", "two", "--from", "curl", "-o", "two.yaml"],
        0,
        "left out:\n  curl's -H Host: this header is always sent\n  a-b-c: its method is invalid\n  \
         connect-e: CONNECT opens a tunnel instead of asking for a resource\n  \
         headers that are specific to a connection or browser: host\n",
    );
}

/// The server receives the same requests as from curl, except for curl's default headers such as User-Agent.
#[test]
fn study_sends_the_request_of_the_command() {
    let heads = Arc::new(Mutex::new(BTreeSet::new()));
    let noted = Arc::clone(&heads);
    let server = Server::start(move |request| {
        noted
            .lock()
            .unwrap()
            .insert(format!("{}{}", request.head, request.text()));
        Reply::Answer(ok(""))
    });
    let workspace = Workspace::new();
    let host = format!("Host: {}\r\n", server.address);
    let check = |arguments: &str, expected: &[&str]| {
        let command = format!("curl http://{}{arguments}", server.address);
        fs::write(
            workspace.path().join("command"),
            command.replace("NEXT", &format!("--next http://{}", server.address)),
        )
        .unwrap();
        let made = workspace.output(&[
            "init",
            "command",
            "--from",
            "curl",
            "-o",
            "made.yaml",
            "--force",
        ]);
        let ran = workspace.output(&["run", "made.yaml", "--quick", "--quiet"]);
        let seen = std::mem::take(&mut *heads.lock().unwrap());
        let expected = expected.iter().map(|head| head.replace("HOST", &host));
        assert_eq!(
            seen,
            expected.collect(),
            "{}\n{}",
            output_text(&made),
            output_text(&ran)
        );
    };
    check("/a -X PURGE", &["PURGE /a HTTP/1.1\r\nHOST\r\n"]);
    check(
        "/a -X GET -d '{{b}} ${c}' -H Content-Type: -H 'Host: me'",
        &["GET /a HTTP/1.1\r\nHost: me\r\nContent-Length: 10\r\n\r\n{{b}} ${c}"],
    );
    check(
        "/ -X M-SEARCH -d b -H 'Empty;' NEXT/c -X REPORT",
        &[
            "M-SEARCH / HTTP/1.1\r\nHOSTEmpty: \r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1\r\n\r\nb",
            "REPORT /c HTTP/1.1\r\nHOST\r\n",
        ],
    );
}

/// With pauses of 90 s, a trial of 10 s would not reach the second step.
#[test]
fn a_long_session_is_measured_twice() {
    let workspace = Workspace::new();
    let entry = |start: &str| {
        format!(
            r#"{{"startedDateTime":"2026-01-02T03:{start}Z","time":10,"request":{{"method":"GET","url":"http://h/a","headers":[]}}}}"#
        )
    };
    let check = |starts: &[&str], pause: &str, measure: &str, says: &str| {
        let entries: Vec<String> = starts.iter().map(|start| entry(start)).collect();
        let har = format!(r#"{{"log":{{"entries":[{}]}}}}"#, entries.join(","));
        fs::write(workspace.path().join("session.har"), har).unwrap();
        let made = workspace.output(&["init", "session.har", "--from", "har", "-o", "-"]);
        let text = String::from_utf8(made.stdout).unwrap();
        for line in [pause, measure, says] {
            assert!(text.contains(line), "{line}: {text}");
        }
    };
    check(
        &["04:00", "04:20"],
        "think_time: 19990ms",
        "measure: 41s # two recorded sessions",
        "",
    );
    check(
        &["04:00", "04:01"],
        "think_time: 990ms",
        "measure: 10s\n",
        "",
    );
    check(
        &["04:00", "04:30", "05:00", "05:30"],
        "think_time: 20000ms",
        "measure: 121s",
        "# Left out: pauses of 89 s in total: shortened to 60 s in proportion",
    );
}

/// A document names the study, if its title has letters of a name.
#[test]
fn a_study_of_a_document_has_its_title() {
    let workspace = Workspace::new();
    let check = |title: &str, name: &str| {
        let document = format!(
            "openapi: 3.0.0\ninfo: {{ title: '{title}' }}\nservers: [{{ url: 'http://127.0.0.1:8080' }}]\npaths:\n  \
             /a: {{ get: {{}} }}\n  /b: {{ get: {{}} }}\n"
        );
        fs::write(workspace.path().join("api.yaml"), document).unwrap();
        let made = workspace.output(&["init", "api.yaml", "--from", "openapi", "-o", "-"]);
        let text = output_text(&made);
        assert!(text.contains(&format!("study: {name}\n")), "{text}");
    };
    check("Shop -- Orders (v2)", "shop-orders-v2");
    check("2026", "\"2026\"");
    check("Склад", "127-0-0-1-8080");
}

/// Reserved names, and names that YAML would parse as a number, are handled.
#[test]
fn unusual_names_and_security_of_a_document_are_kept() {
    let workspace = Workspace::new();
    let long = "x".repeat(80);
    let operations: Vec<String> = ["sessions", "all", "true", "123", &long, &long]
        .iter()
        .enumerate()
        .map(|(number, name)| format!("  /{number}: {{ get: {{ operationId: '{name}' }} }}\n"))
        .collect();
    let document = format!(
        "openapi: 3.0.0\nservers: [{{ url: 'http://{}.example' }}]\nsecurity: [{{ query: [] }}, {{ bearer: [] }}]\npaths:\n{}  \
         /key: {{ get: {{ security: [{{ key: [] }}] }} }}\n  /none: {{ get: {{ security: [] }} }}\n  \
         /query: {{ get: {{ security: [{{ query: [] }}] }} }}\n\
         components: {{ securitySchemes: {{ bearer: {{ type: http, scheme: bearer }}, \
         key: {{ type: apiKey, in: header, name: X-Mine }}, query: {{ type: apiKey, in: query, name: k }} }} }}\n",
        "h".repeat(60),
        operations.concat(),
    );
    fs::write(workspace.path().join("api.yaml"), document).unwrap();
    let made = workspace.output(&["init", "api.yaml", "--from", "openapi", "-o", "made.yaml"]);
    assert_eq!(made.status.code(), Some(0), "{}", output_text(&made));
    let text = fs::read_to_string(workspace.path().join("made.yaml")).unwrap();
    for line in [
        "name: sessions-2\n",
        "name: all-2\n",
        "name: \"true\"\n",
        "name: \"123\"\n",
        &format!("name: {}\n", &long[..64]),
        &format!("name: {}-2\n", &long[..62]),
        "\"X-Mine\": \"${env.X_MINE}\"",
        "# Left out: GET /query: its security scheme query is not sent in a header",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let bearer = text.matches("\"Authorization\": \"Bearer ${env.AUTHORIZATION}\"");
    assert_eq!(bearer.count(), 6, "{text}");
}

/// An unreachable server is a mistake before the first trial, and leaves no run.
#[test]
fn unreachable_server_is_a_mistake() {
    let workspace = Workspace::new();
    let made = workspace.output(&["init", "http://127.0.0.1:1/", "-o", "made.yaml"]);
    assert_eq!(made.status.code(), Some(0), "{}", output_text(&made));
    let text = fs::read_to_string(workspace.path().join("made.yaml")).unwrap();
    let short = text.replace("schedule:\n", "schedule:\n  ready_timeout: 1s\n");
    fs::write(workspace.path().join("made.yaml"), short).unwrap();
    let ran = workspace.output(&["run", "made.yaml", "--quick", "--quiet"]);
    let said = output_text(&ran);
    assert_eq!(ran.status.code(), Some(2), "{said}");
    let expected =
        "http://127.0.0.1:1 cannot be reached: Connection refused (os error 111) (tried for 1s; ";
    assert!(said.contains(expected), "{said}");
    assert!(!workspace.path().join("runs").exists(), "{said}");
}
