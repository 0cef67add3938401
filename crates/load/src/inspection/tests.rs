//! What inspections find in answers, in whatever pieces these arrive.

use std::io::Write as _;

use flate2::{
    Compression,
    write::{DeflateEncoder, GzEncoder, ZlibEncoder},
};

use super::*;
use crate::failure::InspectionFailure::{
    InvalidEncoding, NoArray, NotJson, Truncated, UnknownEncoding,
};

const LIST: &str = r#"{"kind":"L","metadata":{"items":[7,8,9]},"items":[{"a":"]}\"[{,\\"},[1,[2,3]],{"items":[4]},null,-1.5e+3,"x\\"], "after": {}}"#;

/// What is found in an answer that arrives in these pieces, by an inspection that has seen another one before.
fn inspect_pieces(
    count: Option<&str>,
    coding: &str,
    pieces: &[&[u8]],
) -> Result<Option<Inspected>, Failure> {
    let count = count.map(|path| path.split('.').skip(1).map(str::to_owned).collect());
    let mut inspector = Inspector::new(&Inspect { count });
    let mut inspection = Inspection::default();
    let mut last = None;
    for _ in 0..2 {
        inspection.note_arrival(5);
        inspection.note_arrival(6);
        for piece in pieces {
            if inspection.awaits_head() {
                inspection.begin_body(200, ContentCoding::parse([coding.as_bytes()]));
            }
            inspection.take_body(&mut inspector, piece);
        }
        let outcome = inspection.finish(&inspector, 200, Ok(()));
        assert!(
            last.is_none_or(|last| last == outcome),
            "{last:?} {outcome:?}"
        );
        last = Some(outcome);
    }
    last.unwrap()
}

fn check(count: Option<&str>, coding: &str, body: &[u8], expected: Result<u64, InspectionFailure>) {
    let items = |pieces: &[&[u8]]| {
        let outcome = inspect_pieces(count, coding, pieces);
        outcome.map(|outcome| {
            let outcome = outcome.unwrap();
            assert_eq!(outcome.body_bytes, body.len() as u64);
            assert_eq!(outcome.first_byte, 5);
            assert_eq!(outcome.items.is_some(), count.is_some());
            outcome.items.unwrap_or(outcome.decoded_bytes)
        })
    };
    let expected = expected.map_err(Failure::Inspection);
    let text = String::from_utf8_lossy(body);
    assert_eq!(items(&[body]), expected, "{count:?} {coding} {text}");
    for position in 0..=body.len() {
        let (start, other) = body.split_at(position);
        assert_eq!(
            items(&[start, other]),
            expected,
            "{text} split at {position}"
        );
    }
    let single: Vec<&[u8]> = body.chunks(1).collect();
    assert_eq!(items(&single), expected, "{text} byte by byte");
}

