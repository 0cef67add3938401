//! A corpus of line protocol, made from its published grammar: text and expected value are built together from the same parts, so
//! that what is expected comes from no parser. Escapes, texts, numbers, booleans, times and white space are exhaustive up to a
//! length; whole texts of several lines are drawn with a seed.

// long: tables of parts, one for each kind of them

use super::{read, write};
use crate::{FieldValue, Precision, Record};

/// A piece of a name or a text: as written, and what it stands for.
type Atom = (&'static str, &'static str);

/// Pieces of a tag key, tag value or field key.
const NAME: [Atom; 10] = [
    ("a", "a"),
    ("é😀", "é😀"),
    (r"\,", ","),
    (r"\=", "="),
    (r"\ ", " "),
    ("\"", "\""),
    (r"\n", r"\n"),
    (r"\\a", r"\\a"),
    ("#", "#"),
    (r"\-", r"\-"),
];
/// Those of a measurement, which has an equals sign as it is; a backslash before it is one.
const MEASUREMENT: [Atom; 10] = [
    ("a", "a"),
    ("é😀", "é😀"),
    (r"\,", ","),
    (r"\=", r"\="),
    ("=", "="),
    (r"\ ", " "),
    ("\"", "\""),
    (r"\n", r"\n"),
    (r"\\a", r"\\a"),
    (r"\-", r"\-"),
];
/// Those of a text in quotes.
const TEXT: [Atom; 13] = [
    ("a", "a"),
    ("é😀", "é😀"),
    (" ", " "),
    (",", ","),
    ("=", "="),
    ("#", "#"),
    ("\n", "\n"),
    ("\r\n", "\r\n"),
    ("\t", "\t"),
    ("\u{1}", "\u{1}"),
    (r#"\""#, "\""),
    (r"\\", r"\"),
    (r"\n", r"\n"),
];

/// Sequences of one to three atoms.
fn sequences(atoms: &[Atom]) -> Vec<(String, String)> {
    let mut all = vec![(String::new(), String::new())];
    let mut last = all.clone();
    for _ in 0..3 {
        let longer = last.iter().flat_map(|(written, value)| {
            let join =
                move |(more, meant): &Atom| (format!("{written}{more}"), format!("{value}{meant}"));
            atoms.iter().map(join)
        });
        last = longer.collect();
        all.extend(last.iter().cloned());
    }
    all.remove(0);
    all
}

/// A text with its records, or with the lines of its mistakes.
struct Case {
    text: String,
    expected: Result<Vec<Record>, Vec<usize>>,
}

fn accepted_case(text: impl Into<String>, record: Record) -> Case {
    Case {
        text: text.into(),
        expected: Ok(vec![record]),
    }
}

fn refused_case(text: impl Into<String>) -> Case {
    Case {
        text: text.into(),
        expected: Err(vec![1]),
    }
}

fn record() -> Record {
    Record {
        measurement: "m".into(),
        tags: Vec::new(),
        fields: vec![("f".into(), FieldValue::Float(1.0))],
        time_ns: None,
    }
}

fn with_value(value: FieldValue) -> Record {
    Record {
        fields: vec![("f".into(), value)],
        ..record()
    }
}

fn names() -> Vec<Case> {
    let mut cases = Vec::new();
    for (written, value) in sequences(&MEASUREMENT) {
        let record = Record {
            measurement: value,
            ..record()
        };
        cases.push(accepted_case(format!("{written} f=1"), record));
    }
    for (written, value) in sequences(&NAME) {
        let tags = |key: &str, value: &str| Record {
            tags: vec![(key.into(), value.into())],
            ..record()
        };
        cases.push(accepted_case(
            format!("m,{written}=x f=1"),
            tags(&value, "x"),
        ));
        cases.push(accepted_case(
            format!("m,x={written} f=1"),
            tags("x", &value),
        ));
        let fields = Record {
            fields: vec![(value, FieldValue::Float(1.0))],
            ..record()
        };
        cases.push(accepted_case(format!("m {written}=1"), fields));
    }
    cases
}

/// A control character at the start, within and at the end of each name. A line end is none: it ends the line.
fn control_characters() -> Vec<Case> {
    let controls = (0..32u8).chain([127]).filter(|&byte| byte != b'\n');
    let mut cases = Vec::new();
    for control in controls.map(char::from) {
        for name in [
            format!("{control}ab"),
            format!("a{control}b"),
            format!("ab{control}"),
        ] {
            cases.extend([
                refused_case(format!("{name} f=1")),
                refused_case(format!("m,{name}=x f=1")),
                refused_case(format!("m,x={name} f=1")),
                refused_case(format!("m {name}=1")),
            ]);
        }
    }
    cases
}

fn quoted_texts() -> Vec<Case> {
    let mut cases = vec![accepted_case(
        "m f=\"\"",
        with_value(FieldValue::Text(String::new())),
    )];
    for (written, value) in sequences(&TEXT) {
        let record = with_value(FieldValue::Text(value));
        cases.push(accepted_case(format!("m f=\"{written}\""), record));
    }
    let open = ["m f=\"", r#"m f="\""#, r#"m f="a\\\""#];
    cases.extend(open.map(refused_case));
    let closed = [r#"m f="a"b"#, r#"m f=a"b""#, r#"m f="a""b""#, "m f='a'"];
    cases.extend(closed.map(refused_case));
    cases
}

/// Numbers whose value is exact: a few digits, with one division or multiplication by a power of ten.
fn floats() -> Vec<Case> {
    let wholes = [
        ("", 0.0),
        ("0", 0.0),
        ("7", 7.0),
        ("12", 12.0),
        ("007", 7.0),
    ];
    let fractions = [
        ("", 0.0),
        (".", 0.0),
        (".0", 0.0),
        (".5", 0.5),
        (".250", 0.25),
    ];
    let exponents = [
        ("", 1.0, 1.0),
        ("e0", 1.0, 1.0),
        ("E3", 1_000.0, 1.0),
        ("e+2", 100.0, 1.0),
        ("e-1", 1.0, 10.0),
        ("E-04", 1.0, 10_000.0),
    ];
    let mut cases = Vec::new();
    for (whole, of_whole) in wholes {
        for (fraction, of_fraction) in fractions {
            for (exponent, factor, divisor) in exponents {
                for (sign, of_sign) in [("", 1.0), ("-", -1.0), ("+", f64::NAN), ("--", f64::NAN)] {
                    let text = format!("m f={sign}{whole}{fraction}{exponent}");
                    let has_digits = !whole.is_empty() || fraction.len() > 1;
                    let value = of_sign * (of_whole + of_fraction) * factor / divisor;
                    cases.push(if has_digits && value.is_finite() {
                        accepted_case(text, with_value(FieldValue::Float(value)))
                    } else {
                        refused_case(text)
                    });
                }
            }
        }
    }
    let wrong = [
        "1e", "1e+", "1e-", "e5", ".e5", "1.2.3", "1e5e5", "1e5.0", "1_000", "0x1f", "1f", "1d",
        "1e309", "-1e309", "NaN", "nan", "Inf", "inf", "-inf", "Infinity", "1,5i", "1 .5", "١",
    ];
    cases.extend(wrong.map(|value| refused_case(format!("m f={value}"))));
    cases
}

fn integers() -> Vec<Case> {
    let mut cases = Vec::new();
    let signed = [0, 1, 9, 10, 4_294_967_296, i64::MAX - 1, i64::MAX];
    for value in signed
        .into_iter()
        .flat_map(|value| [value, -value, -1 - value])
    {
        for zeros in ["", "0", "0000000000000000000000000"] {
            let sign = if value < 0 { "-" } else { "" };
            let text = format!("m f={sign}{zeros}{}i", value.unsigned_abs());
            cases.push(accepted_case(text, with_value(FieldValue::Integer(value))));
        }
    }
    for value in [0, 1, 1 << 63, u64::MAX - 1, u64::MAX] {
        for zeros in ["", "0", "0000000000000000000000000"] {
            let text = format!("m f={zeros}{value}u");
            cases.push(accepted_case(text, with_value(FieldValue::Unsigned(value))));
        }
    }
    let wrong = [
        "9223372036854775808i",
        "-9223372036854775809i",
        "99999999999999999999999i",
        "18446744073709551616u",
        "99999999999999999999999u",
        "-1u",
        "-0u",
        "+1i",
        "+1u",
        "i",
        "u",
        "-i",
        "1.0i",
        "1.0u",
        "1e3i",
        "1ii",
        "1iu",
        "1I",
        "1U",
        "0x1i",
        "1i2",
    ];
    cases.extend(wrong.map(|value| refused_case(format!("m f={value}"))));
    cases
}

/// Every spelling of both words in large and small letters, and their beginnings.
fn booleans() -> Vec<Case> {
    let mut cases = Vec::new();
    for (word, value) in [("true", true), ("false", false)] {
        for length in 1..=word.len() {
            for capitals in 0..1_u32 << length {
                let mut text = String::new();
                for (index, letter) in word[..length].chars().enumerate() {
                    text.push(match capitals >> index & 1 {
                        0 => letter,
                        _ => letter.to_ascii_uppercase(),
                    });
                }
                let is_word = length == 1
                    || (length == word.len()
                        && (capitals == 0 || capitals == 1 || capitals == (1 << length) - 1));
                cases.push(match is_word {
                    true => accepted_case(
                        format!("m f={text}"),
                        with_value(FieldValue::Boolean(value)),
                    ),
                    false => refused_case(format!("m f={text}")),
                });
            }
        }
    }
    cases.extend(
        ["yes", "truee", "tt", "1t", "t1", "true\"", "null", "None"]
            .map(|word| refused_case(format!("m f={word}"))),
    );
    cases
}

fn times() -> Vec<Case> {
    let times = [0, 1, 1_556_813_561_098_000_000, crate::TIME_MAX_NS];
    let mut cases = Vec::new();
    for time in times.into_iter().flat_map(|time| [time, -time]) {
        let record = Record {
            time_ns: Some(time),
            ..record()
        };
        cases.push(accepted_case(format!("m f=1 {time}"), record));
    }
    let wrong = [
        "1.0",
        "1e3",
        "1i",
        "1u",
        "+1",
        "--1",
        "-",
        "t",
        "\"1\"",
        "1 2",
        "1,f=2",
        "9223372036854775807",
        "-9223372036854775808",
        "9223372036854775808",
        "2020-01-01T00:00:00Z",
        "0x1",
        "1\t",
        "\t1",
    ];
    cases.extend(wrong.map(|time| refused_case(format!("m f=1 {time}"))));
    cases
}

/// Spaces before, between and after the parts, and every line end.
fn white_space() -> Vec<Case> {
    let mut cases = Vec::new();
    for indent in ["", " ", "   "] {
        for between in [" ", "  "] {
            for time in [None, Some(" "), Some("   ")] {
                for after in ["", " ", "  "] {
                    for end in ["", "\n", "\r\n", "\r", "\n\n", "\n \t\n"] {
                        let written = time.map_or_else(String::new, |spaces| format!("{spaces}5"));
                        let record = Record {
                            time_ns: time.map(|_| 5),
                            ..record()
                        };
                        let text = format!("{indent}m{between}f=1{written}{after}{end}");
                        cases.push(accepted_case(text, record));
                    }
                }
            }
        }
    }
    let none = [
        "",
        "\n",
        "\r\n",
        "# a comment",
        "  # m f=1\n",
        "#\n#\n",
        " \t\r\n",
    ];
    cases.extend(none.map(|text| Case {
        text: text.to_owned(),
        expected: Ok(Vec::new()),
    }));
    cases.push(accepted_case("\u{feff}m f=1", record()));
    let wrong = [
        "m\tf=1",
        "m f=1\t",
        "m f= 1",
        "m f =1",
        "m, t=a f=1",
        "m,t =a f=1",
        "m,t= a f=1",
        "m f=1, g=2",
        "m f=1 ,g=2",
    ];
    cases.extend(wrong.map(refused_case));
    cases
}

fn structures() -> Vec<Case> {
    [
        "m",
        "m,t=a",
        "m ",
        "m,t=a ",
        ",t=a f=1",
        " ,t=a f=1",
        "m, f=1",
        "m,t f=1",
        "m,t= f=1",
        "m,=a f=1",
        "m,t=a=b f=1",
        "m,t=a, f=1",
        "m,,t=a f=1",
        "m =1",
        "m f=",
        "m f",
        "m f=1,",
        "m f=1,,g=1",
        "m ,f=1",
        "m f==1",
        "m f=1=2",
        "m,t=a,t=b f=1",
        "m,t=a,u=b,t=c f=1",
        "m f=1,f=2",
        "m f=1,g=2,f=3",
        "m f=1 g=2",
        "m,t=a 5",
    ]
    .map(refused_case)
    .into()
}

/// Numbers of `SplitMix64`.
struct Random(u64);

impl Random {
    fn number_below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((word ^ (word >> 31)) % limit as u64).expect("it is below the limit")
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.number_below(from.len())].clone()
    }

    /// A name with a number that makes it unique.
    fn name(&mut self, atoms: &[Atom], index: usize) -> (String, String) {
        let (mut written, mut value) = (format!("n{index}"), format!("n{index}"));
        for _ in 0..self.number_below(4) {
            let (more, meant) = self.pick(atoms);
            written += more;
            value += meant;
        }
        (written, value)
    }

    fn value(&mut self) -> (String, FieldValue) {
        match self.number_below(5) {
            0 => {
                let value =
                    i64::try_from(self.number_below(1 << 40)).expect("it is small") - (1 << 39);
                (format!("{value}i"), FieldValue::Integer(value))
            }
            1 => {
                let value = self.number_below(1 << 40) as u64;
                (format!("{value}u"), FieldValue::Unsigned(value))
            }
            2 => {
                let quarters = u32::try_from(self.number_below(1 << 20)).expect("it is small");
                let parts = [".00", ".25", ".50", ".75"];
                let part = parts[usize::try_from(quarters % 4).expect("it is below 4")];
                let value = f64::from(quarters) / 4.0;
                (format!("{}{part}", quarters / 4), FieldValue::Float(value))
            }
            3 => {
                let (text, value) = self.pick(&[
                    ("t", true),
                    ("True", true),
                    ("FALSE", false),
                    ("false", false),
                ]);
                (text.to_owned(), FieldValue::Boolean(value))
            }
            _ => {
                let (mut written, mut value) = (String::from("\""), String::new());
                for _ in 0..self.number_below(6) {
                    let (more, meant) = self.pick(&TEXT);
                    written += more;
                    value += meant;
                }
                (written + "\"", FieldValue::Text(value))
            }
        }
    }

    fn line(&mut self) -> (String, Record) {
        let (mut text, measurement) = self.name(&MEASUREMENT, 0);
        let mut record = Record {
            measurement,
            tags: Vec::new(),
            fields: Vec::new(),
            time_ns: None,
        };
        for index in 0..self.number_below(20) {
            let ((key, of_key), (value, of_value)) = (self.name(&NAME, index), self.name(&NAME, 0));
            text += &format!(",{key}={value}");
            record.tags.push((of_key, of_value));
        }
        text += self.pick(&[" ", "  "]);
        for index in 0..=self.number_below(20) {
            let ((key, of_key), (value, of_value)) = (self.name(&NAME, index), self.value());
            text += &format!("{}{key}={value}", if index > 0 { "," } else { "" });
            record.fields.push((of_key, of_value));
        }
        if self.number_below(2) == 0 {
            let time =
                i64::try_from(self.number_below(1 << 60)).expect("it is below 2^60") - (1 << 59);
            text += &format!(" {time}");
            record.time_ns = Some(time);
        }
        (text, record)
    }
}

/// Texts of several lines, with comments and blank lines between them; some have lines that are refused.
fn mixed_texts() -> Vec<Case> {
    let mut random = Random(0x5EED);
    let wrong: Vec<String> = structures().into_iter().map(|case| case.text).collect();
    (0..1_500)
        .map(|index| mixed_text(&mut random, if index % 3 == 0 { &wrong } else { &[] }))
        .collect()
}

/// Up to five lines, some of them of `wrong`.
fn mixed_text(random: &mut Random, wrong: &[String]) -> Case {
    let (mut text, mut records, mut mistakes, mut line) =
        (String::new(), Vec::new(), Vec::new(), 1);
    for _ in 0..random.number_below(6) {
        match random.number_below(if wrong.is_empty() { 4 } else { 5 }) {
            0 => text += random.pick(&["# a comment, with=signs \"1", "", "  ", " \t"]),
            4 => {
                text += &random.pick(wrong);
                mistakes.push(line);
            }
            _ => {
                let (written, record) = random.line();
                line += written.matches('\n').count();
                text += &written;
                records.push(record);
            }
        }
        text += random.pick(&["\n", "\r\n"]);
        line += 1;
    }
    let expected = if mistakes.is_empty() {
        Ok(records)
    } else {
        Err(mistakes)
    };
    Case { text, expected }
}

#[track_caller]
fn check(cases: Vec<Case>, at_least: usize) {
    assert!(cases.len() >= at_least, "{} cases", cases.len());
    for Case { text, expected } in cases {
        let result = read(text.as_bytes(), Precision::Nanoseconds);
        let lines =
            |mistakes: Vec<crate::Mistake>| mistakes.iter().map(|mistake| mistake.line).collect();
        assert_eq!(result.map_err(lines), expected, "{text:?}");
        let mut written = Vec::new();
        for record in expected.iter().flatten() {
            write(record, &mut written).unwrap_or_else(|problem| panic!("{text:?}: {problem}"));
        }
        let again = read(&written, Precision::Nanoseconds);
        assert_eq!(
            again,
            Ok(expected.unwrap_or_default()),
            "written again: {text:?}"
        );
    }
}

#[test]
fn escapes_of_names() {
    check(names(), 4_400);
}

#[test]
fn control_characters_in_names() {
    check(control_characters(), 380);
}

#[test]
fn texts_in_quotes() {
    check(quoted_texts(), 2_300);
}

#[test]
fn numbers_and_booleans() {
    check(floats(), 600);
    check(integers(), 90);
    check(booleans(), 100);
}

#[test]
fn times_and_white_space() {
    check(times(), 25);
    check(white_space(), 300);
}

#[test]
fn structures_that_are_refused() {
    check(structures(), 25);
}

#[test]
fn texts_of_several_lines() {
    check(mixed_texts(), 1_500);
}
