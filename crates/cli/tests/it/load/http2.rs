//! `waggle load` over HTTP/2, and over what the server chooses.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use waggle_testkit::{
    http::{self, Server},
    streams::{ReceivedRequest, Reply, Settings, StreamServer},
    tls::Authority,
};

use crate::{
    exit_codes::load_result,
    workspace::{Workspace, output_text},
};

const SCENARIO: &str = r#"
name: shopping
flows:
  - name: buy
    steps:
      - name: login
        post: /login
        capture: { token: { json: $.token } }
      - repeat: 2
        steps:
          - name: order
            post: /orders/{{token}}
            expect: { status: 201 }
"#;

/// A shop: an order needs the token and the cookie of the same login.
fn shop() -> StreamServer {
    let logins = AtomicU64::new(0);
    StreamServer::start(Settings::default(), move |request: &ReceivedRequest| {
        let path = request.head.uri().path();
        let cookie = request.head.headers().get("cookie");
        let sid = cookie.and_then(|cookie| cookie.to_str().ok()?.strip_prefix("sid="));
        let (status, headers, body) = match path.strip_prefix("/orders/") {
            Some(token) if Some(token) == sid => (201, Vec::new(), String::new()),
            Some(_) => (404, Vec::new(), String::new()),
            None => {
                let sid = logins.fetch_add(1, Ordering::Relaxed);
                let cookie = ("set-cookie", format!("sid={sid}; Path=/"));
                (200, vec![cookie], format!(r#"{{"token": {sid}}}"#))
            }
        };
        Reply::Headed {
            status,
            headers,
            body: body.into(),
            pause: Duration::from_millis(1),
        }
    })
}

fn workspace() -> (Workspace, Authority) {
    let (workspace, authority) = (Workspace::new(), Authority::new("Tests"));
    fs::write(workspace.path().join("ca.pem"), &authority.pem).unwrap();
    fs::write(workspace.path().join("shopping.yaml"), SCENARIO).unwrap();
    (workspace, authority)
}

/// A server of HTTP/2 over TLS.
fn secure_streams(authority: &Authority) -> StreamServer {
    let mut config = authority.server();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let settings = Settings {
        tls: Some(Arc::new(config)),
        ..Settings::default()
    };
    StreamServer::start(settings, |_| Reply::Answer {
        status: 200,
        body: "hello".into(),
    })
}

#[test]
fn sessions_share_connections() {
    let (workspace, _) = workspace();
    let shop = shop();
    let url = format!("http://{}", shop.address);
    let flags = ["load", &url, "--scenario", "shopping.yaml", "--http2"];
    let more = ["-c", "2", "-p", "5", "-n", "90", "--json", "--quiet"];
    let result = load_result(&workspace.output(&[&flags[..], &more].concat()));
    assert_eq!(result["settings"]["protocol"], "h2");
    assert_eq!(result["settings"]["pipelining"], 5);
    assert_eq!(result["succeeded"], 90, "{result}");
    assert_eq!(result["sessions"]["failed"], 0, "{result}");
    assert_eq!(
        (&result["connects"], &result["http2_connections"]),
        (&2.into(), &2.into())
    );
    assert_eq!(shop.get(|counted| &counted.answered), 90);
    let most = shop.get(|counted| &counted.most_under_way);
    assert!((3..=10).contains(&most), "{most} sessions at once");
}

#[test]
fn result_and_report_say_which_version_was_spoken() {
    let (workspace, authority) = workspace();
    let newer = secure_streams(&authority);
    let older = Server::start_secure(authority.server(), |_| {
        http::Reply::Answer(http::ok("hello"))
    });
    let check = |port: u16, kept: &str, line: &str, fact: &str| {
        let url = format!("https://localhost:{port}/");
        let save = format!("--save={kept}");
        let flags = [
            "load",
            &url,
            "--cacert",
            "ca.pem",
            "--http-version",
            "auto",
            &save,
        ];
        let output = workspace.output(&[&flags[..], &["-c", "2", "-n", "40"]].concat());
        let text = output_text(&output);
        assert!(text.contains(&format!("2 opened, {line}")), "{text}");
        let reported = workspace.output(&["report", kept]);
        let folder = workspace.path().join(kept);
        let page = fs::read_to_string(folder.join("report.md"));
        let page = page.unwrap_or_else(|why| panic!("{why}: {}", output_text(&reported)));
        assert!(
            page.contains(&format!("2 connections in all trials, {fact}")),
            "{page}"
        );
    };
    let all = "all of them by HTTP/2";
    check(newer.address.port(), "newer", all, all);
    let none = "none of them by HTTP/2";
    check(
        older.address.port(),
        "older",
        none,
        "all of them by HTTP/1.1",
    );
}

#[test]
fn without_keep_alive_each_request_has_a_connection_of_its_own() {
    let (workspace, _) = workspace();
    let server = StreamServer::start(Settings::default(), |_| Reply::Answer {
        status: 200,
        body: "hello".into(),
    });
    let url = format!("http://{}/", server.address);
    let flags = [
        "load",
        &url,
        "--http2",
        "--disable-keepalive",
        "-c",
        "2",
        "-n",
        "20",
    ];
    let result = load_result(&workspace.output(&[&flags[..], &["--json", "--quiet"]].concat()));
    assert_eq!(result["succeeded"], 20, "{result}");
    // At the end, connections may have been opened for requests that are not sent any more.
    let connections = result["http2_connections"].as_u64().unwrap();
    assert!((20..=22).contains(&connections), "{result}");
}

#[test]
fn versions_that_do_not_fit_are_refused() {
    let (workspace, _) = workspace();
    let check = |flags: &[&str], expected: &str| {
        let output = workspace.output(&[&["load", "127.0.0.1:9"], flags].concat());
        assert_eq!(output.status.code(), Some(2), "{}", output_text(&output));
        let text = output_text(&output);
        assert!(text.contains(expected), "{text}");
    };
    check(&["--http2", "--http-version", "1.1"], "cannot be used with");
    check(&["--http-version", "3"], "possible values: 1.1, 2, auto");
    let scenario = ["--scenario", "shopping.yaml", "-p", "5"];
    let refused = "over HTTP/1.1 a session sends one request at a time";
    check(&scenario, refused);
    // Without TLS a server chooses nothing.
    check(
        &[&scenario[..], &["--http-version", "auto"]].concat(),
        refused,
    );
}
