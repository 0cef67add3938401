//! Who may write a run's folder, and into what.

use std::{fs, os::unix::fs::symlink, process::Command};

use waggle_results::{AddedReason, AddedTrial, ReadError, Run, RunFolder, WriteError};
use waggle_testkit::{wait_for, wait_until};

use crate::sample;

#[test]
fn two_writers_exclude_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let first = sample::create(&path);
    assert!(matches!(
        RunFolder::open(&path),
        Err(WriteError::Locked { .. })
    ));
    drop(first);
    // A process that another test starts has the file, too, until it runs its program.
    let second = wait_for("the lock is free", || RunFolder::open(&path).ok());
    assert_eq!(*second.info(), sample::run_info());
}

#[test]
fn a_reader_knows_whether_a_run_is_being_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let writer = sample::create(&path);
    assert!(Run::read(&path).unwrap().is_being_written);
    drop(writer);
    wait_until("the run is not being written", || {
        !Run::read(&path).unwrap().is_being_written
    });
}

/// A folder may come from somebody else.
#[test]
fn links_and_pipes_of_others_are_neither_followed_nor_waited_for() {
    let around = tempfile::tempdir().unwrap();
    let (path, theirs) = (around.path().join("run"), around.path().join("theirs"));
    drop(sample::create(&path));
    fs::create_dir(&theirs).unwrap();
    fs::write(theirs.join("file"), "theirs").unwrap();
    // The lock: a link, and a pipe that nobody writes to or reads.
    let lock = path.join(".lock");
    for is_link in [true, false] {
        fs::remove_file(&lock).unwrap();
        match is_link {
            true => symlink(theirs.join("file"), &lock).unwrap(),
            false => assert!(
                Command::new("mkfifo")
                    .arg(&lock)
                    .status()
                    .unwrap()
                    .success()
            ),
        }
        assert!(!Run::read(&path).unwrap().is_being_written);
        let refused = RunFolder::open(&path).unwrap_err().to_string();
        assert!(
            refused.contains("it is a link, a device or a pipe"),
            "{refused}"
        );
    }
    fs::remove_file(&lock).unwrap();
    // What is left of a creation: a file in the place of which a new one is written, and the folder of the trials.
    for name in ["run.json", "study.yaml", "system.yaml"] {
        fs::remove_file(path.join(name)).unwrap();
    }
    symlink(theirs.join("file"), path.join("study.yaml")).unwrap();
    fs::write(&lock, "").unwrap();
    drop(sample::create(&path));
    assert_eq!(fs::read_to_string(theirs.join("file")).unwrap(), "theirs");
    fs::remove_dir(path.join("trials")).unwrap();
    symlink(&theirs, path.join("trials")).unwrap();
    assert!(matches!(
        RunFolder::open(&path),
        Err(WriteError::Occupied { .. })
    ));
    let refused = Run::read(&path).unwrap_err().to_string();
    assert!(
        refused.contains("it is a link, and a run has none"),
        "{refused}"
    );
}

#[test]
fn a_folder_that_holds_something_is_left_alone() {
    let check = |name: &str| {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(name), "mine").unwrap();
        let refused = RunFolder::create(
            folder.path(),
            &sample::run_info(),
            sample::STUDY,
            sample::SYSTEM,
        );
        assert!(
            matches!(refused, Err(WriteError::Occupied { .. })),
            "{name}: {refused:?}"
        );
        assert_eq!(
            fs::read_to_string(folder.path().join(name)).unwrap(),
            "mine"
        );
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            1,
            "{name}: something was added"
        );
    };
    check("study.yaml");
    check("notes.txt");
    check("run.json");
}

#[test]
fn a_run_is_not_created_twice() {
    let folder = tempfile::tempdir().unwrap();
    drop(sample::create(folder.path()));
    let again = RunFolder::create(
        folder.path(),
        &sample::run_info(),
        sample::STUDY,
        sample::SYSTEM,
    );
    assert!(
        matches!(again, Err(WriteError::Occupied { .. })),
        "{again:?}"
    );
}

#[test]
fn what_is_no_run_is_said_to_be_none() {
    let folder = tempfile::tempdir().unwrap();
    let refused = RunFolder::open(folder.path());
    assert!(
        matches!(refused, Err(WriteError::Read(ReadError::NotARun { .. }))),
        "{refused:?}"
    );
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        0,
        "opening leaves no trace in what is no run"
    );
}

#[test]
fn only_planned_trials_are_written_and_only_once() {
    let folder = tempfile::tempdir().unwrap();
    let run = sample::create(folder.path());
    assert!(matches!(
        run.begin(sample::key(3, 1)),
        Err(WriteError::NotPlanned { .. })
    ));
    sample::write_trial(&run, sample::key(1, 1));
    assert!(matches!(
        run.begin(sample::key(1, 1)),
        Err(WriteError::AlreadyFinished { .. })
    ));
}

#[test]
fn trials_can_be_added_to_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let first = sample::create(&path);
    let before = first.info();
    let added = |cell, repetition, reason| AddedTrial {
        key: sample::key(cell, repetition),
        reason,
    };
    let wide = [added(2, 3, AddedReason::Wide { width: Some(0.25) })];
    let disturbed = [added(1, 3, AddedReason::Disturbed { repetition: 2 })];
    first.add_trials(&wide, sample::key(2, 2)).unwrap();
    first.add_trials(&disturbed, sample::key(1, 2)).unwrap();
    assert!(matches!(
        first.add_trials(&wide, sample::key(9, 9)),
        Err(WriteError::NotPlanned { .. })
    ));
    drop(first);
    let info = RunFolder::open(&path).unwrap().info();
    let order = [(2, 1), (1, 1), (1, 2), (1, 3), (2, 2), (2, 3)];
    let order = order.map(|(cell, repetition)| sample::key(cell, repetition));
    assert_eq!(info.order, order);
    assert_eq!(info.added, [wide, disturbed].concat());
    assert_eq!(info.planned_order(), before.order);
}
