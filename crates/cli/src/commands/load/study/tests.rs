//! Golden file of the studies that flags become.

use std::path::Path;

use clap::Parser;
use waggle_convert::Target;

use super::{
    planned::{self, PlanInputs, Planned},
    run_folders::RunFolders,
};
use crate::{
    arguments::{load::Load, target::ReachedServer},
    commands::load::{result::conditions, search},
    output::golden::golden,
};

#[derive(Parser)]
struct Flags {
    #[command(flatten)]
    load: Load,
}

fn plan_of_flags(flags: &[&str], folders: &RunFolders) -> Planned {
    let mut flags = Flags::parse_from([&["load", "--seed", "7"], flags].concat()).load;
    let target = Target::parse(&flags.url).unwrap();
    let reached = ReachedServer {
        address: "127.0.0.1:8080".parse().unwrap(),
        remark: None,
    };
    let thresholds = conditions::conditions("--threshold", &flags.judged.thresholds, &[]);
    let search = flags.search.maximize.map(|what| {
        let conditions = search::conditions(&flags.search, &[]).unwrap();
        search::search_settings(&mut flags, what, conditions).unwrap()
    });
    let inputs = PlanInputs {
        target: &target,
        reached: &reached,
        thresholds: &thresholds.unwrap(),
        search: search.as_ref(),
        folders,
    };
    planned::make_plan(&flags, inputs).unwrap()
}

/// Flags, separated by bars; `FOLDER` has the files that they name.
const CASES: [&str; 17] = [
    "http://127.0.0.1:8080/hello",
    "h:81/a?b=${c}&d={{e}}|-c|4|-p|3|-n|1000|-t|8|--warm-up|0s",
    "h|-R|2500.5|--arrivals|uniform|-d|1.3s|--warm-up|1s",
    "h|--stages|30s:2000,0s:6000|--connect-to|::[::1]:82",
    "h|--users|9|--think-time|uniform:1s..3s|--stages|1s:5,2s:9",
    "https://me:pw@h/x?token=abc&y=1|-H|X-Api-Key: sesame|-H|A: ${b} {{c}}|-H|A: again|--http2|--cacert|/ca.pem|-E|/both.pem|--no-sessionid",
    "https://h/|-k|--disable-keepalive|--timeout|2s|--expect|200,204|--expect|body_contains={{x}} ${y}",
    "h|--data-raw|a=1&password=hush|--threshold|response_time.p99 < 5ms|--threshold|generator.lag_p99<1s",
    "h|-X|PURGE",
    "h|-X|GET|--body|{}",
    "h|--data-binary|@FOLDER/body.bin",
    "h|--data|@FOLDER/odd.txt",
    "h|--records|FOLDER/a.csv|--records-measurement|m|--records-time|when|--records-tags|host|--records-send-as|json",
    "h|--search|rate|--condition|response_time.p99 < 50ms|--start|500|--precision|10%",
    "h|--search|connections|-d|2s",
    "h|-d|100h",
    "h|--expect|body_contains={\"token\":\"hush\"}",
];

#[test]
fn flags_become_studies() {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in [
        ("a.csv", &b"when,host,x\n1,a,2\n"[..]),
        ("body.bin", b"\xff\x00"),
        ("odd.txt", b"\xff\n"),
    ] {
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    let folder = folder.path().display().to_string();
    let mut text = String::new();
    for case in CASES {
        let flags = case.replace("FOLDER", &folder);
        let flags: Vec<&str> = flags.split('|').collect();
        let folders = RunFolders::new(None);
        let planned = plan_of_flags(&flags, &folders);
        text += &format!("$ waggle load {}\n{}\n", flags.join(" "), planned.text);
    }
    golden("load-studies.txt", &text.replace(&folder, "/FOLDER"));
}

#[test]
fn secrets_that_the_text_omits_are_sent() {
    let folders = RunFolders::new(None);
    let flags = [
        "me:pw@h/x?token=abc",
        "-X",
        "PURGE",
        "-H",
        "A: ${b} {{c}}",
        "-H",
        "A: again",
        "--body",
        "{{d}}",
    ];
    let planned = plan_of_flags(&flags, &folders);
    let waggle_study::What::Request(request) = &planned.study.cells[0].what else {
        panic!("{:?}", planned.study);
    };
    assert_eq!(
        (&*request.method, &*request.path),
        ("PURGE", "/x?token=abc")
    );
    let headers: Vec<(&str, &str)> = request
        .headers
        .iter()
        .map(|(name, value)| (&**name, &**value))
        .collect();
    let expected = [
        ("A", "${b} {{c}}"),
        ("A", "again"),
        ("Authorization", "Basic bWU6cHc="),
    ];
    assert_eq!(headers, expected);
    let files = waggle_runner::RecordFiles::read_request(request).unwrap();
    let sent = files.prepare(request, "run", "h").unwrap();
    assert!(sent[0].bytes.ends_with(b"{{d}}"), "{:?}", sent[0]);
    assert!(
        !planned.text.contains("bWU6cHc") && !planned.text.contains("abc"),
        "{}",
        planned.text
    );
}

#[test]
fn temporary_folder_is_removed_after_the_load() {
    let folders = RunFolders::new(None);
    let made = folders.make_body(b"x").unwrap();
    assert!(made.exists() && made.starts_with(folders.temporary()));
    drop(folders);
    assert!(!Path::new(&made).exists());
}

#[test]
fn counts_of_one_are_singular() {
    let head = |flags: &[&str]| {
        let (_, planned) = crate::commands::load::tests::plan_of_flags(flags);
        crate::commands::load::result::render::load(planned.settings.model, &planned.settings)
    };
    assert_eq!(
        head(&["--users", "1", "--think-time", "1s", "-n", "1"]),
        "1 user, think time 1s, at most 1 request"
    );
    assert_eq!(
        head(&["-c", "1", "--stages", "2s:10"]),
        "open load: poisson arrivals, over 1 connection, by stages to 10 in 2 s"
    );
}

#[test]
fn a_load_has_no_more_connections_than_requests() {
    let check = |flags: &[&str], connections: u32, default: Option<&str>| {
        let (_, planned) = crate::commands::load::tests::plan_of_flags(flags);
        let settings = &planned.settings;
        assert_eq!(settings.connections, Some(connections), "{flags:?}");
        assert_eq!(settings.defaults.first().map(String::as_str), default);
    };
    check(&["-n", "1"], 1, Some("closed load, 1 connection"));
    check(&["-n", "10"], 10, Some("closed load, 10 connections"));
    check(&["-n", "100"], 50, Some("closed load, 50 connections"));
    check(
        &["-n", "10", "-R", "5", "--arrivals", "uniform"],
        10,
        Some("10 connections"),
    );
    check(&["-n", "10", "-c", "20"], 20, None);
}
