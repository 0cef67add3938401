//! `waggle load` over TLS: trusted certificates, client certificates, and messages if the handshake fails.

use std::{fs, io::Write, net::TcpListener, thread};

use serde_json::Value;
use waggle_load::NullServer;
use waggle_testkit::{
    http::{Reply, Server},
    tls::{Authority, ClientAuth},
};

use crate::{
    exit_codes::load_result,
    workspace::{Workspace, output_text},
};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
/// Certificates are valid until the end of this year.
const VALID_UNTIL: i32 = 2090;

/// A certificate authority. The workspace has its certificate as `ca.pem`, and a certificate for localhost with its key as
/// `both.pem`.
fn authority(workspace: &Workspace) -> Authority {
    let authority = Authority::new("Tests");
    let signed = authority.sign("localhost", VALID_UNTIL);
    fs::write(workspace.path().join("ca.pem"), &authority.pem).unwrap();
    fs::write(
        workspace.path().join("both.pem"),
        signed.certificate + &signed.key,
    )
    .unwrap();
    authority
}

/// A server that answers every request, with a certificate of the authority.
fn serve(authority: &Authority, client_auth: ClientAuth) -> Server {
    let signed = authority.sign("localhost", VALID_UNTIL);
    let config = authority.server_with(&signed, client_auth);
    Server::start_secure(config, |_| Reply::Answer(ANSWER.to_vec()))
}

fn json(workspace: &Workspace, url: &str, flags: &[&str]) -> Value {
    let base = ["load", url, "-c", "2", "-n", "40", "--quiet", "--json"];
    let output = workspace.output(&[&base[..], flags].concat());
    load_result(&output)
}

#[test]
fn refused_certificate_ends_the_load_early() {
    let workspace = Workspace::new();
    let server = serve(&authority(&workspace), ClientAuth::None);
    let url = format!("https://localhost:{}/", server.address.port());
    for warm_up in ["0s", "1h"] {
        let flags = ["load", &url, "-c", "2", "-d", "1h", "--warm-up", warm_up];
        let output = workspace.output(&[&flags[..], &["--quiet"]].concat());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(5), "{}", output_text(&output));
        assert!(text.contains("no request could be sent: "), "{text}");
        assert!(text.contains("handshake unknown issuer"), "{text}");
        assert!(text.contains("ended early (--cacert FILE names"), "{text}");
    }
}

#[test]
fn flags_set_which_servers_are_trusted() {
    let workspace = Workspace::new();
    let server = serve(&authority(&workspace), ClientAuth::None);
    let url = format!("https://localhost:{}/", server.address.port());
    let check = |flags: &[&str], succeeded: u64| {
        let result = json(&workspace, &url, flags);
        assert_eq!(result["succeeded"], succeeded, "{flags:?}: {result}");
        assert_eq!(result["settings"]["tls"], true);
        result
    };
    let result = check(&["--cacert", "ca.pem"], 40);
    assert_eq!(result["handshakes"], 2);
    assert_eq!(result["handshake_time_us"]["count"], 2);
    let result = check(&["-k", "--no-sessionid"], 40);
    assert_eq!(result["handshakes_resumed"], 0);
    // The refusal ends the load immediately.
    let result = check(&["-d", "60s"], 0);
    assert_eq!(result["verdict"], "failed");
    assert!(
        result["connection_failures"]["handshake_unknown_issuer"].as_u64() > Some(0),
        "{result}"
    );
    let result = check(&["--http2", "-k", "-d", "3s"], 0);
    assert!(
        result["connection_failures"]["handshake_no_protocol"].as_u64() > Some(0),
        "{result}"
    );
}

#[test]
fn a_server_without_tls_ends_the_load_immediately() {
    let workspace = Workspace::new();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", server.local_addr().unwrap());
    thread::spawn(move || {
        for mut connection in server.incoming().flatten() {
            connection
                .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                .ok();
        }
    });
    let result = json(&workspace, &url, &["-d", "1h"]);
    assert_eq!(result["verdict"], "failed");
    let reason = result["verdict_reasons"][0].as_str().unwrap();
    assert!(reason.contains("http:// may be meant"), "{result}");
}

#[test]
fn client_certificate_is_sent() {
    let workspace = Workspace::new();
    let server = serve(&authority(&workspace), ClientAuth::Required);
    let url = format!("https://localhost:{}/", server.address.port());
    let result = json(
        &workspace,
        &url,
        &["--cacert", "ca.pem", "--cert", "both.pem"],
    );
    assert_eq!(result["succeeded"], 40, "{result}");
    let result = json(&workspace, &url, &["--cacert", "ca.pem", "-d", "300ms"]);
    assert_eq!(result["succeeded"], 0, "{result}");
}

#[test]
fn tls_flags_require_https() {
    let workspace = Workspace::new();
    let server = NullServer::start("127.0.0.1:0".parse().unwrap(), ANSWER).unwrap();
    let url = server.address().to_string();
    fs::write(workspace.path().join("empty.pem"), "nothing").unwrap();
    let check = |flags: &[&str], expected: &str| {
        let output = workspace.output(&[&["load"], flags].concat());
        assert_eq!(output.status.code(), Some(2), "{}", output_text(&output));
        assert!(
            output_text(&output).contains(expected),
            "{}",
            output_text(&output)
        );
    };
    let secure = format!("https://{url}/");
    check(&[&url, "-k"], "--insecure is for https");
    check(&[&url, "--cacert", "ca.pem"], "--cacert is for https");
    check(
        &[&secure, "--cacert", "nowhere.pem"],
        "cannot read nowhere.pem",
    );
    check(&[&secure, "--cacert", "empty.pem"], "cannot set up TLS");
    check(&[&secure, "--key", "both.pem"], "--cert");
    assert_eq!(server.stop(), 0, "nothing was to be started");
}
