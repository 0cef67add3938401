//! Hosts, in `Host` and in targets of absolute form.

use super::check;

#[test]
fn a_host_is_a_name_or_an_address_with_an_optional_port() {
    for version in ["1.1", "1.0"] {
        let request = |host: &str| format!("GET / HTTP/{version}\r\nHost: {host}\r\n\r\n");
        let close = if version == "1.0" { " close" } else { "" };
        let accepted = format!("GET / []{close}; idle");
        for host in [
            "a",
            "a ",
            "a:",
            "a:0",
            "a:8080",
            "a:65535",
            "A-b_c~d.example",
            "a%20b",
            "a!$&()*+;=b",
            "127.0.0.1:80",
            "[::1]",
            "[::ffff:127.0.0.1]:80",
            "",
        ] {
            check(&request(host), &accepted);
        }
        for host in [
            "a b",
            "a\tb",
            "a,b",
            "a, a",
            "u@a",
            "u:p@a",
            "a/b",
            "a?b",
            "a#b",
            "a\\b",
            "\"a\"",
            "'a'",
            "<a>",
            "a%2",
            "a%zz",
            "\u{e4}",
            "[::1",
            "::1",
            "[]",
            "[a]",
            "[127.0.0.1]",
            "[::1%25lo]",
            "[::1]a",
            "[::1]:x",
            "a[",
            "a]",
            "http://a",
            ":80",
            "a:x",
            "a:+1",
            "a:-1",
            "a: 1",
            "a:80:80",
            "a:65536",
            "a:99999999999999999999",
        ] {
            check(&request(host), "400");
        }
        check(
            &format!("GET / HTTP/{version}\r\nHost: a\r\nHost: a\r\n\r\n"),
            "400",
        );
    }
}

#[test]
fn a_target_of_absolute_form_has_a_host() {
    let check = |target: &str, expected: &str| {
        check(
            &format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"),
            expected,
        );
    };
    for target in [
        "http://a",
        "HTTP://a:80/x",
        "https://[::1]:80/x",
        "http://a?x",
        "/http:///",
        "/?u=http://",
        "*",
        "a:80",
    ] {
        check(target, &format!("GET {target} []; idle"));
    }
    for target in [
        "http://",
        "http:///x",
        "http://?x",
        "http://#x",
        "http://:80/x",
        "http://u@a/x",
        "http://a,b/x",
        "http://a:x/x",
        "http://a:65536/x",
        "http://[::1/x",
    ] {
        check(target, "400");
    }
}
