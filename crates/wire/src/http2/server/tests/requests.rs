//! Heads of requests, their bodies and trailers.

use super::*;

/// The outcome of a request with these fields, and what the server says.
fn check(fields: &[(&str, &str)], flags: u8, expected: &str) {
    let mut script = Script::new();
    let outcome = script.send(&headers(1, flags, fields)).unwrap();
    let said = script.read_output();
    assert_eq!(format!("{outcome}{said}"), expected, "{fields:?}");
}

/// The same for a GET with further fields.
fn check_field(name: &str, value: &str, expected: &str) {
    check(&[GET, &[(name, value)]].concat(), END_STREAM, expected);
}

const REFUSED: &str = "1:RST PROTOCOL_ERROR";

#[test]
fn pseudo_fields_are_checked() {
    let (method, scheme, path) = ((":method", "GET"), (":scheme", "http"), (":path", "/"));
    let authority = (":authority", "a");
    let check = |fields: &[(&str, &str)], expected| check(fields, END_STREAM, expected);
    check(&[method, scheme, path], "1:GET /.");
    check(&[scheme, path, method, authority], "1:GET /.");
    check(&[scheme, path], REFUSED);
    check(&[method, path], REFUSED);
    check(&[method, scheme], REFUSED);
    check(&[method, scheme, path, path], REFUSED);
    check(&[method, scheme, path, (":status", "200")], REFUSED);
    check(&[method, scheme, path, (":other", "1")], REFUSED);
    check(&[method, scheme, ("accept", "a"), path], REFUSED);
    check(&[method, scheme, (":path", "")], REFUSED);
    check(&[method, scheme, (":path", "x")], REFUSED);
    check(&[method, scheme, (":path", "/a b")], REFUSED);
    check(&[method, scheme, (":path", "*")], REFUSED);
    check(
        &[(":method", "OPTIONS"), scheme, (":path", "*")],
        "1:OPTIONS *.",
    );
    check(&[(":method", "G T"), scheme, path], REFUSED);
    let connect = (":method", "CONNECT");
    check(&[connect, (":authority", "a:1")], "1:CONNECT a:1.");
    check(&[connect, scheme, path, (":authority", "a:1")], REFUSED);
    check(&[connect], REFUSED);
}

#[test]
fn fields_are_checked() {
    check_field("accept", "a", "1:GET /x.");
    check_field("te", "trailers", "1:GET /x.");
    check_field("te", "gzip", REFUSED);
    for name in ["connection", "keep-alive", "upgrade"] {
        check_field(name, "a", REFUSED);
    }
    check_field("proxy-connection", "keep-alive", REFUSED);
    check_field("transfer-encoding", "chunked", REFUSED);
    check_field("Accept", "a", REFUSED);
    check_field("a b", "a", REFUSED);
    check_field("", "a", REFUSED);
    check_field("x", "a\r\nb: c", REFUSED);
    check_field("x", "a\0", REFUSED);
    check_field("x", " a", REFUSED);
    check_field("x", "a\t", REFUSED);
    check_field("x", "", "1:GET /x.");
    check_field("host", "A", "1:GET /x.");
    check_field("host", "b", REFUSED);
    check_field("content-length", "0", "1:GET /x.");
    check_field("content-length", "1", REFUSED);
    check_field("content-length", "+1", REFUSED);
}

#[test]
fn a_head_above_the_limits_is_reported() {
    check_field("x", &"a".repeat(600), "1:too-large");
    let many = [GET, &[("x", ""); 9]].concat();
    check(&many, END_STREAM, "1:too-large");
    check(&many[1..], END_STREAM, "1:too-large");
    // A mistake before that counts.
    check(&[&[("x", "")], &many[..]].concat(), END_STREAM, REFUSED);
}

