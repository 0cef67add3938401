//! Scenarios: what is read from a study, from a file of its own and from the feeds' files, and every mistake in them.

use std::{path::Path, time::Duration};

use waggle_spec::{FeedOrder, LoadModel, OnFailure, RowValue, Think};
use waggle_study::{
    Action, Capture, CheckPart, Condition, Extractor, FeedRows, Mistakes, Named, Problem, Rounds,
    Scenario, Source, Step, StepCheck, Study, WhileCaptured, read_scenario, read_study_and_files,
    system_of,
};

use super::{change_text, headlines, mistakes::answered_table, source, system, table};

pub(super) const STUDY: &str = include_str!("../fixtures/shopping.yaml");
const PEOPLE: &str = include_str!("../fixtures/people.csv");

/// The scenario as a file of its own.
fn standalone_scenario() -> String {
    let (_, behind) = STUDY.split_once("  scenario:\n").expect("it is there");
    let (scenario, _) = behind.split_once("schedule:").expect("it ends there");
    let lines = scenario
        .lines()
        .map(|line| line.strip_prefix("    ").unwrap_or(line));
    let text: Vec<&str> = lines
        .filter(|line| !line.starts_with("endpoint:"))
        .collect();
    text.join("\n").replace("${items}", "3") + "\n"
}

/// The study with its scenario in a file.
fn in_a_file() -> String {
    let (before, behind) = STUDY.split_once("  scenario:\n").expect("it is there");
    let (_, after) = behind.split_once("schedule:").expect("it ends there");
    let before = before.replace("  items: [3, 5]\n", "");
    format!("{before}  scenario: {{ file: shop/scenario.yaml, endpoint: front }}\nschedule:{after}")
}

pub(super) fn files(name: &str) -> Result<Source, Problem> {
    match name {
        "people.csv" => Ok(source("data/people.csv", PEOPLE)),
        "broken.csv" => Ok(source("data/broken.csv", "name\nann,2\n\"bo\n")),
        "shop/scenario.yaml" => Ok(source("shop/scenario.yaml", standalone_scenario())),
        "list.yaml" => Ok(source("list.yaml", "- 1\n")),
        "wrong.yaml" => Ok(source(
            "wrong.yaml",
            change_text(
                &standalone_scenario(),
                &[("{{page}}", "{{pag}}"), ("weight: 3", "wight: 3")],
            ),
        )),
        "nested.yaml" => Ok(source("nested.yaml", "file: other.yaml\nname: a\n")),
        _ => Err(Problem(format!("cannot read {name}: No such file"))),
    }
}

fn read(text: String) -> Result<Study, Mistakes> {
    read_study_and_files(&source("shopping.yaml", text), &system(), &files)
}

