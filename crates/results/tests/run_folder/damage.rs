//! Damaged files are refused with file and line, for any damage; nothing panics.

use std::{fs, path::Path};

use waggle_results::{Limits, ReadError, Run, read_histograms};

use crate::sample;

const TRIAL: &str = "trials/0001-c02-r1";

/// Writes a run, rewrites one file by `damage`, and reads: the error must name the file and contain `expected`.
fn check(name: &str, damage: impl Fn(String) -> String, expected: &str) {
    check_of(sample::write_run, name, damage, expected);
}

/// The same with a run of a scenario.
fn check_scenario(name: &str, damage: impl Fn(String) -> String, expected: &str) {
    let write = |path: &Path| drop(sample::write_scenario_run(path));
    check_of(write, name, damage, expected);
}

fn check_of(write: impl Fn(&Path), name: &str, damage: impl Fn(String) -> String, expected: &str) {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let file = folder.path().join(name);
    fs::write(&file, damage(fs::read_to_string(&file).unwrap())).unwrap();
    let Err(error) = Run::read(folder.path()) else {
        panic!("{name}: read without `{expected}`")
    };
    let error = error.to_string();
    // If two files do not fit together, the error names their folder.
    let folder = file.parent().unwrap().display().to_string();
    assert!(error.contains(&folder), "{name}: {error}");
    assert!(
        error.contains(expected),
        "{name}: expected `{expected}`, found `{error}`"
    );
}

fn replace(from: &'static str, to: &'static str) -> impl Fn(String) -> String {
    move |text| {
        assert!(text.contains(from), "{from} is not in the file");
        text.replacen(from, to, 1)
    }
}

#[test]
fn run_json() {
    check(
        "run.json",
        |_| String::new(),
        "line 1, column 0: EOF while parsing a value",
    );
    check(
        "run.json",
        |text| text[..text.len() / 2].to_owned(),
        "EOF while parsing",
    );
    check(
        "run.json",
        replace("\"format\": 1", "\"format\": 2"),
        "run.json: written in format 2; this waggle reads format 1",
    );
    check(
        "run.json",
        replace("\"format\": 1", "\"format\": 99, \"new\": {}"),
        "written in format 99",
    );
    check(
        "run.json",
        replace("\"format\": 1", "\"format\": 0"),
        "written in format 0",
    );
    check(
        "run.json",
        replace("\"format\": 1", "\"format\": \"1\""),
        "invalid type: string",
    );
    check(
        "run.json",
        replace("\"seed\"", "\"sead\""),
        "line 7, column 8: unknown field `sead`",
    );
    check(
        "run.json",
        replace("\"study\": \"ingest\"", "\"seed\": 1, \"seed\": 2"),
        "duplicate field `seed`",
    );
    check(
        "run.json",
        replace("\"cell\": 1", "\"cell\": 2"),
        "cell 2 is twice in `cells`",
    );
    check(
        "run.json",
        replace("\"cell\": 1", "\"cell\": 7"),
        "there is no such cell",
    );
    check(
        "run.json",
        replace("\"repetition\": 2", "\"repetition\": 1"),
        "is twice in `order`",
    );
    check(
        "run.json",
        |text| text.replace("\"cpus\": 2", "\"cpus\": -2"),
        "invalid value: integer `-2`",
    );
    check(
        "run.json",
        |text| text.replacen("\"seed\"", &format!("\"deep\": {}", "[".repeat(100_000)), 1),
        "line 7, column 100011: expected value",
    );
}

#[test]
fn words_of_closed_sets() {
    check(
        "run.json",
        replace("\"shuffled\"", "\"sorted\""),
        "unknown variant `sorted`, expected `shuffled` or `as_listed`",
    );
    check(
        "run.json",
        replace("\"==\"", "\"!=\""),
        "unknown variant `!=`, expected one of `<`, `<=`, `>`, `>=`, `==`",
    );
}

#[test]
fn trial_json() {
    let file = "trials/0001-c02-r1/trial.json";
    check(file, |_| "{}".into(), "missing field `format`");
    check(
        file,
        |text| {
            let start = text.find("  \"generator\": {").unwrap();
            let end = start + text[start..].find("\n  },\n").unwrap() + "\n  },\n".len();
            format!("{}{}", &text[..start], &text[end..])
        },
        "missing field `generator` in a trial that was not imported",
    );
    check(
        file,
        replace("\"format\": 1", "\"format\": 2"),
        "trial.json: written in format 2; this waggle reads format 1",
    );
    check(
        file,
        replace("\"status_503\"", "\"status_of_503\""),
        "\"status_of_503\" is not a kind of failure",
    );
    check(
        file,
        replace("\"position\": 1", "\"position\": 2"),
        "is not in the order of run.json",
    );
    check(
        file,
        replace("\"repetition\": 1", "\"repetition\": 9"),
        "is not in the order of run.json",
    );
    check(
        file,
        replace("\"end\": \"completed\"", "\"end\": \"perhaps\""),
        "unknown variant `perhaps`",
    );
    check(
        file,
        replace("\"start_s\": 0.5", "\"start_s\": 5.0"),
        "phase Measure ends before it starts",
    );
    check(
        file,
        replace("\"sent\": 900", "\"sent\": 1e400"),
        "number out of range",
    );
    check(
        file,
        replace("\"sent\": 900", "\"sent\": 9007199254740993"),
        "9007199254740993 is no count: 9007199254740992 at most is read",
    );
}