#[test]
fn the_length_of_a_body_is_that_of_its_field() {
    let check = |length: &str, bodies: &[&str], expected: &str| {
        let mut script = Script::new();
        let fields = [GET, &[("content-length", length)]].concat();
        let mut bytes = headers(1, 0, &fields);
        for (number, body) in bodies.iter().enumerate() {
            let is_last = number + 1 == bodies.len();
            bytes.extend(data(
                1,
                if is_last { END_STREAM } else { 0 },
                body.as_bytes(),
            ));
        }
        let outcome = script.send(&bytes).unwrap();
        assert_eq!(outcome, format!("1:GET /x {expected}"), "{bodies:?}");
        let is_refused = outcome.ends_with("reset");
        assert_eq!(script.read_output(), if is_refused { REFUSED } else { "" });
    };
    check("3", &["abc"], "1:[abc].");
    check("3", &["ab", "c"], "1:[ab] 1:[c].");
    check("3", &["abc", ""], "1:[abc] 1:[].");
    check("0", &[""], "1:[].");
    check("3", &["ab"], "1:reset");
    check("3", &["ab", ""], "1:[ab] 1:reset");
    check("3", &["abcd"], "1:reset");
    check("3", &["ab", "cd"], "1:[ab] 1:reset");
}

#[test]
fn trailers_end_a_request() {
    let check = |trailers: &[(&str, &str)], flags: u8, expected: &str| {
        let mut script = Script::new();
        let bytes = [put(1), data(1, 0, b"a"), headers(1, flags, trailers)].concat();
        let outcome = script.send(&bytes).unwrap();
        assert_eq!(outcome, format!("1:GET /x 1:[a] {expected}"));
    };
    check(&[("x-sum", "1")], END_STREAM, "1:[].");
    check(&[("x-sum", "1")], 0, "1:reset");
    check(&[(":path", "1")], END_STREAM, "1:reset");
    check(&[("X", "1")], END_STREAM, "1:reset");
}

#[test]
fn equal_blocks_are_decoded_once_and_mean_the_same() {
    let mut script = Script::new();
    for stream in [1, 3, 5] {
        assert_eq!(
            script.send(&get(stream)),
            Ok(format!("{stream}:GET /x.")),
            "{stream}"
        );
        let head = script.server.head();
        assert_eq!(head.authority(), Some(&b"a"[..]));
        assert_eq!(head.fields().len(), 0);
        script.answer(stream, Then::End);
    }
    // An entry of the table that is replaced: the same block means something else.
    let indexed = |value: &str| {
        let mut block = block(&GET[..3]);
        block.extend([0x44, value.len() as u8]);
        block.extend(value.as_bytes());
        block
    };
    let refers = [&block(&GET[..3])[..], &[0xbe]].concat();
    let ask = |script: &mut Script, stream, block: &[u8]| {
        let flags = END_HEADERS | END_STREAM;
        let outcome = script.send(&frame(Kind::HEADERS, flags, stream, block));
        script.answer(stream, Then::End);
        outcome.unwrap()
    };
    assert_eq!(ask(&mut script, 7, &indexed("/1")), "7:GET /1.");
    assert_eq!(ask(&mut script, 9, &refers), "9:GET /1.");
    assert_eq!(ask(&mut script, 11, &refers), "11:GET /1.");
    assert_eq!(ask(&mut script, 13, &indexed("/2")), "13:GET /2.");
    assert_eq!(ask(&mut script, 15, &refers), "15:GET /2.");
}

#[test]
fn heads_are_copied_into_buffers_that_are_there() {
    let mut script = Script::new();
    script.send(&get(1)).unwrap();
    let mut copy = script.server.head().clone();
    let fields = [GET, &[("a", "1"), ("content-length", "2"), ("expect", "e")]].concat();
    script.send(&headers(3, 0, &fields)).unwrap();
    copy.clone_from(script.server.head());
    let fields: Vec<_> = copy.fields().collect();
    assert_eq!(fields[0], (&b"a"[..], &b"1"[..]));
    assert_eq!(copy.content_length(), Some(2));
    assert!(copy.has_expectation());
    assert_eq!(&copy, script.server.head());
}
