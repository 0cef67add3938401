//! Answers that are malformed, or only look so (RFC 9113, section 8). A malformed answer fails its own request alone.

use waggle_load::{BodyCheck, Failure, Prepared};
use waggle_testkit::frames::{
    FrameServer,
    block::{STATUS_200, field},
    frame::{data, headers, last_data, last_headers},
};

use super::{
    Counted, Differences, IN_FLIGHT, REQUESTS, check_answer, check_answer_of, hostile_job, ok,
};
use crate::support::{expect, get, run};

/// A header block of these lines.
fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    fields
        .iter()
        .flat_map(|(name, value)| field(name, value))
        .collect()
}

/// A header block of status 200 and these lines.
fn block_200(fields: &[(&str, &str)]) -> Vec<u8> {
    [STATUS_200, &block(fields)].concat()
}

fn check_malformed(
    differences: &mut Differences,
    case: &str,
    answer: impl Fn(u32) -> Vec<u8> + Send + Sync + 'static,
) {
    check_answer(differences, case, Err(Failure::Malformed), answer);
}

/// An answer with this head is malformed, with a body and without.
fn check_head(differences: &mut Differences, case: &str, block: Vec<u8>) {
    let alone = block.clone();
    check_malformed(differences, case, move |stream| {
        [headers(stream, &block), last_data(stream, b"ok")].concat()
    });
    let case = format!("{case}, without a body");
    check_malformed(differences, &case, move |stream| {
        last_headers(stream, &alone)
    });
}

#[test]
fn heads_with_fields_out_of_place_are_malformed() {
    let mut differences = Differences::default();
    let mut check = |case: &str, block| check_head(&mut differences, case, block);
    check("no status", block(&[("x", "y")]));
    check("no field at all", Vec::new());
    check("status twice", block_200(&[(":status", "200")]));
    let last = block(&[("x", "y"), (":status", "200")]);
    check("a pseudo field after others", last);
    let of_connections = [
        ("connection", "close"),
        ("transfer-encoding", "chunked"),
        ("keep-alive", "timeout=5"),
        ("proxy-connection", "keep-alive"),
        ("upgrade", "h2c"),
    ];
    for (name, value) in of_connections {
        check(name, block_200(&[(name, value)]));
    }
    differences.check();
}

#[test]
fn heads_with_an_invalid_status_are_malformed() {
    let mut differences = Differences::default();
    for status in ["20", "2000", "", "abc", "2x0", "+20", " 200"] {
        let case = format!("status `{status}`");
        check_head(&mut differences, &case, block(&[(":status", status)]));
    }
    differences.check();
}

#[test]
fn heads_with_invalid_fields_are_malformed() {
    let mut differences = Differences::default();
    for name in [":path", ":other"] {
        check_head(&mut differences, name, block_200(&[(name, "/")]));
    }
    let names = ["X-Upper", "", "x y", "x\u{0}", "x:y", "x\u{7f}", "é"];
    for name in names {
        let case = format!("name `{}`", name.escape_debug());
        check_head(&mut differences, &case, block_200(&[(name, "1")]));
    }
    for value in ["a\r\nb: c", "a\nb", "a\rb", "a\u{0}b", " a", "a ", "\ta"] {
        let case = format!("value `{}`", value.escape_debug());
        check_head(&mut differences, &case, block_200(&[("x", value)]));
    }
    differences.check();
}

#[test]
fn bodies_of_another_length_than_announced_are_malformed() {
    let mut differences = Differences::default();
    let mut check = |case: &str, lengths: &[(&str, &str)], body: &'static [u8]| {
        let block = block_200(lengths);
        check_malformed(&mut differences, case, move |stream| {
            [headers(stream, &block), last_data(stream, body)].concat()
        });
    };
    check("one byte less", &[("content-length", "3")], b"ok");
    check("one byte more", &[("content-length", "1")], b"ok");
    check("more than nothing", &[("content-length", "0")], b"ok");
    check("nothing", &[("content-length", "2")], b"");
    check(
        "two lengths",
        &[("content-length", "2"), ("content-length", "3")],
        b"ok",
    );
    for length in ["two", "-2", "+2", "2.0", "", "0x2", "18446744073709551618"] {
        check(
            &format!("length `{length}`"),
            &[("content-length", length)],
            b"ok",
        );
    }
    let block = block_200(&[("content-length", "2")]);
    let short = block.clone();
    check_malformed(&mut differences, "no body", move |stream| {
        last_headers(stream, &short)
    });
    check_malformed(&mut differences, "less before trailers", move |stream| {
        let trailers = last_headers(stream, &field("x", "y"));
        [headers(stream, &block), data(stream, b"o"), trailers].concat()
    });
    differences.check();
}

#[test]
fn bodies_of_the_announced_length_are_right() {
    let mut differences = Differences::default();
    let right = block_200(&[("content-length", "2")]);
    let pieces = right.clone();
    check_answer(&mut differences, "in one piece", Ok(()), move |stream| {
        [headers(stream, &right), last_data(stream, b"ok")].concat()
    });
    check_answer(&mut differences, "in pieces", Ok(()), move |stream| {
        let parts = [
            headers(stream, &pieces),
            data(stream, b""),
            data(stream, b"o"),
            data(stream, b"k"),
            last_data(stream, b""),
        ];
        parts.concat()
    });
    let empty = block_200(&[("content-length", "0")]);
    check_answer(&mut differences, "empty", Ok(()), move |stream| {
        last_headers(stream, &empty)
    });
    differences.check();
}