#[test]
fn rows() {
    let file = "trials/0001-c02-r1/intervals.ndjson";
    check(
        file,
        |text| text.trim_end().to_owned(),
        "line 6, column 0: the last line is cut short",
    );
    check(
        file,
        |text| {
            text.lines()
                .take(3)
                .map(|line| format!("{line}\n"))
                .collect()
        },
        "3 rows in intervals.ndjson",
    );
    check(
        file,
        |text| text.replacen("\"start_s\":0.5", "\"start_s\":0.25", 1),
        "line 3, column 0: `start_s` is not after",
    );
    check(
        file,
        |text| text.replacen("{\"start_s\":0.75", "\n{\"start_s\":0.75", 1),
        "line 4, column 0: EOF",
    );
    check(
        file,
        |text| text.replacen("\"in_flight\":", "\"inflight\":", 1),
        "line 1, column ",
    );
    check(
        "trials/0001-c02-r1/resources.ndjson",
        replace("\"threads\":4", "\"threads\":4,\"threads\":4"),
        "duplicate field `threads`",
    );
    check(
        "trials/0001-c02-r1/backlog.ndjson",
        replace("\"visible\":200", "\"visible\":null"),
        "invalid type: null",
    );
}

#[test]
fn logs() {
    let file = "trials/0001-c02-r1/response_time.hlog";
    check(
        file,
        |text| text.trim_end().to_owned(),
        "line 11, column 0: the last line is cut short",
    );
    check(
        file,
        |text| {
            text.lines()
                .take(8)
                .map(|line| format!("{line}\n"))
                .collect()
        },
        "3 histograms, but 6 rows in",
    );
    check(file, |_| String::new(), "0 histograms, but 6 rows in");
    check(
        file,
        replace("Tag=", "Tug="),
        "line 6, column 0: expected `Tag=…` first",
    );
    check(
        file,
        replace(",0.250000,0.250000", ",x,0.250000"),
        "line 7, column 0: `x` is not a number from 0 to",
    );
    check(
        file,
        replace(",0.250000,0.250000", ",NaN,0.250000"),
        "`NaN` is not a number from 0 to",
    );
    check(
        file,
        replace(",0.500000,0.250000", ",0.250000,0.250000"),
        "line 8, column 0: interval at 0.25 s is not after",
    );
    check(
        file,
        |text| text.replacen("HISTFAAA", "HISTFAA!", 1),
        "the histogram is not base64",
    );
    check(
        file,
        |text| text.replacen("HISTFAAA", "AAAAFAAA", 1),
        "not in HdrHistogram's V2 deflate format",
    );
    check(
        file,
        |text| text.replacen("HISTFAAA", "HISTFBAA", 1),
        "length is not the one it names",
    );
    check(
        file,
        replace("#[StartTime: 1", "#[StartTime: x"),
        "line 3, column 0: `x",
    );
}

#[test]
fn steps() {
    let trial = "trials/0001-c02-r1/trial.json";
    check_scenario(
        trial,
        replace("\"name\": \"login\"", "\"name\": \"logon\""),
        "0 histograms, but 6 rows in",
    );
    check_scenario(
        trial,
        |text| {
            let from = text.find("\"steps\"").unwrap();
            let to = text.find("\"sessions\"").unwrap();
            format!("{}{}", &text[..from], &text[to..])
        },
        "line 1, column 0: counts of 2 steps, but 0 steps in trial.json",
    );
    check_scenario(
        trial,
        replace("\"sent\": 400", "\"sent\": -1"),
        "invalid value: integer `-1`",
    );
    check_scenario(
        "trials/0001-c02-r1/intervals.ndjson",
        |text| {
            let from = text.find(",\"steps\":").unwrap();
            let to = text.find(",\"sessions\":").unwrap();
            format!("{}{}", &text[..from], &text[to..])
        },
        "line 1, column 0: counts of 0 steps, but 2 steps in trial.json",
    );
    check_scenario(
        "trials/0001-c02-r1/steps/02-list_orders__all/failed_time.hlog",
        replace("Tag=", "Tug="),
        "line 6, column 0: expected `Tag=…` first",
    );
    check_scenario(
        "trials/0001-c02-r1/connect_time.hlog",
        |_| String::new(),
        "0 histograms, but 6 rows in",
    );
    check_scenario(
        "run.json",
        replace("\"flows\"", "\"streams\""),
        "unknown field `streams`",
    );
}

