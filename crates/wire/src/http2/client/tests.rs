//! Frames on streams that have ended (RFC 9113, section 5.1).

use super::*;
use crate::http2::frame::{END_HEADERS, END_STREAM, Kind, put_head};

/// The block of `:status: 200`.
const OK: &[u8] = &[0x88];

fn frame(kind: Kind, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_head(&mut bytes, kind, flags, stream, payload.len());
    bytes.extend_from_slice(payload);
    bytes
}

fn head(stream: u32) -> Vec<u8> {
    frame(Kind::HEADERS, END_HEADERS, stream, OK)
}

fn answer(stream: u32) -> Vec<u8> {
    frame(Kind::HEADERS, END_HEADERS | END_STREAM, stream, OK)
}

fn data(stream: u32) -> Vec<u8> {
    frame(Kind::DATA, END_STREAM, stream, b"late")
}

/// A client with the requests 1, 3, 5 and 7 in flight.
fn client_with_requests() -> Client {
    let options = Options {
        streams_max: 4,
        list_max_bytes: 1_000,
        fields_max: 10,
        stream_window: 1_000,
        connection_window: 100_000,
        keeps_fields: false,
    };
    let mut client = Client::new(options, &mut Vec::new());
    let settings = frame(Kind::SETTINGS, 0, 0, &[]);
    let ready = client.next(&mut &settings[..], &mut Vec::new());
    assert_eq!(ready, Ok(Some(Event::Ready)));
    for _ in 0..4 {
        client.begin(false, 0);
    }
    client
}

/// Takes frames until there are no more, or there is a mistake.
fn take(client: &mut Client, frames: &[Vec<u8>]) -> Result<(), ConnectionError> {
    let input = frames.concat();
    let mut input = &input[..];
    while client.next(&mut input, &mut Vec::new())?.is_some() {}
    Ok(())
}

#[test]
fn nothing_follows_the_end_of_an_answer() {
    for late in [head(1), answer(1), data(1)] {
        let mut client = client_with_requests();
        take(&mut client, &[answer(1), answer(3)]).unwrap();
        let error = take(&mut client, &[late]).unwrap_err();
        assert_eq!(error.code, ErrorCode::STREAM_CLOSED, "{error}");
        assert_eq!(client.in_flight(), 2);
    }
}

#[test]
fn parts_of_answers_may_cross_the_end_by_this_side() {
    let mut client = client_with_requests();
    client.cancel(0, &mut Vec::new());
    take(&mut client, &[head(1), data(1), answer(3)]).unwrap();
    assert_eq!(client.in_flight(), 2);
    assert!(take(&mut client, &[data(3)]).is_err());
}

#[test]
fn answers_that_a_server_did_not_want_to_give_are_no_mistake() {
    let mut client = client_with_requests();
    let last_stream_and_code = [3_u32.to_be_bytes(), 0_u32.to_be_bytes()].concat();
    let away = frame(Kind::GOAWAY, 0, 0, &last_stream_and_code);
    take(&mut client, &[away, head(5), data(5), answer(1)]).unwrap();
    assert_eq!(client.in_flight(), 1);
    assert!(take(&mut client, &[data(1)]).is_err());
}
