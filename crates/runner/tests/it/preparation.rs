//! Systems that are prepared: filled by loads, checked, grown, and kept as snapshots.

use std::{collections::HashSet, fs, sync::Mutex};

use waggle_results::{FillInfo, PreparationInfo, Run, Trial, TrialEnd};
use waggle_spec::LoadRole;
use waggle_testkit::http::{Reply, Server, answer, ok};

use super::{Bench, example};

/// A system of a store that keeps objects in its folder; `more` are its other arguments.
fn system(more: &str) -> String {
    let store = example("store").display().to_string();
    format!(
        "
system: shelf
summary: A store of objects.
components:
  store:
    ports: [http]
    process: {{ command: [{store}, '${{port.http}}', 'folder=${{dir}}', {more}] }}
    ready: {{ http: {{ port: http, path: /ready }} }}
    stop_timeout: 5s
endpoints:
  objects: {{ component: store, port: http }}
metrics:
  pending: {{ summary: work that is left, component: store, port: http, get: /pending, json: $.pending }}
verify:
  - {{ name: it is ready, endpoint: objects, get: /ready, expect: {{ status: 200 }} }}
"
    )
}

/// Fills the store with objects, whose number is a factor, and reads those that were made. `more` are keys of `prepare`.
fn study(levels: &str, more: &str) -> String {
    format!(
        "
study: filled
question: Does it work?
system: {{ use: shelf }}
factors: {{ objects: {levels} }}
prepare:
  loads:
    - name: fill
      sessions: ${{objects}}
      connections: 3
      feeds:
        - {{ name: all, generate: {{ rows: 1000, columns: {{ name: 'o-{{{{n}}}}' }} }} }}
      steps:
        - {{ name: make, post: '/objects/{{{{all.name}}}}', capture: {{ id: {{ json: $.id }} }} }}
      keep: [id]
      retries: 3
      thresholds: ['response_time.p99 < 10s']
      verify_timeout: 2s
      verify:
        - {{ name: count, get: /count, check: [{{ json: $.count, equals: '${{objects}}' }}] }}
  {more}
load:
  model: closed
  connections: 2
  scenario:
    name: reads
    feeds: [{{ name: made, captured_by: fill, order: random }}]
    flows:
      - name: read
        steps: [{{ name: get, get: '/objects/{{{{made.id}}}}', expect: {{ status: 200 }} }}]
schedule:
  warm_up: 200ms
  measure: 500ms
  interval: 100ms
  repeat: 2
  restart: every_cell
"
    )
}

fn preparation(trial: &Trial) -> &PreparationInfo {
    trial.info.preparation.as_ref().unwrap()
}

/// Sessions of each load that was run in each trial: done before, and completed.
fn sessions_of(run: &Run) -> Vec<Vec<(u64, u64)>> {
    let of_trial = |trial: &Trial| {
        assert_eq!(trial.info.end, TrialEnd::Completed);
        // Every object that is read exists.
        assert_eq!(trial.info.totals.failed, 0, "{:?}", trial.info.totals);
        assert!(trial.info.totals.succeeded > 0);
        let loads = trial.info.loads_of(LoadRole::Preparation);
        let fills = loads.filter_map(|load| load.fill);
        fills
            .map(|fill| (fill.done_before, fill.completed))
            .collect()
    };
    run.trials.iter().map(of_trial).collect()
}

#[test]
fn a_system_is_filled_once_for_all_trials_of_a_cell() {
    let settle = "settle: { metric: pending, quiet_period: 300ms, timeout: 20s }";
    let run = Bench::new(&system("busy=7"), &study("[40]", settle)).results();
    assert_eq!(sessions_of(&run), [vec![(0, 40)], vec![]]);
    let prepared = preparation(&run.trials[0]);
    assert!(prepared.settle_s.unwrap() >= 0.3, "{prepared:?}");
    let load = &run.trials[0].info.loads[0];
    let fill = load.fill.unwrap();
    // Objects 7, 17, 27 and 37 were refused once.
    assert_eq!((fill.sessions, fill.failed, fill.retries), (40, 0, 4));
    assert_eq!((load.counts.succeeded, load.counts.failed), (40, 4));
    let create = &load.steps[0].counts;
    assert_eq!((create.succeeded, create.failed), (40, 4));
    assert_eq!(load.counts.failures, create.failures);
    assert!(load.counts.seconds > 0.0 && load.generator.workers > 0);
    let times = load.response_time.as_ref().unwrap();
    assert!(times.points.windows(2).all(|pair| pair[0].us <= pair[1].us));
    assert!(run.trials[1].info.preparation.is_none());
}