fn read_valid_study(text: String) -> Study {
    read(text).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

fn steps(actions: &[Action]) -> Vec<&Step> {
    actions
        .iter()
        .flat_map(|action| match action {
            Action::Request(step) => vec![&**step],
            Action::Pause(_) => Vec::new(),
            Action::Repeat { actions, .. } => steps(actions),
        })
        .collect()
}

#[test]
fn every_value_arrives() {
    let study = read_valid_study(STUDY.to_owned());
    let cell = &study.cells[1];
    assert_eq!((cell.endpoint.as_str(), cell.name()), ("front", "shopping"));
    let think_time = Think::Fixed(Duration::ZERO);
    assert_eq!(
        cell.load,
        LoadModel::Users {
            users: 2,
            think_time
        }
    );
    let scenario = cell.scenario().expect("a scenario is sent");
    assert_eq!(scenario.steps, ["login", "orders", "order", "town"]);
    assert_eq!(scenario.timeout(), Duration::from_secs(10));
    let feeds: Vec<_> = scenario
        .feeds
        .iter()
        .map(|feed| (feed.name.as_str(), feed.order, feed.rows.count()))
        .collect();
    let expected = [
        ("people", FeedOrder::Once, 2),
        ("places", FeedOrder::PerUser, 2),
    ];
    assert_eq!(feeds, expected);
    assert_eq!(
        table(&scenario.feeds[0]).rows[1],
        ["b, o", "bo@example.org"]
    );
    assert_eq!(table(&scenario.feeds[1]).rows[0], ["Ulm", "89073"]);
    let [buy, look] = &scenario.flows[..] else {
        panic!("{:?}", scenario.flows)
    };
    assert_eq!((buy.weight, look.weight), (3, 1));
    let [login, pause, repeat, _] = &buy.actions[..] else {
        panic!("{:?}", buy.actions)
    };
    assert_eq!(
        *pause,
        Action::Pause(Think::Exponential(Duration::from_millis(10)))
    );
    // Cell 2 has the second level of the factor.
    let five = |rounds: &Rounds| *rounds == Rounds::Times(5);
    assert!(matches!(repeat, Action::Repeat { rounds, .. } if five(rounds)));
    let Action::Request(login) = login else {
        panic!("{login:?}")
    };
    assert_eq!(login.body, r#"{"name":"{{people.name}}","items":5}"#);
    let name = Extractor::Json("$.name".to_owned());
    let checks = [
        StepCheck {
            part: CheckPart::Value(name),
            holds: Condition::Equals("{{people.name}}".to_owned()),
        },
        StepCheck {
            part: CheckPart::Status,
            holds: Condition::Matches("^2".to_owned()),
        },
    ];
    assert_eq!(login.checks, checks);
    let page = Capture {
        variable: "page".to_owned(),
        from: Extractor::Regex {
            pattern: r"page=(\d+)".to_owned(),
            group: 1,
        },
        is_optional: false,
    };
    assert_eq!(login.captures[1], page);
    let all = steps(&buy.actions);
    assert_eq!(all[2].on_failure, OnFailure::Continue);
    assert_eq!(login.on_failure, OnFailure::EndSession);
}

#[test]
fn the_documented_example_is_right() {
    let text = super::read(&super::root().join("docs/reference/scenarios.md"));
    let (_, behind) = text.split_once("```yaml\n").expect("an example");
    let (example, _) = behind.split_once("```").expect("its end");
    let text = change_text(
        example,
        &[(
            "    name: shopping ",
            "    endpoint: front\n    name: shopping ",
        )],
    );
    let customers = |_: &str| {
        let rows: String = (0..100).map(|n| format!("c{n},p{n}\n")).collect();
        Ok(source("customers.csv", format!("name,password\n{rows}")))
    };
    let study = read_study_and_files(&source("docs.yaml", text), &system(), &customers);
    let study = study.unwrap_or_else(|mistakes| panic!("{mistakes}"));
    assert_eq!((study.cells.len(), study.thresholds.len()), (3, 3));
}

#[test]
fn the_rows_of_a_file_are_shared_by_all_cells() {
    let study = read_valid_study(STUDY.to_owned());
    let table = |cell: usize| table(&study.cells[cell].scenario().expect("one").feeds[0]);
    assert!(std::sync::Arc::ptr_eq(table(0), table(3)));
}

#[test]
fn a_scenario_in_a_file_is_the_same() {
    let study = read_valid_study(in_a_file());
    let file = study.scenario_file.as_ref().expect("it has a file");
    assert_eq!(
        (file.name.as_str(), &file.text),
        ("shop/scenario.yaml", &standalone_scenario())
    );
    let scenario = read_scenario(&source("scenario.yaml", standalone_scenario()), &files);
    let scenario = scenario.unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let of_study: &Scenario = study.cells[0].scenario().expect("one");
    assert_eq!(*of_study, scenario);
    let inline = read_valid_study(STUDY.to_owned());
    assert_eq!(*inline.cells[0].scenario().expect("one"), scenario);
    assert_eq!(inline.scenario_file, None);
}

#[test]
fn steps_that_name_the_key_of_a_record_carry_one() {
    let check = |changes: &[(&str, &str)], expected: &[usize]| {
        let study = read_valid_study(change_text(STUDY, changes));
        let scenario = study.cells[0].scenario().expect("one");
        assert_eq!(scenario.steps_with_record(), expected, "{changes:?}");
    };
    check(&[], &[]);
    check(&[("page={{page}}", "page={{record.key}}")], &[1]);
    let header = (
        "X-Request: \"{{random.uuid}}\"",
        "X-Request: \"{{record.run}}-{{ record.key }}\"",
    );
    let body = ("\"items\":${items}", "\"items\":{{record.key}}");
    check(&[header, body], &[0, 3]);
    // The time alone is no key, and two braces are none either.
    let time = (
        "\"items\":${items}",
        "\"items\":{{record.time}}{{{{record.key}}",
    );
    check(&[time], &[]);
    let delivery = (
        "thresholds:\n",
        "delivery: { probes: store }\nthresholds:\n",
    );
    let study = read_valid_study(change_text(STUDY, &[body, delivery]));
    assert!(study.cells[0].delivery.is_some());
}

#[test]
fn every_mistake_of_a_scenario() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/scenario-mistakes.txt");
    answered_table(&path, STUDY, &|text| read(text).err());
}

#[test]
fn mistakes_in_files_name_their_file() {
    let check = |scenario: &str, expected: &[&str]| {
        let text = change_text(
            &in_a_file(),
            &[("{ file: shop/scenario.yaml, endpoint: front }", scenario)],
        );
        let mistakes = read(text).expect_err(scenario);
        assert_eq!(headlines(&mistakes), expected, "{scenario}");
    };
    check(
        "{ file: none.yaml, endpoint: front }",
        &[
            "shopping.yaml:11:21: cannot read none.yaml: No such file; expected a file that can be read",
        ],
    );
    check(
        "{ file: list.yaml, endpoint: front }",
        &["list.yaml:1:1: the scenario is a list; expected a mapping with name, feeds, flows"],
    );
    check(
        "{ file: wrong.yaml, endpoint: front }",
        &[
            "wrong.yaml:11:5: unknown key \"wight\" in load.scenario.flows[1]; expected name, steps, weight; did you mean \"weight\"?",
            "wrong.yaml:29:18: there is no variable \"pag\" here; expected token, page, people.name, people.mail, places.town, places.code; did you mean \"page\"?",
        ],
    );
    check(
        "{ file: shop/scenario.yaml, endpoint: front, name: other }",
        &["shopping.yaml:11:58: load.scenario has both file and name; expected one of the two"],
    );
    check(
        "{ file: \"${workers}.yaml\", endpoint: front }",
        &[
            "shopping.yaml:11:21: load.scenario.file is the same in every cell; ${…} is not allowed in it; expected the name of a file",
        ],
    );
    let nested = read(change_text(
        &in_a_file(),
        &[("shop/scenario.yaml", "nested.yaml")],
    ));
    let lines = headlines(&nested.expect_err("it lacks its flows"));
    assert_eq!(
        lines[1],
        "nested.yaml:1:1: the key \"file\" has a meaning in a study only; expected name, on_failure, feeds, flows"
    );
}

#[test]
fn mistakes_of_a_scenario_alone() {
    let check = |changes: &[(&str, &str)], expected: &[&str]| {
        let text = change_text(&standalone_scenario(), changes);
        let mistakes = read_scenario(&source("shop.yaml", text), &files).expect_err("a mistake");
        assert_eq!(headlines(&mistakes), expected, "{changes:?}");
    };
    check(
        &[("name: shopping\n", "name: shopping\nendpoint: front\n")],
        &[
            "shop.yaml:2:1: the key \"endpoint\" has a meaning in a study only; expected name, on_failure, feeds, flows",
        ],
    );
    check(
        &[("name: shopping\n", "")],
        &[
            "shop.yaml:1:1: the scenario lacks the key \"name\"; expected name: what all steps together are called",
        ],
    );
    check(
        &[("weight: 3", "weight: ${n}"), ("{{page}}", "{{pag}}")],
        &[
            "shop.yaml:11:13: ${…} is filled in by a study, and this scenario belongs to no study; expected a value",
            "shop.yaml:29:18: there is no variable \"pag\" here; expected token, page, people.name, people.mail, places.town, places.code; did you mean \"page\"?",
        ],
    );
}

#[test]
fn a_text_alone_reads_no_files() {
    let mistakes = waggle_study::read_study(&source("s.yaml", STUDY), &system());
    let lines = headlines(&mistakes.expect_err("it names a file"));
    assert!(lines[0].contains("cannot read people.csv"), "{lines:?}");
}

#[test]
fn rows_can_be_made_from_their_numbers() {
    let file = "{ name: people, file: people.csv, order: once }";
    let columns = "name: 'n-{{n}}!', mail: { text: [10, 300] }, size: { integer: [-5, 9] }, \
                   kind: { choice: { AVRO: 8, JSON: 2 } }";
    let made = format!(
        "{{ name: people, order: zipf, skew: 0.8, generate: {{ rows: 1000000, columns: {{ {columns} }} }} }}"
    );
    let study = read_valid_study(change_text(STUDY, &[(file, &made)]));
    let feed = &study.cells[0].scenario().expect("one").feeds[0];
    assert_eq!(feed.order, FeedOrder::Zipf { skew: 0.8 });
    let FeedRows::Made(rows) = &feed.rows else {
        panic!("{feed:?}")
    };
    assert_eq!((rows.count, rows.seed), (1_000_000, 1));
    let text = |text: &str| text.to_owned();
    let expected = [
        ("name", RowValue::Numbered(vec![text("n-"), text("!")])),
        ("mail", RowValue::Text { min: 10, max: 300 }),
        ("size", RowValue::Integer { min: -5, max: 9 }),
        (
            "kind",
            RowValue::Choice(vec![(text("AVRO"), 8), (text("JSON"), 2)]),
        ),
    ];
    let values = rows
        .columns
        .iter()
        .map(|(name, value)| (name.as_str(), value.clone()));
    assert!(values.eq(expected), "{rows:?}");
}

#[test]
fn steps_are_repeated_while_they_capture_something() {
    let order = "          - name: order\n            get: \"{{next}}\"\n            on_failure: continue\n";
    let walk = "          - while: next\n            first: /orders?items=${items}\n            max_rounds: 7\n            \
                on_limit: continue\n            offset_step: 50\n            steps:\n              - name: order\n                \
                get: \"{{next}}&skip={{offset}}\"\n                capture:\n                  \
                next: { header: Link, regex: \"<(.*)>; rel=next\", optional: true }\n";
    let study = read_valid_study(change_text(STUDY, &[(order, walk)]));
    let scenario = study.cells[0].scenario().expect("one");
    let Some(Action::Repeat {
        rounds,
        offset_step,
        actions,
    }) = scenario.flows[0].actions.last()
    else {
        panic!("{:?}", scenario.flows[0].actions)
    };
    let expected = Rounds::While(WhileCaptured {
        variable: "next".to_owned(),
        first: "/orders?items=3".to_owned(),
        max_rounds: 7,
        on_limit: OnFailure::Continue,
    });
    assert_eq!((rounds, *offset_step), (&expected, 50));
    let capture = &steps(actions)[0].captures[0];
    let link = Extractor::HeaderMatch {
        name: "Link".to_owned(),
        pattern: "<(.*)>; rel=next".to_owned(),
        group: 1,
    };
    assert_eq!((&capture.from, capture.is_optional), (&link, true));
}

#[test]
fn sessions_share_a_connection_over_http2() {
    let pipelined = |protocol: &str, url: &str| {
        let load =
            format!("  model: closed\n  connections: 2\n  pipelining: 4\n  protocol: {protocol}\n");
        let rows = "          - { town: Bonn, code: 53111 }\n";
        let more = format!(
            "{rows}{}",
            "          - { town: Trier, code: 54290 }\n".repeat(6)
        );
        let server = format!("system: {{ url: '{url}' }}\n");
        let text = change_text(
            STUDY,
            &[
                ("system:\n  use: shop\n  set: { backend: files }\n", &server),
                ("    endpoint: front\n", ""),
                ("  workers: [1, 2]\n", ""),
                ("  model: users\n  users: 2\n", &load),
                (rows, &more),
            ],
        );
        let source = source("shopping.yaml", text);
        let Named::Server(system) = system_of(&source).unwrap() else {
            panic!("{url}: no server")
        };
        read_study_and_files(&source, &system, &files)
    };
    let secure = "https://127.0.0.1:1";
    for (protocol, url) in [
        ("http2", "http://127.0.0.1:1"),
        ("http2", secure),
        ("auto", secure),
    ] {
        let study = pipelined(protocol, url).unwrap_or_else(|why| panic!("{protocol}: {why}"));
        let load = &study.cells[0].load;
        assert_eq!(
            (load.connections(), load.pipelining()),
            (2, 4),
            "{protocol}"
        );
    }
    let refused = |protocol: &str, expected: &str| {
        let mistakes = pipelined(protocol, "http://127.0.0.1:1").unwrap_err();
        let [headline] = &headlines(&mistakes)[..] else {
            panic!("{mistakes}")
        };
        assert!(headline.contains(expected), "{headline}");
    };
    refused(
        "http1",
        "load.pipelining is 4, and over HTTP/1.1 a connection has one session",
    );
    refused(
        "auto",
        "load.pipelining is 4, and without TLS load.protocol auto is HTTP/1.1",
    );
}
