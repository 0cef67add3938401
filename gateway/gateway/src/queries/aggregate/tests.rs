//! Limits of windows, and parts of a database that combine.

use waggle_record::line_protocol;

use super::*;

fn windows(aggregate: Aggregate, (rows_max, values_max): (usize, usize)) -> Windows {
    let second = Duration::from_nanos(10);
    let limits = Limits {
        rows: rows_max,
        bytes: 1000,
        values: values_max,
    };
    Windows::new(aggregate, Some(second), limits)
}

fn rows(windows: Windows) -> String {
    String::from_utf8(windows.into_rows()).unwrap()
}

#[test]
fn a_window_without_room_for_a_field_is_no_row() {
    let check = |values_max: usize, expected: &str| {
        let mut windows = windows(Aggregate::Sum, (9, values_max));
        let records = ["m a=1i,b=2i 5", "m t=\"x\",a=3i,b=4i 15", "m a=5i 25"];
        let mut is_all = true;
        for text in records {
            let line = line_protocol::lines(text.as_bytes()).next().unwrap();
            let line = line.unwrap();
            let time = line.time.unwrap().value;
            is_all &= windows.add(time, &line, &Selection::default());
        }
        assert_eq!((rows(windows).as_str(), is_all), (expected, values_max > 4));
    };
    let first = "{\"time\":0,\"fields\":{\"a\":1,\"b\":2}},";
    let second = "{\"time\":10,\"fields\":{\"a\":3}},";
    check(2, first);
    check(3, &[first, second].concat());
    let second = "{\"time\":10,\"fields\":{\"a\":3,\"b\":4}},";
    check(4, &[first, second].concat());
    let third = "{\"time\":20,\"fields\":{\"a\":5}},";
    check(5, &[first, second, third].concat());
}

#[test]
fn texts_count_into_the_size_of_an_answer() {
    let check = |aggregate: Aggregate, texts: &[&str], expected: usize| {
        let mut windows = windows(aggregate, (100, 100));
        let mut count = 0;
        for (number, text) in (0..).zip(texts) {
            let line = format!("m f=\"{text}\" {}", number * 10);
            let line = line_protocol::lines(line.as_bytes())
                .next()
                .unwrap()
                .unwrap();
            count += usize::from(windows.add(number * 10, &line, &Selection::default()));
        }
        assert_eq!(count, expected, "{aggregate:?}");
        let memory = windows.memory();
        let rows = rows(windows).len();
        assert!(rows <= memory, "{rows} bytes of rows, {memory} in memory");
    };
    let long = "x".repeat(400);
    let texts = [&*long; 5];
    for aggregate in [Aggregate::First, Aggregate::Last] {
        check(aggregate, &texts, 3);
        check(aggregate, &["\u{1}".repeat(100).as_str(); 5], 2);
    }
    check(Aggregate::Count, &texts, 5);
    check(Aggregate::Sum, &texts, 5);
}

#[test]
fn a_text_that_takes_the_place_of_another_one_counts_instead_of_it() {
    let mut windows = windows(Aggregate::Last, (100, 100));
    let mut add = |length: usize| {
        let line = format!("m f=\"{}\" 5", "x".repeat(length));
        let line = line_protocol::lines(line.as_bytes())
            .next()
            .unwrap()
            .unwrap();
        windows.add(5, &line, &Selection::default())
    };
    for _ in 0..20 {
        assert!(add(900) && add(10));
    }
    assert!(add(2000) && !add(10));
}

#[test]
fn parts_of_early_windows_replace_late_ones_if_they_are_of_use() {
    let whole = |value: i64| Part::Number(FieldValue::Integer(value));
    let text = || Part::Number(FieldValue::Text("x".to_owned()));
    let check = |values_max: usize, parts: &[(i64, Part, bool)], expected: &[(i64, i64)]| {
        let mut windows = windows(Aggregate::Sum, (2, values_max));
        for (time, part, is_all) in parts {
            let all = windows.add_part(*time, "a", part.clone());
            assert_eq!(all, *is_all, "{time} {part:?}");
        }
        let row = |(time, sum)| format!("{{\"time\":{time},\"fields\":{{\"a\":{sum}}}}},");
        let expected: String = expected.iter().copied().map(row).collect();
        assert_eq!(rows(windows), expected);
    };
    let two = [(20, whole(1), true), (30, whole(2), true)];
    let and = |more: &[(i64, Part, bool)]| [&two[..], more].concat();
    check(9, &two, &[(20, 1), (30, 2)]);
    check(9, &and(&[(30, whole(5), true)]), &[(20, 1), (30, 7)]);
    check(9, &and(&[(10, whole(3), false)]), &[(10, 3), (20, 1)]);
    check(9, &and(&[(40, whole(3), false)]), &[(20, 1), (30, 2)]);
    // A sum ignores texts: no window is lost for one.
    check(9, &and(&[(10, text(), true)]), &[(20, 1), (30, 2)]);
    check(9, &and(&[(40, text(), true)]), &[(20, 1), (30, 2)]);
    // Values of a window that was dropped leave room.
    check(2, &and(&[(10, whole(3), false)]), &[(10, 3), (20, 1)]);
    check(1, &[two[0].clone(), (10, whole(3), false)], &[(20, 1)]);
}