#[test]
fn a_system_grows_from_level_to_level() {
    let run = Bench::new(&system("busy=7"), &study("[30, 10, 20]", "grow: objects")).results();
    let order: Vec<String> = run
        .trials
        .iter()
        .map(|trial| {
            run.info.cell(trial.info.key.cell).unwrap().levels[0]
                .1
                .clone()
        })
        .collect();
    assert_eq!(order, ["10", "10", "20", "20", "30", "30"]);
    let grown = [
        vec![(0, 10)],
        vec![],
        vec![(10, 10)],
        vec![],
        vec![(20, 10)],
        vec![],
    ];
    assert_eq!(sessions_of(&run), grown);
}

#[test]
fn a_load_of_no_sessions_is_left_out_with_its_check() {
    let text = study("[20, 0]", "grow: objects")
        .replace(
            "feeds: [{ name: made, captured_by: fill, order: random }]",
            "",
        )
        .replace("get: '/objects/{{made.id}}'", "get: /count")
        // It does not hold for the level without objects.
        .replace("equals: '${objects}'", "equals: '20'");
    let run = Bench::new(&system("busy=7"), &text).results();
    assert_eq!(sessions_of(&run), [vec![], vec![], vec![(0, 20)], vec![]]);
}

#[test]
fn a_prepared_system_is_kept_for_later_trials_and_runs() {
    let every_trial = |text: String| text.replace("every_cell", "every_trial");
    let bench = Bench::new(
        &system("busy=7"),
        &every_trial(study("[25]", "snapshot: true")),
    );
    let snapshots = bench.path("snapshots");
    let results = |run: &str| {
        let mut command = bench.command(&[]);
        command.env("SNAPSHOTS", &snapshots);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let from = bench.path("run");
        let run_folder = bench.path(run);
        fs::rename(from, &run_folder).unwrap();
        Run::read(&run_folder).unwrap()
    };
    let reused = |run: &Run| -> Vec<bool> {
        let of_trial = |trial| preparation(trial).snapshot.as_ref().unwrap().is_reused;
        run.trials.iter().map(of_trial).collect()
    };
    let first = results("first");
    assert_eq!(sessions_of(&first), [vec![(0, 25)], vec![]]);
    assert_eq!(reused(&first), [false, true]);
    let second = results("second");
    // What was done when the snapshot was made counts once.
    assert_eq!(sessions_of(&second), [vec![(0, 25)], vec![]]);
    assert_eq!(reused(&second), [true, true]);
    let key = &preparation(&second.trials[0])
        .snapshot
        .as_ref()
        .unwrap()
        .key;
    // A damaged snapshot is made again.
    let objects = snapshots.join(key).join("system/store-0/objects");
    fs::write(&objects, "o-1\n").unwrap();
    let third = results("third");
    assert_eq!(sessions_of(&third), [vec![(0, 25)], vec![]]);
    let remarks = &third.trials[0].info.remarks;
    assert!(
        remarks
            .iter()
            .any(|one| one.contains("cannot be used: store-0/objects has 4 bytes")),
        "{remarks:?}"
    );
    // Another number of objects is another snapshot.
    fs::write(
        bench.path("study.yaml"),
        every_trial(study("[26]", "snapshot: true")),
    )
    .unwrap();
    assert_eq!(sessions_of(&results("fourth")), [vec![(0, 26)], vec![]]);
    assert_eq!(fs::read_dir(&snapshots).unwrap().count(), 2);
}