#[test]
fn an_answer_to_head_announces_a_body_and_has_none() {
    let head = || Prepared {
        bytes: b"HEAD / HTTP/1.1\r\nHost: test\r\n\r\n".to_vec(),
        is_head: true,
        ..get()
    };
    let mut differences = Differences::default();
    let long = block_200(&[("content-length", "1000")]);
    let (in_data, with_body) = (long.clone(), long.clone());
    check_answer_of(
        &mut differences,
        "no body",
        (head(), Ok(())),
        move |stream| last_headers(stream, &long),
    );
    check_answer_of(
        &mut differences,
        "empty DATA",
        (head(), Ok(())),
        move |stream| [headers(stream, &in_data), last_data(stream, b"")].concat(),
    );
    let right = Err(Failure::Malformed);
    check_answer_of(&mut differences, "a body", (head(), right), move |stream| {
        [
            headers(stream, &with_body),
            last_data(stream, &[b'x'; 1_000]),
        ]
        .concat()
    });
    check_answer_of(
        &mut differences,
        "a body without a length",
        (head(), right),
        ok,
    );
    differences.check();
}

/// All answers are the same: they have this status and body.
fn check_all_answers(
    status: u16,
    body: &[u8],
    answer: impl Fn(u32) -> Vec<u8> + Send + Sync + 'static,
) {
    let server = FrameServer::answering(&[], move |socket, request| {
        socket.finish_stream(request.stream, &answer(request.stream));
    });
    let mut job = hostile_job(&server, IN_FLIGHT);
    expect(&mut job).status = vec![status];
    expect(&mut job).body = BodyCheck::Equals(body.to_vec());
    let ended = run(job);
    assert_eq!(
        Counted::new(&ended),
        Counted::on_one_connection(REQUESTS, &[]),
        "status {status}"
    );
    server.finish();
}

#[test]
fn an_answer_without_content_may_announce_a_length() {
    let not_modified = block(&[(":status", "304"), ("content-length", "1000")]);
    check_all_answers(304, b"", move |stream| last_headers(stream, &not_modified));
    let no_content = block(&[(":status", "204")]);
    check_all_answers(204, b"", move |stream| last_headers(stream, &no_content));
}

#[test]
fn trailers_end_an_answer() {
    check_all_answers(200, b"ok", |stream| {
        let trailers = last_headers(stream, &field("x-sum", "1"));
        [headers(stream, STATUS_200), data(stream, b"ok"), trailers].concat()
    });
    check_all_answers(200, b"", |stream| {
        let trailers = last_headers(stream, &field("x-sum", "1"));
        [headers(stream, STATUS_200), trailers].concat()
    });
    // The body is judged all the same.
    let mut differences = Differences::default();
    check_answer(
        &mut differences,
        "status 503",
        Err(Failure::Status(503)),
        |stream| {
            let trailers = last_headers(stream, &field("x-sum", "1"));
            [
                headers(stream, &block(&[(":status", "503")])),
                data(stream, b"no"),
                trailers,
            ]
            .concat()
        },
    );
    differences.check();
}

#[test]
fn trailers_that_break_a_rule_are_malformed() {
    let mut differences = Differences::default();
    let mut check = |case: &str, trailers: fn(u32) -> Vec<u8>| {
        check_malformed(&mut differences, case, move |stream| {
            [
                headers(stream, STATUS_200),
                data(stream, b"ok"),
                trailers(stream),
            ]
            .concat()
        });
    };
    check("without the end", |stream| {
        headers(stream, &field("x", "y"))
    });
    check("without the end, then DATA", |stream| {
        [headers(stream, &field("x", "y")), last_data(stream, b"")].concat()
    });
    check("with connection", |stream| {
        last_headers(stream, &field("connection", "close"))
    });
    differences.check();
}

#[test]
fn trailers_with_invalid_fields_are_malformed() {
    let mut differences = Differences::default();
    let cases = [
        ("a status", STATUS_200.to_vec()),
        ("an upper-case name", field("X", "y")),
    ];
    for (case, trailers) in cases {
        check_malformed(&mut differences, case, move |stream| {
            let body = data(stream, b"ok");
            let end = last_headers(stream, &trailers);
            [headers(stream, STATUS_200), body, end].concat()
        });
    }
    differences.check();
}

#[test]
fn informational_answers_come_first() {
    let informed = |status: &str, fields: &[(&str, &str)]| {
        [block(&[(":status", status)]), block(fields)].concat()
    };
    let (go_on, early) = (informed("100", &[]), informed("103", &[("link", "</a>")]));
    check_all_answers(200, b"ok", move |stream| {
        [headers(stream, &go_on), ok(stream)].concat()
    });
    let unknown = informed("199", &[]);
    check_all_answers(200, b"ok", move |stream| {
        let before = [&early, &unknown, &early].map(|block| headers(stream, block));
        [before.concat(), ok(stream)].concat()
    });
}

#[test]
fn an_informational_answer_is_not_the_last() {
    let mut differences = Differences::default();
    let last = block(&[(":status", "103")]);
    check_malformed(&mut differences, "103 at the end", move |stream| {
        last_headers(stream, &last)
    });
    differences.check();
}

#[test]
fn answers_in_a_wrong_order_are_malformed() {
    let mut differences = Differences::default();
    let early = block(&[(":status", "103")]);
    check_malformed(&mut differences, "103 and DATA", move |stream| {
        [headers(stream, &early), last_data(stream, b"ok")].concat()
    });
    check_malformed(&mut differences, "DATA first", |stream| {
        last_data(stream, b"ok")
    });
    // RFC 9113, section 8.6: there is no other protocol to switch to.
    let switching = block(&[(":status", "101")]);
    check_malformed(&mut differences, "101", move |stream| {
        [headers(stream, &switching), ok(stream)].concat()
    });
    differences.check();
}
