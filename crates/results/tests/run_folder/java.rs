//! HdrHistogram's own tool reads what we write: the promise of the `.hlog` files.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use waggle_results::RunFolder;

use crate::sample;

const HOW: &str = "mvn -q dependency:copy -Dartifact=org.hdrhistogram:HdrHistogram:2.2.2 \
                   -DoutputDirectory=$HOME/.cache/waggle/hdrhistogram-2.2.2";

fn jar() -> PathBuf {
    let home = std::env::var_os("HOME").unwrap_or_default();
    let path = std::env::var_os("WAGGLE_HDR_JAR").map_or_else(
        || Path::new(&home).join(".cache/waggle/hdrhistogram-2.2.2/HdrHistogram-2.2.2.jar"),
        PathBuf::from,
    );
    assert!(
        path.is_file(),
        "{} is not there: get it by `{HOW}`, or name another place by WAGGLE_HDR_JAR",
        path.display()
    );
    path
}

/// What `HistogramLogProcessor` prints of a log, in milliseconds.
fn process_log(log: &Path, more: &[&str]) -> String {
    let output = Command::new("java")
        .arg("-cp")
        .arg(jar())
        .args([
            "org.HdrHistogram.HistogramLogProcessor",
            "-tag",
            sample::TAG,
            "-outputValueUnitRatio",
            "1000",
            "-i",
        ])
        .arg(log)
        .args(more)
        .output()
        .expect("needs a Java runtime: apt-get install default-jre-headless");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

#[test]
fn the_java_log_processor_prints_our_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let info = sample::run_info();
    let run = RunFolder::create(
        &folder.path().join("run"),
        &info,
        sample::STUDY,
        sample::SYSTEM,
    )
    .unwrap();
    let mut writer = run.begin(sample::key(2, 1)).unwrap();
    let written = sample::write_rows(&mut writer, 1);
    let trial = writer
        .finish(&sample::trial_info(sample::key(2, 1), 1))
        .unwrap();

    let mut all = written.response_time[0].clone();
    for histogram in &written.response_time[1..] {
        all.add(histogram).unwrap();
    }
    check(&trial.join("response_time.hlog"), &[], &all);
    check(
        &trial.join("delivery_delay.hlog"),
        &[],
        &written.delivery_delay,
    );
    // Seconds count from the start of the load: the third interval alone.
    check(
        &trial.join("response_time.hlog"),
        &["-start", "0.45", "-end", "0.55"],
        &written.response_time[2],
    );
}

fn check(log: &Path, more: &[&str], expected: &hdrhistogram::Histogram<u64>) {
    let text = process_log(log, more);
    #[expect(clippy::cast_precision_loss, reason = "microseconds of the sample")]
    let ms = |us: u64| us as f64 / 1000.0;
    // The percentile distribution: value, percentile, count up to it, 1/(1-percentile).
    let value_at = |percentile: &str| -> f64 {
        let line = text
            .lines()
            .find(|line| line.split_whitespace().nth(1) == Some(percentile));
        line.unwrap_or_else(|| panic!("no {percentile} in\n{text}"))
            .split_whitespace()
            .next()
            .unwrap()
            .parse()
            .unwrap()
    };
    let near = |value: f64, us: u64| {
        assert!(
            (value - ms(us)).abs() < 0.0006,
            "{value} ms, expected {} ms, in\n{text}",
            ms(us)
        );
    };
    near(value_at("0.500000000000"), expected.value_at_quantile(0.5));
    near(value_at("1.000000000000"), expected.max());
    // The tool steps by halves of what is left; the step nearest to p99.
    near(
        value_at("0.990625000000"),
        expected.value_at_quantile(0.990_625),
    );
    let number = |name: &str| -> String {
        let (_, rest) = text
            .rsplit_once(name)
            .unwrap_or_else(|| panic!("no {name} in\n{text}"));
        rest.trim_start_matches([' ', '='])
            .chars()
            .take_while(|c| c.is_ascii_digit() || *c == '.')
            .collect()
    };
    assert_eq!(
        number("Total count").parse::<u64>().unwrap(),
        expected.len(),
        "{text}"
    );
    near(number("#[Max ").parse().unwrap(), expected.max());
}
