//! The table of latest readings: order, eviction, pages.

use super::*;

fn latest_table(series: usize, bytes: usize) -> Latest {
    Latest::new(LatestLimits { series, bytes })
}

fn line(latest: &Latest, topic: u32, series: &str) -> Option<String> {
    latest.read(topic, series.as_bytes(), |reading| {
        let mut line = Vec::new();
        reading.write_line(&mut line);
        String::from_utf8(line).unwrap()
    })
}

/// Every reading of a topic, by pages of `size`.
fn all_lines(latest: &Latest, topic: u32, size: usize) -> Vec<String> {
    let (mut lines, mut cursor) = (Vec::new(), Some(Cursor::START));
    while let Some(from) = cursor {
        let mut on_page = 0;
        cursor = latest.page(topic, from, |reading| {
            let is_full = on_page == size;
            if !is_full {
                lines.push(String::from_utf8(reading.series.to_vec()).unwrap());
                on_page += 1;
            }
            !is_full
        });
    }
    lines
}

#[test]
fn latest_is_by_time_and_of_equal_times_the_last_one() {
    let latest = latest_table(100, 1 << 20);
    latest.note_lines(0, b"m,a=b f=1i 5\nm f=2i 1\nm,a=b f=3i 4");
    assert_eq!(line(&latest, 0, "m,a=b").unwrap(), "m,a=b f=1i 5\n");
    latest.note_lines(0, b"m,a=b f=4i 5");
    assert_eq!(line(&latest, 0, "m,a=b").unwrap(), "m,a=b f=4i 5\n");
    assert_eq!(line(&latest, 0, "m").unwrap(), "m f=2i 1\n");
    assert_eq!(line(&latest, 0, "m,a"), None);
    assert_eq!(line(&latest, 0, "m,a=b f"), None);
    // Another topic has series of its own.
    assert_eq!(line(&latest, 1, "m"), None);
    latest.note_lines(1, b"m f=9i -9");
    assert_eq!(line(&latest, 1, "m").unwrap(), "m f=9i -9\n");
    assert_eq!(line(&latest, 0, "m").unwrap(), "m f=2i 1\n");
}

#[test]
fn texts_may_have_line_breaks_and_names_may_have_spaces() {
    let latest = latest_table(100, 1 << 20);
    let lines = "m\\ x,a=b\\,c f=\"a b\nc\\\" 7\",g=1 3\nn f=\"\" 4\nm f=1 5";
    latest.note_lines(0, lines.as_bytes());
    for (series, expected) in [
        ("m\\ x,a=b\\,c", "m\\ x,a=b\\,c f=\"a b\nc\\\" 7\",g=1 3\n"),
        ("n", "n f=\"\" 4\n"),
        ("m", "m f=1 5\n"),
    ] {
        assert_eq!(line(&latest, 0, series).unwrap(), expected);
    }
    let mut chunk = crate::log::store::Chunk::default();
    chunk.push(7, 0, "k\\ 1", "f=\"a b\"");
    chunk.push(8, 0, "m", "f=2");
    latest.note_chunk(0, &chunk.bytes);
    assert_eq!(line(&latest, 0, "k\\ 1").unwrap(), "k\\ 1 f=\"a b\" 7\n");
    assert_eq!(line(&latest, 0, "m").unwrap(), "m f=2 8\n");
}

#[test]
fn records_since_the_start_win_over_restored_ones() {
    let latest = latest_table(100, 1 << 20);
    let block = |time: i64, fields: &str| {
        let mut chunk = crate::log::store::Chunk::default();
        chunk.push(time, 0, "m", fields);
        chunk.bytes
    };
    let reading = || line(&latest, 0, "m").unwrap();
    latest.note_restored(0, &block(5, "f=1"));
    latest.note_restored(0, &block(5, "f=2"));
    assert_eq!(reading(), "m f=2 5\n");
    latest.note_lines(0, b"m f=3 5");
    latest.note_restored(0, &block(5, "f=4"));
    assert_eq!(reading(), "m f=3 5\n");
    latest.note_restored(0, &block(6, "f=5"));
    assert_eq!(reading(), "m f=5 6\n");
}

#[test]
fn series_without_a_record_for_longest_are_evicted() {
    let latest = latest_table(16, 1 << 20);
    for time in 0..200 {
        // A series with frequent records is not evicted.
        latest.note_lines(
            0,
            format!("m,s={time} f=1 {time}\nstays f=1 {time}").as_bytes(),
        );
        assert!(all_lines(&latest, 0, 5).len() <= 16);
    }
    assert_eq!(line(&latest, 0, "stays").unwrap(), "stays f=1 199\n");
    assert_eq!(line(&latest, 0, "m,s=199").unwrap(), "m,s=199 f=1 199\n");
    assert_eq!(line(&latest, 0, "m,s=0"), None);
    let counts = latest.counts();
    assert_eq!((counts.series, counts.evicted), (16, 185));
}

