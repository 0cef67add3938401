//! Requests become frames that an independent reader understands.

use waggle_wire::http2::{
    hpack::Decoder,
    reader::{Piece, Reader},
};

use super::*;
use crate::requests::prepared::Stamp;

fn request(text: &str, slots: &[(usize, Stamp)]) -> Prepared {
    Prepared {
        bytes: text.as_bytes().to_vec(),
        slots: slots.iter().map(|slot| make_slot(slot.0, slot.1)).collect(),
        records: 1,
        is_head: false,
    }
}

fn make_slot(start: usize, stamp: Stamp) -> Slot {
    Slot { at: start, stamp }
}

/// The frames on stream 7 as text; slots are overwritten by `#`.
fn text(frames: &Frames, decoder: &mut Decoder) -> String {
    let mut bytes = frames.bytes.clone();
    frames.number(&mut bytes, 7);
    for slot in &frames.slots {
        bytes[slot.at..slot.at + slot.stamp.length()].fill(b'#');
    }
    let mut reader = Reader::new(1 << 20);
    let mut text = String::new();
    let mut input = &bytes[..];
    while let Some(piece) = reader.next(&mut input).unwrap() {
        match piece {
            Piece::Headers {
                stream,
                block,
                is_end,
            } => {
                let take = |name: &[u8], value: &[u8]| {
                    let name = String::from_utf8_lossy(name);
                    text.push_str(&format!("{name}={} ", String::from_utf8_lossy(value)));
                };
                decoder.decode(block, take).unwrap();
                text.push_str(&format!("on {stream} {is_end}"));
            }
            Piece::Data {
                stream,
                bytes,
                is_end,
                ..
            } => text.push_str(&format!(
                "; {} {} on {stream} {is_end}",
                bytes.len(),
                String::from_utf8_lossy(&bytes[..bytes.len().min(40)])
            )),
            Piece::Frame(..) => panic!("an unexpected frame"),
        }
    }
    text
}

#[test]
fn requests_become_frames_with_their_slots() {
    let key = Stamp::Key { record: 0 };
    let first = "GET /k000000000000000000/x HTTP/1.1\r\nHost: here\r\nUser-Agent: w\r\n\r\n";
    let second = "PUT /a HTTP/1.1\r\nHost: here\r\nUser-Agent: w\r\nX-T: t0000000000000000000\r\nContent-Length: 20\r\n\r\nk=000000000000000000";
    let requests = [
        request(first, &[(first.find("00").unwrap(), key)]),
        request(
            second,
            &[
                (second.find("t00").unwrap() + 1, Stamp::Time),
                (second.len() - 18, key),
            ],
        ),
    ];
    let frames = PreparedFrames::new(&requests, false).unwrap();
    // The server reads the first request in its long form, and then the others.
    let mut decoder = Decoder::new(4_096);
    let mut encoder = Encoder::default();
    let mut block = Vec::new();
    HeadTranslator::new(false)
        .translate(
            &mut encoder,
            RequestParts::read(first.as_bytes()).unwrap(),
            frames.indexed_lines(),
            &mut block,
        )
        .unwrap();
    decoder.decode(&block, |_, _| {}).unwrap();
    assert!(frames.suit(&encoder));
    for _ in 0..2 {
        assert_eq!(
            text(frames.get(0).unwrap(), &mut decoder),
            ":method=GET :scheme=http :path=/k##################/x :authority=here user-agent=w on 7 true"
        );
        assert_eq!(
            text(frames.get(1).unwrap(), &mut decoder),
            ":method=PUT :scheme=http :path=/a :authority=here user-agent=w x-t=t################### content-length=20 \
             on 7 false; 20 k=################## on 7 true"
        );
    }
}

#[test]
fn large_bodies_are_cut_between_slots() {
    let key = Stamp::Key { record: 0 };
    let body = "x".repeat(40_000);
    let head = "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 40000\r\n\r\n";
    let slots = [(head.len() + 16_380, key), (head.len() + 39_982, key)];
    let requests = [request(&format!("{head}{body}"), &slots)];
    let frames = PreparedFrames::new(&requests, false).unwrap();
    let mut decoder = Decoder::new(4_096);
    decoder.decode(b"\x41\x01h", |_, _| {}).unwrap();
    let text = text(frames.get(0).unwrap(), &mut decoder);
    let lengths: Vec<&str> = text
        .split("; ")
        .skip(1)
        .map(|part| part.split(' ').next().unwrap())
        .collect();
    assert_eq!(lengths, ["16380", "16384", "7236"], "{text}");
    assert!(text.contains("16384 ##################xxx"), "{text}");
}

#[test]
fn lines_in_another_order_are_not_shared() {
    let lines = |heads: &[&str]| {
        let requests: Vec<_> = heads.iter().map(|head| request(head, &[])).collect();
        shared_lines(&requests).len()
    };
    let short = "GET / HTTP/1.1\r\nHost: h\r\nA: 1\r\n\r\n";
    assert_eq!(lines(&[short, short]), 2);
    assert_eq!(
        lines(&[short, "GET /x HTTP/1.1\r\nHost: h\r\nA: 2\r\n\r\n"]),
        1
    );
    assert_eq!(
        lines(&[short, "GET / HTTP/1.1\r\nA: 1\r\nHost: h\r\n\r\n"]),
        0
    );
}
