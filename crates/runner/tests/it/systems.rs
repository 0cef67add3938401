//! The process driver with systems that start in order, do not start, die or do not stop.

use std::{
    fs,
    net::{Ipv4Addr, TcpListener},
};

use waggle_results::{PhaseName, Run, TrialEnd};
use waggle_testkit::wait_until;

use super::{Bench, example, log, read, study};

/// A system whose only component is a shell script around the store; `$1` is its port.
fn script_system(script: &str, ready: &str) -> String {
    let store = example("store");
    let script = script.replace("STORE", &store.display().to_string());
    format!(
        "
system: scripted
summary: A script.
components:
  store:
    ports: [http]
    process:
      command: [sh, -c, '{script}', sh, '${{port.http}}']
    ready: {{ http: {{ port: http, path: {ready} }} }}
    stop_timeout: 300ms
endpoints:
  records: {{ component: store, port: http }}
verify:
  - name: it is ready
    endpoint: records
    get: /ready
    timeout: 20s
    expect: {{ status: 200 }}
"
    )
}

/// How a system that does not become ready fails its trial.
struct Expected<'a> {
    reason: &'a str,
    last_words: &'a str,
}

fn check(system: &str, ready_timeout: &str, expected: &Expected<'_>) {
    let study = study("scripted", "").replace("ready_timeout: 20s", ready_timeout);
    let run = Bench::new(system, &study).results();
    let TrialEnd::Failed {
        phase,
        reason,
        log_tail,
    } = &run.trials[0].info.end
    else {
        panic!("it did not fail");
    };
    assert_eq!(*phase, PhaseName::Ready, "{reason}");
    assert!(reason.contains(expected.reason), "{reason}");
    let log = log_tail.join("\n");
    assert!(log.contains(expected.last_words), "{log}");
}

#[test]
fn a_system_that_does_not_come_up_fails_with_its_last_words() {
    let in_time = "ready_timeout: 60s";
    let ended = Expected {
        reason: "store-0 ended with exit code 3 before it was ready",
        last_words: "no disk",
    };
    check(
        &script_system("echo no disk; exit 3", "/ready"),
        in_time,
        &ended,
    );
    let no_program = Expected {
        reason: "store-0 ended with exit code 127",
        last_words: "",
    };
    check(
        &script_system("exec /does/not/exist", "/ready"),
        in_time,
        &no_program,
    );
    // It has more time than it needs to print its output.
    let never_ready = Expected {
        reason: "store-0 was not ready in time",
        last_words: "still waking up",
    };
    let script = "echo still waking up; exec STORE $1";
    check(
        &script_system(script, "/nowhere"),
        "ready_timeout: 10s",
        &never_ready,
    );
}

#[test]
fn a_process_that_lost_its_parent_counts_for_its_component() {
    let most_threads = |script| {
        let run = Bench::new(&script_system(script, "/ready"), &study("scripted", "")).results();
        let rows = run.trials[0].resources.iter();
        let of_store = rows.filter(|row| row.component == "store-0");
        of_store.map(|row| row.threads).max().unwrap()
    };
    // The outer shells end at once; their children go on, as the supervisor's children.
    let busy = "(sleep 600 & sleep 601 & sleep 602 & sleep 603 &); exec STORE $1";
    assert!(most_threads(busy) >= most_threads("exec STORE $1") + 3);
}

#[test]
fn a_component_that_dies_under_load_fails_the_trial() {
    let dies = script_system("STORE $1 & sleep 0.4; echo my end; kill -9 $$", "/ready");
    // Its death ends the trial.
    let study = study("scripted", "").replace("measure: 2s", "measure: 60s");
    let run = Bench::new(&dies, &study).results();
    let TrialEnd::Failed {
        phase,
        reason,
        log_tail,
    } = &run.trials[0].info.end
    else {
        panic!("it did not fail")
    };
    assert!(*phase >= PhaseName::Ready && *phase <= PhaseName::Measure);
    assert!(reason.contains("store-0 ended by signal 9"), "{reason}");
    assert_eq!(log_tail.last().map(String::as_str), Some("my end"));
}

#[test]
fn a_component_that_ignores_its_stop_is_killed_with_all_it_started() {
    let stubborn = script_system(
        "trap \"\" TERM; STORE $1 & while true; do sleep 1; done",
        "/ready",
    );
    let run = Bench::new(&stubborn, &study("scripted", "")).results();
    assert_eq!(run.trials[0].info.end, TrialEnd::Completed);
    let remark = "store-0 did not stop within 0.3 s and was killed";
    assert!(
        run.trials[0]
            .info
            .remarks
            .iter()
            .any(|shown| shown == remark),
        "{:?}",
        run.trials[0].info.remarks
    );
}

#[test]
fn a_component_with_zero_stop_timeout_is_killed_without_a_remark() {
    let slow = script_system(
        "trap \"\" TERM; STORE $1 & while true; do sleep 1; done",
        "/ready",
    )
    .replace("stop_timeout: 300ms", "stop_timeout: 0s");
    let run = Bench::new(&slow, &study("scripted", "")).results();
    let trial = &run.trials[0].info;
    assert_eq!(trial.end, TrialEnd::Completed);
    let stop = |shown: &String| shown.contains("store-0");
    assert!(!trial.remarks.iter().any(stop), "{:?}", trial.remarks);
}

