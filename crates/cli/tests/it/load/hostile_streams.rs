//! `waggle load` against servers that break the rules of HTTP/2, or use them to their limits: counts, reasons and exit codes.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use waggle_testkit::frames::{
    FrameServer, FrameSocket, Request,
    block::{STATUS_200, field},
    frame::{
        END_HEADERS, ENHANCE_YOUR_CALM, MAX_CONCURRENT_STREAMS, NO_ERROR, PUSH_PROMISE,
        REFUSED_STREAM, frame, go_away, headers, last_data, last_headers, reset, settings,
    },
};

use crate::{exit_codes::load_result, workspace::Workspace};

const REQUESTS: &str = "60";
const IN_FLIGHT: usize = 4;

/// The result of a load of so many requests over one connection, whose exit code is the one of its verdict, and that exit code.
fn load(server: &FrameServer, requests: &str, flags: &[&str]) -> (Value, Option<i32>) {
    let url = format!("http://{}/", server.address);
    let fixed = [
        "load", &url, "--http2", "-c", "1", "-p", "4", "-n", requests,
    ];
    let more = ["--json", "--quiet"];
    let output = Workspace::new().output(&[&fixed[..], &more, flags].concat());
    (load_result(&output), output.status.code())
}

fn ok(stream: u32) -> Vec<u8> {
    [headers(stream, STATUS_200), last_data(stream, b"ok")].concat()
}

/// Every request ends in the same way: no request succeeds, all have this reason, and the exit code says so.
fn check_all_fail(
    reason: &str,
    answer: impl Fn(&mut FrameSocket, &Request) + Send + Sync + 'static,
) {
    let (result, code) = load(&FrameServer::answering(&[], answer), REQUESTS, &[]);
    assert_eq!(result["succeeded"], 0, "{result}");
    assert_eq!(result["sent"], 60, "{result}");
    assert_eq!(result["failures"], json!({ reason: 60 }), "{result}");
    assert_eq!(code, Some(5), "{result}");
}

#[test]
fn malformed_answers_fail_as_such() {
    check_all_fail("malformed", |socket, request| {
        let block = [STATUS_200, &field("Upper-Case", "1")].concat();
        socket.finish_stream(request.stream, &last_headers(request.stream, &block));
    });
}

#[test]
fn reset_streams_fail_as_such() {
    check_all_fail("reset", |socket, request| {
        socket.finish_stream(request.stream, &reset(request.stream, REFUSED_STREAM));
    });
}

#[test]
fn statuses_fail_as_such() {
    check_all_fail("status_503", |socket, request| {
        let block = field(":status", "503");
        socket.finish_stream(request.stream, &last_headers(request.stream, &block));
    });
}

#[test]
fn a_broken_connection_fails_what_is_in_flight_on_it() {
    let server = FrameServer::start(|socket| {
        socket.send_settings(&[]);
        socket.next_requests(IN_FLIGHT);
        // PUSH_PROMISE, which the client does not allow.
        socket.send(&frame(PUSH_PROMISE, END_HEADERS, 1, &[0, 0, 0, 2]));
        while socket.next_frame().is_some() {}
    });
    let (result, code) = load(&server, REQUESTS, &[]);
    assert_eq!(result["failures"], json!({ "protocol": 60 }), "{result}");
    assert_eq!(code, Some(5), "{result}");
}

#[test]
fn silent_streams_time_out() {
    let server = FrameServer::start(|socket| {
        socket.send_settings(&[]);
        while socket.next_frame().is_some() {}
    });
    let (result, code) = load(&server, "4", &["--timeout", "1s"]);
    assert_eq!(result["failures"], json!({ "timed_out": 4 }), "{result}");
    assert_eq!(code, Some(5), "{result}");
}

/// The first `count` connections with requests `leave` when four are in flight; later ones answer everything.
fn leaving(
    count: usize,
    leave: impl Fn(&mut FrameSocket, &[Request]) + Send + Sync + 'static,
) -> FrameServer {
    let used = AtomicUsize::new(0);
    FrameServer::start(move |socket| {
        socket.send_settings(&[]);
        let requests = socket.next_requests(IN_FLIGHT);
        // The check that the address accepts connections sends none.
        if !requests.is_empty() && used.fetch_add(1, Ordering::Relaxed) < count {
            assert_eq!(requests.len(), IN_FLIGHT, "the client has closed early");
            leave(socket, &requests);
            while socket.next_frame().is_some() {}
            return;
        }
        for request in requests {
            socket.finish_stream(request.stream, &ok(request.stream));
        }
        while let Some(request) = socket.next_request() {
            socket.finish_stream(request.stream, &ok(request.stream));
        }
    })
}

/// Without a failed request a threshold on the error rate holds, and with one in sixty it does not.
fn check_threshold(failures: &Value, code: i32, server: &FrameServer) -> Value {
    let (result, actual) = load(server, REQUESTS, &["--threshold", "error_rate == 0%"]);
    assert_eq!(&result["failures"], failures, "{result}");
    let holds = result["thresholds"][0]["holds"] == true;
    assert_eq!(holds, failures == &json!({}), "{result}");
    // A short load on a busy machine may leave the verdict open.
    assert!([Some(code), Some(4)].contains(&actual), "{result}");
    result
}

#[test]
fn requests_above_a_goaway_are_sent_again_and_do_not_fail() {
    let server = leaving(3, |socket, requests| {
        let first = requests[0].stream;
        socket.send(&go_away(first, NO_ERROR));
        socket.finish_stream(first, &ok(first));
    });
    let result = check_threshold(&json!({}), 0, &server);
    assert_eq!(result["succeeded"], 60, "{result}");
    assert_eq!(result["resent"], 9, "{result}");
    assert_eq!(result["connects"], 4, "{result}");
}

#[test]
fn a_goaway_that_blames_fails_what_was_not_processed() {
    let server = leaving(1, |socket, _| {
        socket.send(&go_away(0, ENHANCE_YOUR_CALM));
    });
    let result = check_threshold(&json!({ "protocol": 4 }), 3, &server);
    assert_eq!(result["succeeded"], 56, "{result}");
}

/// The server checks that its limits are kept.
#[test]
fn a_limit_of_one_stream_is_kept_and_may_change() {
    let server = FrameServer::start(|socket| {
        socket.send_settings(&[(MAX_CONCURRENT_STREAMS, 1)]);
        for number in 0..60 {
            let Some(request) = socket.next_request() else {
                return;
            };
            if number == 29 {
                socket.send(&settings(&[(MAX_CONCURRENT_STREAMS, 3)]));
            }
            socket.finish_stream(request.stream, &ok(request.stream));
        }
        while socket.next_frame().is_some() {}
    });
    let result = check_threshold(&json!({}), 0, &server);
    assert_eq!(result["succeeded"], 60, "{result}");
    assert_eq!(result["connects"], 1, "{result}");
    server.finish();
}

#[test]
fn a_server_of_http1_alone_has_no_connection() {
    let server = waggle_testkit::http::Server::start(|_| {
        waggle_testkit::http::Reply::Answer(waggle_testkit::http::ok("hello"))
    });
    let url = format!("http://{}/", server.address);
    let flags = ["load", &url, "--http2", "-c", "1", "-d", "300ms", "--json"];
    let output = Workspace::new().output(&flags);
    let result = load_result(&output);
    assert_eq!(result["sent"], 0, "{result}");
    assert_ne!(result["connection_failures"], json!({}), "{result}");
    assert_eq!(output.status.code(), Some(5), "{result}");
}
