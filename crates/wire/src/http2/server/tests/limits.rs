//! Limits on streams, resets, and frames that lead nowhere.

use super::*;
use crate::http2::server::Waste;

#[test]
fn streams_above_the_limit_are_refused_and_can_be_repeated() {
    let mut script = Script::new();
    for stream in [1, 3, 5, 7] {
        script.send(&get(stream)).unwrap();
    }
    assert_eq!(script.send(&put(9)).unwrap(), "");
    assert_eq!(script.read_output(), "9:RST REFUSED_STREAM");
    // Its body was on its way.
    assert_eq!(script.send(&data(9, END_STREAM, b"a")), Ok(String::new()));
    script.answer(1, Then::End);
    assert_eq!(script.send(&get(11)).unwrap(), "11:GET /x.");
}

/// How many frames in a row a client may send.
fn check_flood(first: &[u8], frame: &[u8], expected: usize) {
    let mut script = Script::new();
    script.send(first).unwrap();
    let mut count = 0;
    let code = loop {
        match script.send(frame) {
            Ok(_) => count += 1,
            Err(code) => break code,
        }
        assert!(count < 1_000);
    };
    assert_eq!((count, code), (expected, ErrorCode::ENHANCE_YOUR_CALM));
}

#[test]
fn floods_end_the_connection() {
    let most = LIMITS.idle_frames as usize;
    let floods = [
        frame(Kind::PING, 0, 0, &[0; 8]),
        frame(Kind::SETTINGS, 1, 0, b""),
        frame(Kind::PRIORITY, 0, 3, &[0; 5]),
        frame(Kind(77), 0, 0, b"a"),
        frame(Kind::WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1]),
        frame(Kind::GOAWAY, 0, 0, &[0; 8]),
    ];
    for flood in floods {
        // The settings at the start count, too.
        check_flood(b"", &flood, most - 1);
    }
    check_flood(b"", &frame(Kind::SETTINGS, 0, 0, b""), most - 1);
    check_flood(&put(1), &data(1, 0, b""), most - 1);
    let padded = frame(Kind::DATA, frame::PADDED, 1, &[2, 0, 0]);
    check_flood(&put(1), &padded, most - 1);
    let reset = frame(Kind::RST_STREAM, 0, 1, &[0; 4]);
    check_flood(&[get(1), reset.clone()].concat(), &reset, most - 1);
}

#[test]
fn padding_that_arrives_in_parts_is_no_flood() {
    let padded = [&[200][..], b"a", &[0; 200]].concat();
    let bytes = frame(Kind::DATA, frame::PADDED, 1, &padded).repeat(3);
    let mut script = Script::new();
    script.send(&put(1)).unwrap();
    let events: Vec<_> = bytes.iter().map(|byte| script.send(&[*byte])).collect();
    let events: Result<Vec<_>, _> = events.into_iter().collect();
    assert_eq!(events.unwrap().concat(), "1:[a]".repeat(3));
}

#[test]
fn what_leads_somewhere_ends_a_flood() {
    let mut script = Script::new();
    script.send(&put(1)).unwrap();
    for _ in 0..100 {
        let bytes = [frame(Kind::PING, 0, 0, &[0; 8]).repeat(5), data(1, 0, b"a")].concat();
        script.send(&bytes).unwrap();
    }
}

#[test]
fn streams_that_are_reset_again_and_again_end_the_connection() {
    let reset = |stream: u32| frame(Kind::RST_STREAM, 0, stream, &[0, 0, 0, 8]);
    let by_mistake = |stream: u32| data(stream, 0, b"a");
    for mistake in [&reset as &dyn Fn(u32) -> Vec<u8>, &by_mistake] {
        let mut script = Script::new();
        let mut stream = 1;
        let mut ask = |script: &mut Script, is_answered: bool| {
            let opened = script.send(&get(stream));
            if is_answered {
                script.answer(stream, Then::End);
            } else {
                script.send(&mistake(stream))?;
            }
            stream += 2;
            opened
        };
        // As many as are answered, and a few more.
        for _ in 0..20 {
            ask(&mut script, false).unwrap();
            ask(&mut script, true).unwrap();
        }
        for _ in 0..LIMITS.resets {
            ask(&mut script, false).unwrap();
        }
        assert_eq!(ask(&mut script, false), Err(ErrorCode::ENHANCE_YOUR_CALM));
    }
}

#[test]
fn what_is_said_to_a_client_that_breaks_the_rules() {
    let mut script = Script::new();
    script.send(&get(1)).unwrap();
    let mut input = &get(2)[..];
    let error = script.server.next(&mut input, &mut script.out).unwrap_err();
    script.server.fail(error, &mut script.out);
    assert_eq!(script.read_output(), "GOAWAY 1 PROTOCOL_ERROR");
}

#[test]
fn what_is_in_vain_is_told_once() {
    let mut script = Script::new();
    let look = |script: &mut Script| {
        let Waste { vain, answered } = script.server.take_waste();
        [vain, answered]
    };
    script.send(&[put(1), reset(1), get(3)].concat()).unwrap();
    assert_eq!(look(&mut script), [1, 0]);
    let no_content = |_: &mut _, block: &mut Vec<u8>| put_static(block, b":status", b"204");
    script
        .server
        .answer_with(3, Then::End, &mut script.out, no_content);
    assert_eq!(look(&mut script), [0, 1]);
    assert_eq!(look(&mut script), [0, 0]);
}

#[test]
fn frames_in_a_row_that_lead_nowhere_are_waste_in_the_end() {
    let mut out = Vec::new();
    let limits = Limits {
        idle_frames: 1000,
        ..LIMITS
    };
    let server = Server::new(limits, &mut out);
    let mut script = Script { server, out };
    let start = [&PREFACE[..], &frame(Kind::SETTINGS, 0, 0, b"")].concat();
    script.send(&start).unwrap();
    let ping = frame(Kind::PING, 0, 0, &[0; 8]);
    script.send(&ping.repeat(99)).unwrap();
    assert_eq!(script.server.take_waste().vain, 0);
    script.send(&ping.repeat(7)).unwrap();
    assert_eq!(script.server.take_waste().vain, 7);
}

#[test]
fn settings_are_acknowledged_by_the_client() {
    let mut script = Script::new();
    assert!(!script.server.is_acknowledged());
    script.send(&frame(Kind::SETTINGS, 1, 0, b"")).unwrap();
    assert!(script.server.is_acknowledged());
}
