//! Who may ask: hosts, origins, tokens of forms, and the token of a server that other machines reach.

use std::fs;

use super::Served;
use crate::{
    comparisons::history::{run_folders, workspace},
    workspace::{Workspace, output_text},
};

const TOKEN: &str = "a token that nobody guesses";

#[test]
fn another_host_or_origin_is_refused() {
    let workspace = workspace(1, &[]);
    let served = Served::start(
        &workspace,
        &["runs", "--allow-notes", "--host-name", "perf.example"],
    );
    let port = served.address.port();
    let get = |host: &str| served.ask("GET", "/", host, "").status;
    assert_eq!(get(&format!("Host: localhost:{port}\r\n")), 200);
    assert_eq!(get("Host: perf.example\r\n"), 200);
    assert_eq!(get(&format!("Host: evil.example:{port}\r\n")), 403);
    assert_eq!(get("Host: localhost.evil.example\r\n"), 403);
    assert_eq!(get("Host: localhost\r\nHost: localhost\r\n"), 400);

    let run = run_folders(&workspace).remove(0);
    let name = run.file_name().unwrap().to_str().unwrap();
    let page = served.page(&format!("/runs/{name}"));
    let token = super::attribute(&page, "name=\"token\" value=\"");
    let path = format!("/runs/{name}/notes");
    let post = |field: &str, token: &str| {
        let fields = format!("Host: {}\r\n{field}", served.address);
        served
            .ask("POST", &path, &fields, &format!("token={token}&text=a"))
            .status
    };
    let origin = format!("Origin: http://{}\r\n", served.address);
    assert_eq!(post("Origin: http://evil.example\r\n", token), 403);
    assert_eq!(post("Origin: null\r\n", token), 403);
    assert_eq!(post("", token), 403);
    assert_eq!(post(&origin, "another"), 403);
    assert!(!run.join("notes").exists());
    assert_eq!(post(&origin, token), 303);
    assert!(run.join("notes").exists());
    let delete = served.ask(
        "DELETE",
        "/",
        &format!("Host: {}\r\n{origin}", served.address),
        "",
    );
    assert_eq!(delete.status, 403);
}

#[test]
fn pages_say_what_a_browser_may_run() {
    let workspace = workspace(1, &[]);
    let name = run_folders(&workspace).remove(0);
    let name = name.file_name().unwrap().to_str().unwrap();
    let served = Served::start(&workspace, &["runs", "--allow-notes"]);
    for path in [
        "/".to_owned(),
        format!("/runs/{name}"),
        format!("/runs/{name}/live"),
        "/nothing".to_owned(),
    ] {
        let answer = served.get(&path);
        let policy = answer.header("content-security-policy").unwrap();
        assert!(
            policy.starts_with("default-src 'none'; script-src 'sha256-"),
            "{policy}"
        );
        assert!(
            policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"),
            "{policy}"
        );
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        for handler in [" onclick", " onload", " onerror", " style=", "javascript:"] {
            assert!(!answer.body.contains(handler), "{path}: {handler}");
        }
    }
    let report = served.get(&format!("/runs/{name}/report"));
    let policy = report.header("content-security-policy").unwrap();
    assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
    assert!(
        report
            .body
            .contains("http-equiv=\"Content-Security-Policy\"")
    );
}

#[test]
fn beyond_loopback_a_token_is_required() {
    let workspace = Workspace::new();
    fs::create_dir(workspace.path().join("runs")).unwrap();
    let check = |flags: &[&str], expected: &str| {
        let output = workspace.output(&[&["serve"], flags].concat());
        let text = output_text(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(expected), "{text}");
    };
    check(&["--listen", "0.0.0.0:0"], "expected a token");
    fs::write(workspace.path().join("short"), "short\n").unwrap();
    check(&["--token-file", "short"], "the token is too short");
    check(&["--token-file", "missing"], "--token-file missing");
    check(&["nowhere"], "cannot serve nowhere");
    check(&["--allow-run", "nowhere"], "expected a folder of studies");
}

#[test]
fn a_server_with_a_token_shows_nothing_without_it() {
    let workspace = workspace(1, &[]);
    fs::write(workspace.path().join("token"), format!("{TOKEN}\n")).unwrap();
    let run = run_folders(&workspace).remove(0);
    let name = run.file_name().unwrap().to_str().unwrap().to_owned();
    let by_file = Served::start(&workspace, &["runs", "--token-file", "token"]);
    let by_variable = Served::start_with(&workspace, &["runs"], &[("WAGGLE_SERVE_TOKEN", TOKEN)]);
    for mut served in [by_file, by_variable] {
        let address = served.address;
        for path in [
            "/",
            &format!("/runs/{name}"),
            &format!("/runs/{name}/report"),
            "/nothing",
        ] {
            let answer = served.get(path);
            assert_eq!(answer.status, 401, "{path}");
            // The address that was asked for is shown after the token.
            let next = format!("name=\"next\" value=\"{path}\"");
            assert!(answer.body.contains(&next), "{path}: {}", answer.body);
            let rest = answer.body.replace(&next, "");
            assert!(!rest.contains(&name), "{path}: {rest}");
        }
        let form = format!("Host: {address}\r\nOrigin: http://{address}\r\n");
        let wrong = served.ask("POST", "/login", &form, "token=wrong");
        assert_eq!((wrong.status, wrong.header("set-cookie")), (401, None));
        let right = format!("token={}&next=/runs/{name}", TOKEN.replace(' ', "+"));
        let right = served.ask("POST", "/login", &form, &right);
        assert_eq!(right.status, 303);
        let to = right.header("location").map(str::to_owned);
        assert_eq!(to, Some(format!("/runs/{name}")));
        let cookie = right.header("set-cookie").unwrap().to_owned();
        assert!(cookie.contains("HttpOnly; SameSite=Strict") && !cookie.contains(TOKEN));
        let session = cookie.split(';').next().unwrap();
        served.fields = vec![format!("Cookie: other=1; {session}\r\n")];
        assert!(served.page("/").contains(&name));
        served.fields = vec!["Cookie: waggle_session=wrong\r\n".to_owned()];
        assert_eq!(served.get("/").status, 401);
        served.fields = vec![format!("Authorization: Bearer {TOKEN}\r\n")];
        assert!(served.page("/").contains(&name));
        served.fields.clear();
    }
}