fn check_json(path: &str, document: &str, expected: Result<u64, InspectionFailure>) {
    check(Some(path), "", document.as_bytes(), expected);
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

fn zlib(body: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

fn deflate(body: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn elements_of_the_named_array_are_counted() {
    check_json("$.items", LIST, Ok(6));
    check_json("$.metadata.items", LIST, Ok(3));
    check_json("$", "[]", Ok(0));
    check_json("$", " [ ] \n", Ok(0));
    check_json("$", "[[1,2],[],{}, \"a,b\" ,true,false,null,0]", Ok(8));
    check_json("$.a.b", r#"{"a":{"c":[1],"b":[1,2]},"b":[1]}"#, Ok(2));
    check_json("$.a.b", r#"{"a":1,"b":[1],"a":{"b":[]}}"#, Ok(0));
    check_json("$.items", "{ \"items\" :\t[\r\n{ } ,\n{ } ] }", Ok(2));
    check_json(
        "$.items",
        r#"{"items2":[1],"item":[1],"items":[1,2]}"#,
        Ok(2),
    );
    check_json(
        "$",
        &format!("[{}1{}]", "[".repeat(1_023), "]".repeat(1_023)),
        Ok(1),
    );
}

#[test]
fn a_document_without_the_array_is_no_success() {
    for document in [
        "{}",
        "7",
        "\"items\"",
        "null",
        "[]",
        r#"{"items":null}"#,
        r#"{"items":{"items":[1]}}"#,
    ] {
        check_json("$.items", document, Err(NoArray));
    }
    check_json(
        "$.a.b",
        r#"{"a":[{"b":[1]}],"b":[1],"a.b":[1]}"#,
        Err(NoArray),
    );
    check_json("$", r#"{"items":[]}"#, Err(NoArray));
    // A name with an escape is not compared.
    check_json("$.items", r#"{"it\u0065ms":[1]}"#, Err(NoArray));
}

#[test]
fn a_document_that_was_cut_differs_from_what_is_no_json() {
    let list = LIST.as_bytes();
    for length in 1..list.len() {
        check(Some("$.items"), "", &list[..length], Err(Truncated));
    }
    for document in [
        "",
        " ",
        "<html>",
        "forbidden",
        "{,}",
        "[1,]",
        "[,1]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "[1 2]",
        "[1}",
        "{\"a\":1]",
        "]",
        "[] []",
        "{}\n{}",
        "[tru]",
        "[nulls]",
        "{1:2}",
        "[+1]",
        "'a'",
    ] {
        check_json("$", document, Err(NotJson));
    }
    check_json("$", &"[".repeat(1_025), Err(NotJson));
}

#[test]
fn compressed_bodies_are_decompressed_while_they_arrive() {
    let list = LIST.as_bytes();
    let length = list.len() as u64;
    let two = [gzip(&list[..20]), gzip(&list[20..])].concat();
    for (coding, body) in [
        ("", list.to_vec()),
        ("identity", list.to_vec()),
        ("gzip", gzip(list)),
        ("X-GZIP", gzip(list)),
        ("identity, gzip", gzip(list)),
        ("gzip", two),
        ("deflate", zlib(list)),
        ("deflate", deflate(list)),
    ] {
        check(Some("$.items"), coding, &body, Ok(6));
        check(None, coding, &body, Ok(length));
    }
    // More than there is room for at once.
    let many = format!("[{}0]", "0,".repeat(1_000_000));
    let many = gzip(many.as_bytes());
    let outcome = inspect_pieces(Some("$"), "gzip", &[&many])
        .unwrap()
        .unwrap();
    assert_eq!(outcome.items, Some(1_000_001));
    assert_eq!(outcome.decoded_bytes, 2_000_003);
    assert_eq!(outcome.body_bytes, many.len() as u64);
}

#[test]
fn bodies_with_wrong_compression_are_failures_of_their_kinds() {
    let list = LIST.as_bytes();
    for (coding, body) in [
        ("gzip", gzip(list)),
        ("deflate", zlib(list)),
        ("deflate", deflate(list)),
    ] {
        for length in 1..body.len() {
            check(None, coding, &body[..length], Err(Truncated));
        }
    }
    for body in [zlib(list), deflate(list)] {
        check(
            None,
            "deflate",
            &[&body[..], b"more"].concat(),
            Err(InvalidEncoding),
        );
    }
    let mut wrong_sum = gzip(list);
    let position = wrong_sum.len() - 6;
    wrong_sum[position] ^= 1;
    check(Some("$.items"), "gzip", &wrong_sum, Err(InvalidEncoding));
    check(None, "gzip", list, Err(InvalidEncoding));
    check(
        None,
        "gzip",
        &[&gzip(list)[..], b"more"].concat(),
        Err(InvalidEncoding),
    );
    for coding in ["br", "zstd", "gzip, gzip", "deflate, gzip", "gzip, br"] {
        check(None, coding, list, Err(UnknownEncoding));
    }
    check(Some("$.items"), "gzip", &gzip(b"<html>"), Err(NotJson));
    check(None, "gzip", &gzip(b"<html>"), Ok(6));
}

#[test]
fn answers_without_success_and_without_bodies_are_not_inspected() {
    let mut inspector = Inspector::new(&Inspect {
        count: Some(Vec::new()),
    });
    let mut inspection = Inspection::default();
    for (status, judged) in [
        (404, Ok(())),
        (500, Err(Failure::Status(500))),
        (200, Err(Failure::WrongBody)),
    ] {
        inspection.note_arrival(1);
        inspection.begin_body(status, ContentCoding::parse([&b"br"[..]]));
        inspection.take_body(&mut inspector, b"no");
        let outcome = inspection.finish(&inspector, status, judged);
        assert_eq!(outcome, judged.map(|()| None), "{status}");
    }
    let empty = inspection.finish(&inspector, 204, Ok(()));
    assert_eq!(empty, Err(Failure::Inspection(NotJson)));
    assert_eq!(
        inspect_pieces(None, "gzip", &[])
            .unwrap()
            .unwrap()
            .body_bytes,
        0
    );
}
