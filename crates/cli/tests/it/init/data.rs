//! `waggle init --from data`: the written study sends the records of the file, or says what to correct.

use std::fs;

use waggle_load::NullServer;

use crate::{
    init::{ANSWER, made_and_run},
    workspace::{Workspace, output_text},
};

#[test]
fn a_file_of_records_becomes_a_study_that_sends_them() {
    let rows = "09.03.2020;10:14:33;oven-1;21,5\r\n09.03.2020;10:14:34;oven-1;21,6\r\n13.03.2020;10:14:35;oven-2;21\r\n13.03.2020;10:14:36;oven-2;22\r\n";
    let text = made_and_run(
        &format!("\u{feff}Datum;Uhrzeit;Ofen;Temperatur\r\n{rows}"),
        &[
            "--from",
            "data",
            "--server",
            "http://SERVER/write",
            "oven.csv",
        ],
    );
    let expected = "\
    post: \"/write\"
    records:
      file: \"oven.csv\"
      format: csv
      send_as: line-protocol
      per_request: 1
      measurement: \"oven\"
      time: { column: [\"Datum\", \"Uhrzeit\"], format: \"%d.%m.%Y %H:%M:%S%.f\" }
      tags: [\"Ofen\"]
      decimal: comma
";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_file_of_records_is_sent_to_a_gateway_by_default() {
    let workspace = Workspace::new();
    let rows: String = (10..40)
        .map(|second| format!("1583748{second}0,{second}\n"))
        .collect();
    fs::write(workspace.path().join("a.csv"), format!("ts,v\n{rows}")).unwrap();
    let made = workspace.output(&["init", "--from", "data", "a.csv"]);
    assert_eq!(made.status.code(), Some(0), "{}", output_text(&made));
    assert!(
        output_text(&made).contains("a.csv: 30 records, read as csv; time ts (s)"),
        "{}",
        output_text(&made)
    );
    let text = fs::read_to_string(workspace.path().join("a.yaml")).unwrap();
    assert!(text.contains("use: ingest"), "{text}");
    let ran = workspace.output(&["run", "a.yaml", "--quick", "--quiet"]);
    let model = workspace.report_of(&ran);
    let trial = &model.trials[0];
    assert!(trial.failure.is_none(), "{}", output_text(&ran));
    // Its probe follows what the study sends.
    let ledger = model.cells[0]
        .ledger
        .as_ref()
        .expect("records are followed");
    assert!(ledger.delivered > 0, "{}", output_text(&ran));
    assert_eq!(ledger.missing, 0, "{}", output_text(&ran));
}

#[test]
fn the_format_is_found_or_given() {
    let workspace = Workspace::new();
    let check = |name: &str, text: &str, more: &[&str], expected: &str| {
        fs::write(workspace.path().join(name), text).unwrap();
        let arguments = [
            &[
                "init",
                "--from",
                "data",
                name,
                "--force",
                "--server",
                "http://h/",
            ],
            more,
        ];
        let said = output_text(&workspace.output(&arguments.concat()));
        assert!(said.contains(expected), "{name}: {said}");
    };
    let table = "# logger, 3\nt;v\n1;2\n3;4\n";
    check("a.dat", table, &[], "a.dat: 2 records, read as csv");
    check(
        "a.txt",
        "m v=1 5\n",
        &[],
        "a.txt: 1 record, read as line-protocol",
    );
    check(
        "a.log",
        "{\"v\":1}\n{\"v\":1.5}\n",
        &[],
        "2 records, read as ndjson; no time",
    );
    check(
        "a.log",
        "{\"v\":1}\n{\"v\":1.5}\n",
        &[],
        "integers and floats, sent as floats: v",
    );
    check(
        "a.json",
        "[{\"v\":1},\n{\"v\":2}]",
        &[],
        "2 records, read as json",
    );
    check(
        "a.out",
        table,
        &["--format", "csv"],
        "2 records, read as csv",
    );
    check(
        "a.out",
        table,
        &[],
        "expected --format csv, ndjson, json or line-protocol",
    );
    check(
        "a.ndjson",
        "{\"v\":1}\n{\"v\":\"bad\"}\n{\"v\":true}\n",
        &[],
        "a.ndjson:2:6: expected a number in field \"v\" as in line 1, found \"bad\"",
    );
    check(
        "a.dat",
        "v,w\n1,2\nERR,3\n4,5\n6,7\n",
        &[],
        "such as \"ERR\" in line 3",
    );
    let refused = workspace.output(&["init", "http://h/", "--format", "csv"]);
    assert!(output_text(&refused).contains("--format requires --from data"));
}

/// The study is written, to be corrected, and nothing says that it can be run. Plan and run refuse it with the same mistakes.
#[test]
fn a_file_that_is_not_read_becomes_a_study_to_correct() {
    let workspace = Workspace::new();
    let check = |text: &str, problem: &str| {
        fs::write(workspace.path().join("a.csv"), text).unwrap();
        let made = workspace.output(&["init", "--from", "data", "a.csv", "--force"]);
        let said = output_text(&made);
        assert_eq!(made.status.code(), Some(0), "{said}");
        let remedy =
            "cannot be run yet: correct records in a.yaml, then check it: waggle plan a.yaml";
        assert!(said.contains(problem) && said.contains(remedy), "{said}");
        assert!(!said.contains("run it:"), "{said}");
        let study = fs::read_to_string(workspace.path().join("a.yaml")).unwrap();
        let comment = format!(
            "# Cannot be run yet: the records are not read as written here. Correct them:\n#   {problem}"
        );
        assert!(study.contains(&comment), "{study}");
        for command in ["plan", "run"] {
            let refused = workspace.output(&[command, "a.yaml"]);
            let said = output_text(&refused);
            assert_eq!(refused.status.code(), Some(2), "{said}");
            assert!(said.contains(problem), "{said}");
        }
    };
    check("a,b\n", "a.csv holds no record\n");
    check(
        "a,b\n1,2\n3\n4,5\n",
        "a.csv:3:1: expected 2 cells as in the header, found 1\n",
    );
}

#[test]
fn repeated_mistakes_of_a_file_are_counted() {
    let server = NullServer::start("127.0.0.1:0".parse().unwrap(), ANSWER).unwrap();
    let workspace = Workspace::new();
    let rows: String = (1..=50)
        .map(|second| format!("09.03.2020 10:14:{:02};1,5\n", second))
        .collect();
    fs::write(workspace.path().join("a.csv"), format!("t;v\n{rows}")).unwrap();
    let url = format!("http://{}/", server.address());
    let records = [
        "--records",
        "a.csv",
        "--records-measurement",
        "m",
        "--records-time",
        "t",
    ];
    let load = |more: &[&str]| {
        let flags = [&["load", &*url, "-n", "10"], &records[..], more].concat();
        workspace.output(&flags)
    };
    let refused = load(&[]);
    let text = output_text(&refused);
    assert_eq!(refused.status.code(), Some(2), "{text}");
    let expected = [
        "a.csv:2:1: expected a time like 2026-11-21T08:00:00Z, found \"09.03.2020 10:14:01\"",
        "47 more like these: time.format: \"%d.%m.%Y %H:%M:%S%.f\" reads such times",
        "a.csv:2:21: column \"v\" has numbers with a comma, such as \"1,5\"",
        "decimal: comma reads them as numbers, decimal: point as texts",
    ];
    for line in expected {
        assert!(text.contains(line), "{text}");
    }
    assert_eq!(text.matches("expected a time like").count(), 3, "{text}");
    // Ten requests are too few for a verdict, whatever the exit code says of it.
    let read = load(&[
        "--records-time-format",
        "%d.%m.%Y %H:%M:%S",
        "--records-decimal-comma",
    ]);
    let text = output_text(&read);
    assert!(text.contains("10 sent, 10 succeeded"), "{text}");
    assert_eq!(server.stop(), 10);
}