/// Zlib's checksum detects a flipped letter anywhere, unless the bytes have the same meaning.
#[test]
fn a_flipped_letter_in_a_histogram() {
    let text = include_str!("../golden/trials/0001-c02-r1/response_time.hlog");
    let whole = read_histograms(text.as_bytes())
        .unwrap()
        .merge_range(0.0, 9.0);
    let first = text.find("HISTFAAA").unwrap();
    let length = text[first..].find('\n').unwrap();
    let mut refused = 0;
    for position in first..first + length {
        let letter = if text.as_bytes()[position] == b'A' {
            "B"
        } else {
            "A"
        };
        let flipped = format!("{}{letter}{}", &text[..position], &text[position + 1..]);
        match read_histograms(flipped.as_bytes()) {
            Err(error) => {
                assert!(error.to_string().starts_with("line 6, "), "{error}");
                refused += 1;
            }
            Ok(log) => assert_eq!(
                log.merge_range(0.0, 9.0),
                whole,
                "letter {}",
                position - first
            ),
        }
    }
    assert!(refused > length * 9 / 10, "{refused} of {length}");
}

#[test]
fn a_file_that_is_not_text() {
    let folder = tempfile::tempdir().unwrap();
    sample::write_run(folder.path());
    fs::write(
        folder.path().join(TRIAL).join("backlog.ndjson"),
        b"{}\n{\xff}\n",
    )
    .unwrap();
    let error = Run::read(folder.path()).unwrap_err().to_string();
    assert!(
        error.contains("backlog.ndjson: line 2, column 0: not UTF-8"),
        "{error}"
    );
}

#[test]
fn a_folder_with_another_trials_name() {
    let folder = tempfile::tempdir().unwrap();
    sample::write_run(folder.path());
    fs::rename(
        folder.path().join(TRIAL),
        folder.path().join("trials/0003-c01-r2"),
    )
    .unwrap();
    let error = Run::read(folder.path()).unwrap_err().to_string();
    assert!(
        error.contains("trial.json is that of 0001-c02-r1"),
        "{error}"
    );
}

#[test]
fn files_that_are_too_large() {
    let folder = tempfile::tempdir().unwrap();
    sample::write_run(folder.path());
    let check = |limits: Limits, name: &str| match Run::read_within(folder.path(), limits) {
        Err(ReadError::TooLarge { path, .. }) => {
            assert!(path.ends_with(name), "{}", path.display())
        }
        other => panic!("{name}: {:?}", other.map(|run| run.trials.len())),
    };
    check(
        Limits {
            document_max_bytes: 100,
            ..Limits::default()
        },
        "run.json",
    );
    check(
        Limits {
            series_max_bytes: 100,
            ..Limits::default()
        },
        "intervals.ndjson",
    );
    assert!(Run::read(folder.path()).is_ok());
}

#[test]
fn a_run_without_its_study() {
    let folder = tempfile::tempdir().unwrap();
    sample::write_run(folder.path());
    fs::remove_file(folder.path().join("study.yaml")).unwrap();
    let error = Run::read(folder.path()).unwrap_err().to_string();
    assert!(
        error.starts_with("cannot read") && error.contains("study.yaml"),
        "{error}"
    );
}

#[test]
fn links_and_devices_are_not_read() {
    let refusal = |name: &str, put: &dyn Fn(&Path, &Path)| {
        let folder = tempfile::tempdir().unwrap();
        sample::write_scenario_run(folder.path());
        let (file, aside) = (folder.path().join(name), folder.path().join("aside"));
        fs::rename(&file, &aside).unwrap();
        put(&aside, &file);
        let read = Run::read(folder.path()).map(|run| run.path);
        read.unwrap_err().to_string()
    };
    let link = |aside: &Path, file: &Path| std::os::unix::fs::symlink(aside, file).unwrap();
    let device = |_: &Path, file: &Path| std::os::unix::fs::symlink("/dev/zero", file).unwrap();
    let socket =
        |_: &Path, file: &Path| drop(std::os::unix::net::UnixListener::bind(file).unwrap());
    let intervals = format!("{TRIAL}/intervals.ndjson");
    for name in ["run.json", &format!("{TRIAL}/trial.json"), &intervals] {
        let why = refusal(name, &link);
        assert!(why.contains("it is a link, a device or a pipe"), "{why}");
    }
    assert!(refusal(&intervals, &device).contains("it is a link"));
    assert!(refusal(&intervals, &socket).contains("it is a link"));
    for name in [TRIAL, &format!("{TRIAL}/steps")] {
        let why = refusal(name, &link);
        assert!(why.contains("it is a link"), "{why}");
    }
}
