//! Limits on the heads of answers.

use crate::{
    load::server,
    workspace::{Workspace, output_text},
};

/// Heads beyond the defaults of the limits are read if the limits are set so, and smaller limits are kept.
#[test]
fn limits_on_heads_can_be_set() {
    let head = |fields: usize, bytes: usize| {
        let lines: String = (0..fields)
            .map(|index| format!("X-{index}: {}\r\n", "v".repeat(bytes)))
            .collect();
        format!("HTTP/1.1 200 OK\r\n{lines}Content-Length: 2\r\n\r\nok")
    };
    let check = |answer: &str, flags: &[&str], succeeded: bool, said: &str| {
        let server = server(answer.as_bytes());
        let url = format!("http://{}/", server.address());
        let workspace = Workspace::new();
        let arguments = ["load", &url, "-n", "3", "-c", "1", "--no-live"];
        let output = workspace.output(&[&arguments[..], flags].concat());
        let text = output_text(&output);
        let expected = match succeeded {
            true => "3 sent, 3 succeeded",
            false => "3 sent, 0 succeeded",
        };
        assert!(text.contains(expected), "{flags:?}: {text}");
        assert!(text.contains(said), "{flags:?}: {text}");
    };
    let long = head(1, 100_000);
    check(&long, &[], false, "malformed");
    check(&long, &["--max-header-size", "256KiB"], true, "");
    let many = head(2_000, 1);
    check(&many, &[], false, "malformed");
    check(&many, &["--max-headers", "3000"], true, "");
    check(
        &head(3, 600),
        &["--max-header-size=1KiB"],
        false,
        "malformed",
    );
    check(&head(3, 1), &["--max-headers=2"], false, "malformed");
}