#[test]
fn bytes_have_a_limit_and_an_old_reading_never_replaces_a_new_one() {
    let latest = latest_table(200, 10_000);
    let large = "x".repeat(3000);
    for s in 0..10 {
        latest.note_lines(0, format!("m,s={s} f=\"{large}\" 1").as_bytes());
        let counts = latest.counts();
        assert!(counts.bytes <= 10_000, "{counts:?}");
    }
    assert!(line(&latest, 0, "m,s=9").is_some() && line(&latest, 0, "m,s=0").is_none());
    latest.note_lines(0, b"m,s=9 f=1 2");
    let too_large = "x".repeat(20_000);
    latest.note_lines(0, format!("m,s=9 f=\"{too_large}\" 3").as_bytes());
    assert_eq!(line(&latest, 0, "m,s=9"), None);
    latest.note_lines(0, b"m,s=9 f=1 4");
    assert!(line(&latest, 0, "m,s=9").is_some());
}

#[test]
fn pages_give_every_series_of_a_topic_once() {
    let latest = latest_table(10_000, 1 << 24);
    for s in 0..3000 {
        latest.note_lines(s % 2, format!("m,s={s} f=1 1").as_bytes());
    }
    for size in [1, 7, 64, 5000] {
        let mut lines = all_lines(&latest, 1, size);
        lines.sort_by_key(|series| series[4..].parse::<u32>().unwrap());
        let expected: Vec<String> = (0..3000)
            .filter(|s| s % 2 == 1)
            .map(|s| format!("m,s={s}"))
            .collect();
        assert_eq!(lines, expected, "by {size}");
    }
    assert!(all_lines(&latest, 2, 10).is_empty());
    let nothing = latest.page(0, Cursor(u64::MAX), |_| true);
    assert_eq!(nothing, None);
}

#[test]
fn table_without_series_is_disabled() {
    let latest = latest_table(0, 1 << 20);
    latest.note_lines(0, b"m f=1 1");
    assert!(!latest.is_on() && line(&latest, 0, "m").is_none());
    assert!(all_lines(&latest, 0, 10).is_empty());
}

/// The JSON of a reading, or what stands for it.
fn json(latest: &Latest, series: &str) -> Option<String> {
    let (mut line, mut out) = (Vec::new(), Vec::new());
    let rendering = Rendering {
        line: &mut line,
        render: |time, line, out| {
            out.extend_from_slice(format!("{time}:").as_bytes());
            out.extend_from_slice(line);
            Some(())
        },
    };
    latest.read_rendered(0, series.as_bytes(), &mut out, rendering)?;
    let text = String::from_utf8(out).unwrap();
    assert!(line.is_empty() || text.contains(std::str::from_utf8(&line).unwrap()));
    let is_kept = line.is_empty();
    Some(format!("{text}{}", if is_kept { " (kept)" } else { "" }))
}

#[test]
fn a_reading_is_rendered_once_until_a_later_one_comes() {
    let latest = latest_table(100, 10_000);
    let check = |expected: &str| assert_eq!(json(&latest, "m").as_deref(), Some(expected));
    latest.note_lines(0, b"m f=1 5");
    let before = latest.counts().bytes;
    check("5:m f=1");
    check("5:m f=1 (kept)");
    assert_eq!(latest.counts().bytes, before + "5:m f=1".len() as u64);
    latest.note_lines(0, b"m f=2 6");
    check("6:m f=2");
    check("6:m f=2 (kept)");
    // An earlier one changes nothing.
    latest.note_lines(0, b"m f=3 1");
    check("6:m f=2 (kept)");
    latest.forget(0);
    assert_eq!(json(&latest, "m"), None);
    assert_eq!(latest.counts().bytes, 0);
}

#[test]
fn what_readings_were_rendered_as_takes_no_room_from_readings() {
    let latest = latest_table(100, 10_000);
    let fill = |series: u32| format!("m,s={series} f=\"{}\" 1", "x".repeat(900));
    (0..3).for_each(|series| latest.note_lines(0, fill(series).as_bytes()));
    let is_kept = |series: &str| json(&latest, series).unwrap().ends_with("(kept)");
    assert!(!is_kept("m,s=0") && is_kept("m,s=0"));
    // Half of the memory is taken now.
    assert!(!is_kept("m,s=1") && is_kept("m,s=1"));
    assert!(!is_kept("m,s=2") && !is_kept("m,s=2"));
    (3..9).for_each(|series| latest.note_lines(0, fill(series).as_bytes()));
    assert_eq!(latest.counts().evicted, 0);
    assert!(latest.counts().bytes <= 10_000);
    assert!(!is_kept("m,s=0"));
    for series in 0..9 {
        assert!(line(&latest, 0, &format!("m,s={series}")).is_some());
    }
}
