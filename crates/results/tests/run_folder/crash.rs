//! A crash at any step of writing keeps every earlier trial, and the interrupted one is done again.

use std::{
    fs,
    path::{Path, PathBuf},
};

use waggle_results::{LoadStart, Run, RunFolder};

use crate::sample;

/// The state of the disk after a crash: `damage` gets the folder of the trial that was being written.
fn check(what: &str, damage: impl Fn(&RunFolder)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let run = sample::create(path);
    sample::write_trial(&run, sample::key(2, 1));
    damage(&run);
    drop(run);

    let read = Run::read(path).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(keys(&read), [sample::key(2, 1)], "{what}");
    let run = RunFolder::open(path).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(
        run.finished_trials().unwrap(),
        [sample::key(2, 1)],
        "{what}"
    );
    sample::write_trial(&run, sample::key(1, 1));
    let read = Run::read(path).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(
        keys(&read),
        [sample::key(2, 1), sample::key(1, 1)],
        "{what}"
    );
    let names: Vec<PathBuf> = fs::read_dir(path.join("trials"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(
        names.len(),
        2,
        "{what}: nothing is left of the crash: {names:?}"
    );
}

fn keys(run: &Run) -> Vec<waggle_results::TrialKey> {
    run.trials.iter().map(|trial| trial.info.key).collect()
}

#[test]
fn a_crash_between_two_calls() {
    check("before the trial", |_| {});
    check("after beginning", |run| {
        drop(run.begin(sample::key(1, 1)).unwrap())
    });
    check("after the load started", |run| {
        run.begin(sample::key(1, 1))
            .unwrap()
            .load_started(&LoadStart {
                name: "get",
                steps: &["login".to_owned()],
                intermediate_probes: &[],
                started_unix_ns: 1,
            })
            .unwrap();
    });
    check("after all rows", |run| {
        sample::write_rows(&mut run.begin(sample::key(1, 1)).unwrap(), 1);
    });
    check("after a log of a component", |run| {
        let writer = run.begin(sample::key(1, 1)).unwrap();
        fs::write(writer.logs_folder().join("gateway-0.log"), "started").unwrap();
    });
}

#[test]
fn a_crash_while_a_trial_is_finished() {
    // Before the folder has its name, nothing in it counts, not even a complete trial.json.
    check("before the name", |run| {
        let whole = sample::write_trial(run, sample::key(1, 1));
        fs::rename(&whole, partial_of(&whole)).unwrap();
    });
    for keep in [0, 1, 100] {
        check("in trial.json", |run| {
            let whole = sample::write_trial(run, sample::key(1, 1));
            cut(&whole.join("trial.json"), keep);
            fs::rename(&whole, partial_of(&whole)).unwrap();
        });
    }
    // A file system that kept the name and lost the file.
    check("without trial.json", |run| {
        let whole = sample::write_trial(run, sample::key(1, 1));
        fs::remove_file(whole.join("trial.json")).unwrap();
    });
}

#[test]
fn a_crash_in_any_file_of_a_trial() {
    for name in [
        "intervals.ndjson",
        "resources.ndjson",
        "backlog.ndjson",
        "response_time.hlog",
        "lag.hlog",
    ] {
        for keep in [0, 10, 300] {
            check(name, |run| {
                let whole = sample::write_trial(run, sample::key(1, 1));
                fs::remove_file(whole.join("trial.json")).unwrap();
                cut(&whole.join(name), keep);
                fs::rename(&whole, partial_of(&whole)).unwrap();
            });
        }
    }
}

#[test]
fn a_crash_while_the_run_is_created() {
    for name in ["run.json", "system.yaml", "study.yaml", "trials"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        drop(sample::create(path));
        // As if everything from `name` on had not been written yet.
        fs::rename(path.join("run.json"), path.join(".run.json.partial")).unwrap();
        if name != "run.json" {
            fs::remove_file(path.join(".run.json.partial")).unwrap();
            let left = path.join(name);
            let removed = if left.is_dir() {
                fs::remove_dir(&left)
            } else {
                fs::remove_file(&left)
            };
            removed.unwrap();
        }
        assert!(Run::read(path).is_err(), "{name}");
        sample::create(path);
        assert_eq!(Run::read(path).unwrap().info, sample::run_info(), "{name}");
    }
}

fn partial_of(whole: &Path) -> PathBuf {
    whole.with_file_name(format!(
        ".{}.partial",
        whole.file_name().unwrap().to_string_lossy()
    ))
}

fn cut(file: &Path, keep: usize) {
    let bytes = fs::read(file).unwrap();
    fs::write(file, &bytes[..keep.min(bytes.len())]).unwrap();
}