#[test]
fn a_start_that_lost_its_port_is_repeated_and_logged() {
    let loses = "test -e tried || { echo no port; touch tried; echo $1 > new; mv new port; \
         until test -e taken; do sleep 0.05; done; exit 3; }; echo a port; exec STORE $1";
    let bench = Bench::new(&script_system(loses, "/ready"), &study("scripted", ""));
    let mut child = bench.start();
    let folder = bench.path("run/.system/store-0");
    wait_until("it has written its port", || folder.join("port").exists());
    let port: u16 = read(&folder.join("port")).trim().parse().unwrap();
    let thief = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
    fs::write(folder.join("taken"), "").unwrap();
    assert!(child.wait().unwrap().success());
    drop(thief);
    let run = Run::read(&bench.path("run")).unwrap();
    assert_eq!(run.trials[0].info.end, TrialEnd::Completed);
    let log = log(&run, "store-0");
    let line = "[waggle started it again here, because another process took a port]";
    let (first, second) = log.split_once(line).unwrap_or_else(|| panic!("{log}"));
    assert!(
        first.contains("no port") && second.contains("a port"),
        "{log}"
    );
}

const TWO: &str = "
system: two
summary: One component needs the other, which has two replicas.
components:
  front:
    depends_on: [back]
    ports: [http]
    process:
      command: [sh, -c, 'echo I am $0 of ${dir}; echo back at $1; exec STORE $2', '${replica}', '${back.port.http}', '${port.http}']
    ready: { http: { port: http, path: /ready } }
  back:
    replicas: 2
    ports: [http]
    process:
      command: [sh, -c, 'echo I am $0; echo level is $LEVEL; grep Cpus_allowed_list /proc/self/status; exec STORE $1', '${replica}', '${port.http}']
      environment: { LEVEL: '${level}' }
    ready: { tcp: { port: http } }
parameters:
  level: { summary: a number, integer: { min: 1, max: 9 }, default: 4 }
endpoints:
  records: { component: back, port: http }
verify:
  - { name: it is ready, endpoint: records, get: /ready, expect: { status: 200 } }
";

/// The CPUs a replica may use according to its log, such as `Cpus_allowed_list: 0-1,3`. `None` if there is only one, because then
/// nothing is pinned.
fn cpus_in(log: &str) -> Vec<u32> {
    let line = log
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .unwrap();
    let number = |text: &str| text.trim().parse::<u32>().unwrap();
    let cpus: Vec<u32> = line
        .split(',')
        .flat_map(|range| match range.split_once('-') {
            Some((first, last)) => number(first)..=number(last),
            None => number(range)..=number(range),
        })
        .collect();
    if std::thread::available_parallelism().unwrap().get() < 2 {
        Vec::new()
    } else {
        cpus
    }
}

#[test]
fn placeholders_replicas_and_needs_come_together() {
    let system = TWO.replace("STORE", &example("store").display().to_string());
    let bench = Bench::new(&system, &study("two", ""));
    let run = bench.results();
    assert_eq!(run.trials[0].info.end, TrialEnd::Completed);
    assert!(log(&run, "back-0").contains("I am 0\nlevel is 4"));
    assert!(log(&run, "back-1").contains("I am 1\nlevel is 4"));
    let front = log(&run, "front-0");
    assert!(
        front.contains("I am 0 of ") && front.contains("front-0\nback at "),
        "{front}"
    );
    assert_eq!(cpus_in(&log(&run, "back-0")), run.info.host.system_cpus);
    assert!(
        run.info
            .host
            .load_cpus
            .iter()
            .all(|cpu| !run.info.host.system_cpus.contains(cpu))
    );
    // Both replicas got load, and each has its rows.
    for replica in ["back-0", "back-1", "front-0"] {
        assert!(
            run.trials[0]
                .resources
                .iter()
                .any(|row| row.component == replica),
            "{replica}"
        );
    }
    assert!(!bench.path("run/.system").exists());
}

#[test]
fn what_is_wrong_before_the_first_trial_is_an_error() {
    let missing = script_system("true", "/ready").replace("[sh, -c,", "[no-such-program, -c,");
    let bench = Bench::new(&missing, &study("scripted", ""));
    let output = bench.run(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("\"no-such-program\" is not installed")
    );
    assert!(!bench.path("run").exists());

    let bench = Bench::new(
        &script_system("exec STORE $1", "/ready"),
        &study("scripted", ""),
    );
    std::fs::write(bench.path("records.lp"), "m value=1 1\nm value= 2\n").unwrap();
    let output = bench.run(&[]);
    assert_eq!(output.status.code(), Some(2));
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(shown.contains("records.lp:2:"), "{shown}");
}

#[test]
fn a_folder_of_another_study_is_not_resumed() {
    let system = script_system("exec STORE $1", "/ready");
    let bench = Bench::new(&system, &study("scripted", ""));
    bench.results();
    assert!(bench.run(&["resume"]).status.success());
    let text = read(&bench.path("study.yaml"));
    std::fs::write(
        bench.path("study.yaml"),
        text.replace("measure: 2s", "measure: 3s"),
    )
    .unwrap();
    let output = bench.run(&["resume"]);
    assert_eq!(output.status.code(), Some(2));
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        shown.contains("the study differs from the one the run was begun with"),
        "{shown}"
    );
}
