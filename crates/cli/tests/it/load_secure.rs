//! `waggle load` over TLS: whom it trusts, what it shows of itself, and what it says where TLS does not come about.

use std::fs;

use serde_json::Value;
use waggle_load::NullServer;
use waggle_testkit::{
    http::{Reply, Server},
    tls::{Authority, ClientAuth},
};

use crate::{
    codes::load_result,
    desk::{Desk, output_text},
};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
/// The year at whose end certificates end.
const VALID_UNTIL: i32 = 2090;

/// An authority whose certificate lies in a desk's folder as `ca.pem`, beside `both.pem`: a certificate for localhost that it has
/// signed, with its key.
fn authority(desk: &Desk) -> Authority {
    let authority = Authority::new("Tests");
    let signed = authority.sign("localhost", VALID_UNTIL);
    fs::write(desk.path().join("ca.pem"), &authority.pem).unwrap();
    fs::write(
        desk.path().join("both.pem"),
        signed.certificate + &signed.key,
    )
    .unwrap();
    authority
}

/// A server that answers everything, with a certificate of the authority's.
fn serve(authority: &Authority, client_auth: ClientAuth) -> Server {
    let signed = authority.sign("localhost", VALID_UNTIL);
    let config = authority.server_with(&signed, client_auth);
    Server::start_secure(config, |_| Reply::Answer(ANSWER.to_vec()))
}

fn json(desk: &Desk, url: &str, flags: &[&str]) -> Value {
    let base = ["load", url, "-c", "2", "-n", "40", "--quiet", "--json"];
    let output = desk.output(&[&base[..], flags].concat());
    load_result(&output)
}

#[test]
fn a_certificate_that_is_not_taken_ends_the_load_early() {
    let desk = Desk::new();
    let server = serve(&authority(&desk), ClientAuth::None);
    let url = format!("https://localhost:{}/", server.address.port());
    for warm_up in ["0s", "1h"] {
        let flags = ["load", &url, "-c", "2", "-d", "1h", "--warm-up", warm_up];
        let output = desk.output(&[&flags[..], &["--quiet"]].concat());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(4), "{}", output_text(&output));
        assert!(text.contains("no request could be sent: "), "{text}");
        assert!(text.contains("handshake unknown issuer"), "{text}");
        assert!(text.contains("ended early (--cacert FILE names"), "{text}");
    }
}

#[test]
fn servers_are_trusted_as_asked() {
    let desk = Desk::new();
    let server = serve(&authority(&desk), ClientAuth::None);
    let url = format!("https://localhost:{}/", server.address.port());
    let check = |flags: &[&str], succeeded: u64| {
        let result = json(&desk, &url, flags);
        assert_eq!(result["succeeded"], succeeded, "{flags:?}: {result}");
        assert_eq!(result["settings"]["tls"], true);
        result
    };
    let result = check(&["--cacert", "ca.pem"], 40);
    assert_eq!(result["handshakes"], 2);
    assert_eq!(result["handshake_time_us"]["count"], 2);
    let result = check(&["-k", "--no-sessionid"], 40);
    assert_eq!(result["handshakes_resumed"], 0);
    // The refusal ends it at once.
    let result = check(&["-d", "60s"], 0);
    assert_eq!(result["verdict"], "failed");
    assert!(
        result["failures"]["handshake_unknown_issuer"].as_u64() > Some(0),
        "{result}"
    );
    let result = check(&["--http2", "-k", "-d", "3s"], 0);
    assert!(
        result["failures"]["handshake_no_protocol"].as_u64() > Some(0),
        "{result}"
    );
}

#[test]
fn a_client_shows_its_certificate() {
    let desk = Desk::new();
    let server = serve(&authority(&desk), ClientAuth::Required);
    let url = format!("https://localhost:{}/", server.address.port());
    let result = json(&desk, &url, &["--cacert", "ca.pem", "--cert", "both.pem"]);
    assert_eq!(result["succeeded"], 40, "{result}");
    let result = json(&desk, &url, &["--cacert", "ca.pem", "-d", "300ms"]);
    assert_eq!(result["succeeded"], 0, "{result}");
}

#[test]
fn flags_for_tls_are_for_https() {
    let desk = Desk::new();
    let server = NullServer::start("127.0.0.1:0".parse().unwrap(), ANSWER).unwrap();
    let url = server.address().to_string();
    fs::write(desk.path().join("empty.pem"), "nothing").unwrap();
    let check = |flags: &[&str], expected: &str| {
        let output = desk.output(&[&["load"], flags].concat());
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
    check(
        &[&url, "--http2", "--disable-keepalive"],
        "cannot be used with",
    );
    assert_eq!(server.stop(), 0, "nothing was to be started");
}