#[test]
fn a_system_that_forgets_has_no_snapshot() {
    // It keeps its objects in memory alone.
    let forgets = system("busy=7").replace("'folder=${dir}', ", "");
    let bench = Bench::new(&forgets, &study("[5]", "snapshot: true"));
    let mut command = bench.command(&[]);
    command.env("SNAPSHOTS", bench.path("snapshots"));
    assert!(command.output().unwrap().status.success());
    let run = Run::read(&bench.path("run")).unwrap();
    let TrialEnd::Failed { reason, .. } = &run.trials[0].info.end else {
        panic!("it did not fail")
    };
    let expected = "after a restart in the folders of its snapshot: the check after the preparation \"fill\" does not hold";
    assert!(reason.starts_with(expected), "{reason}");
    assert!(reason.contains("its snapshot was removed"), "{reason}");
    assert_eq!(fs::read_dir(bench.path("snapshots")).unwrap().count(), 0);
}

#[test]
fn a_server_that_runs_already_is_filled_before_its_load_is_tried() {
    let made = Mutex::new(HashSet::new());
    let server = Server::start(move |request| {
        let mut made = made.lock().unwrap();
        let name = request.path.rsplit('/').next().unwrap().to_owned();
        if request.header("x-key") != Some("from the environment") {
            return Reply::Answer(answer(403, "", ""));
        }
        match &*request.method {
            "POST" => {
                let body = format!("{{\"id\": \"{name}\"}}");
                made.insert(name);
                Reply::Answer(ok(&body))
            }
            _ if made.contains(&name) => Reply::Answer(ok("")),
            _ => Reply::Answer(answer(404, "", "")),
        }
    });
    let headers = "headers: { X-Key: '${env.PREPARE_KEY}' }";
    let study = study("[15]", "")
        .replace("{ use: shelf }", &format!("{{ url: 'http://{}' }}", server.address))
        .replace("  restart: every_cell\n", "")
        .replace("repeat: 2", "repeat: 1")
        .replace("capture:", &format!("{headers}, capture:"))
        .replace("        - { name: count, get: /count, check: [{ json: $.count, equals: '${objects}' }] }", &format!("        - {{ name: last, get: /objects/o-15, {headers} }}"))
        .replace("expect: { status: 200 }", &format!("{headers}, expect: {{ status: 200 }}"));
    let bench = Bench::new("", &study);
    let mut command = bench.command(&[]);
    command.env("PREPARE_KEY", "from the environment");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let run = Run::read(&bench.path("run")).unwrap();
    assert_eq!(sessions_of(&run), [vec![(0, 15)]]);
}

/// The reason of a preparation that does not succeed, and what is kept of it.
fn failure(arguments: &str, study: String) -> (String, FillInfo) {
    let run = Bench::new(&system(arguments), &study).results();
    let trial = &run.trials[0];
    let TrialEnd::Failed { reason, .. } = &trial.info.end else {
        panic!("it did not fail")
    };
    (reason.clone(), trial.info.loads[0].fill.unwrap())
}

#[test]
fn a_preparation_that_fails_says_why_and_keeps_what_was_measured() {
    let (reason, kept) = failure("full=12", study("[20]", ""));
    let failed = kept.failed;
    assert_eq!(kept.completed, 12);
    // It ends with the first that failed; some were under way.
    let expected = format!(
        "{failed} of the first {} sessions of the preparation \"fill\" failed, with at most 3 retries of each request: {failed} × status 507",
        12 + failed
    );
    assert_eq!(reason, expected);
    let (reason, kept) = failure("dies=12", study("[20]", ""));
    assert_eq!(reason, "store-0 ended with exit code 7");
    assert_eq!(kept.sessions, 20);
    let wrong = study("[20]", "").replace("equals: '${objects}'", "equals: '21'");
    let wrong = wrong.replace("verify_timeout: 2s", "verify_timeout: 500ms");
    let (reason, kept) = failure("busy=7", wrong);
    let expected =
        "the check after the preparation \"fill\" does not hold within 500 ms: step count: ";
    assert!(reason.starts_with(expected), "{reason}");
    assert_eq!(kept.completed, 20);
}
