//! `waggle import`: the formats of each tool, wrapped and appended files, and results without single requests.

use std::fs;

use waggle_analysis::Model;

use crate::import::{assert_near, counts, import_in, mistake, numbers, response, workspace};

/// Imports a file with this content.
#[track_caller]
fn import(words: &str, content: impl AsRef<[u8]>) -> (Model, String) {
    let workspace = workspace();
    fs::write(workspace.path().join("f"), content).unwrap();
    import_in(&workspace, words, &[])
}

/// Imports a file with this content, which is refused.
#[track_caller]
fn refuse(words: &str, content: impl AsRef<[u8]>, expected: &str) {
    let workspace = workspace();
    fs::write(workspace.path().join("f"), content).unwrap();
    let words: Vec<&str> = words.split(' ').collect();
    assert_eq!(mistake(&workspace, &words).trim_end(), expected);
}

#[test]
fn a_file_with_several_outputs_of_ab_is_as_many_trials() {
    let workspace = workspace();
    let (model, report) = import_in(&workspace, "ab which=new ab-two.txt which=old ab.txt", &[]);
    assert_eq!(counts(&model), [(600, 0), (500, 0), (600, 0)]);
    assert_eq!(model.cells.len(), 2);
    assert!(report.contains("up to 2 files per cell"), "{report}");
    let joined = mistake(&crate::import::workspace(), &["ab", "ab-two.txt,ab.csv"]);
    let expected =
        "ab-two.txt has the output of 2 tests: only that of one is joined with other files";
    assert_eq!(joined.trim_end(), expected);
}

#[test]
fn wrapped_files_are_read() {
    let original = |name: &str| fs::read(workspace().path().join(name)).unwrap();
    let (model, _) = import("ab f", original("ab-utf16.txt"));
    assert_eq!(counts(&model), [(600, 0)]);
    let (model, _) = import("k6 f", original("k6.json.gz"));
    assert_eq!(counts(&model), [(56, 4)]);
    let (model, _) = import("jmeter f", zstd_frame(&original("jmeter-ok.jtl")));
    assert_eq!(counts(&model), [(240, 0)]);
    let cut = &original("k6.json.gz")[..900];
    refuse(
        "k6 f",
        cut,
        "cannot read f: not valid gzip: incomplete deflate stream",
    );
}

/// A frame of zstd with one raw block (RFC 8878, section 3.1.1).
fn zstd_frame(content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).unwrap();
    let mut frame = vec![0x28, 0xB5, 0x2F, 0xFD, 0xA0];
    frame.extend(length.to_le_bytes());
    frame.extend(&(length << 3 | 1).to_le_bytes()[..3]);
    frame.extend(content);
    frame
}

#[test]
fn jmeter_without_a_header_has_its_default_columns() {
    let row = |index: u64, code: &str, success: &str, url: &str| {
        format!(
            "{},{},list,{code},OK,users 1-1,text,{success},,78,122,1,1,{url}5,0,1\n",
            1_700_000_000_000 + 10 * index,
            5 + index
        )
    };
    for url in ["http://a/,", ""] {
        let rows = [
            row(0, "200", "true", url),
            row(1, "500", "false", url),
            row(2, "200", "true", url),
        ];
        let (model, _) = import("jmeter f", rows.concat());
        assert_eq!(counts(&model), [(2, 1)], "{url:?}");
        assert_eq!(
            numbers(&model.trials[0]).counts.bytes_sent,
            3 * 122,
            "{url:?}"
        );
    }
    let other = "expected a header row with timeStamp and elapsed, found a row of 17 cells, which are not the columns that JMeter writes by default: put the header row of these results above it (jmeter.save.saveservice.print_field_names=true writes it)";
    refuse(
        "jmeter f",
        row(0, "true", "200", "http://a/,"),
        &format!("f:1:1: {other}"),
    );
    refuse(
        "jmeter f",
        "a,b,c\n1,2,3\n",
        "f:1:1: expected a header row with timeStamp and elapsed, found \"a\"",
    );
}

#[test]
fn counts_of_data_frames_are_whole_numbers() {
    let text = "timeStamp,elapsed,success,bytes\n1700000000000.0,5.0,true,24.0\n1700000000100.0,7.0,true,26.0\n";
    let (model, _) = import("jmeter f", text);
    assert_eq!(numbers(&model.trials[0]).counts.bytes_received, 50);
    refuse(
        "jmeter f",
        "timeStamp,elapsed,success,bytes\n1700000000000,5,true,24.5\n",
        "f:2:22: expected a count of bytes, found \"24.5\"",
    );
}

/// A sample of the XML format.
fn sample(name: &str, at_ms: u64, more: &str, inside: &str) -> String {
    let ts = 1_700_000_000_000_u64 + at_ms;
    format!(
        "<{name} t=\"20\" it=\"0\" lt=\"5\" ct=\"1\" ts=\"{ts}\" s=\"true\" lb=\"list &amp; show\" rc=\"200\" by=\"78\" sby=\"122\"{more}>\n  <java.net.URL>http://a/</java.net.URL>\n{inside}</{name}>\n"
    )
}

fn results(samples: &[String]) -> String {
    let head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testResults version=\"1.2\">\n";
    format!("{head}{}</testResults>\n", samples.concat())
}

#[test]
fn jmeter_as_xml_is_read_as_its_listeners_count() {
    let part = sample("httpSample", 1, "", "");
    let parent = sample("httpSample", 0, "", &part.repeat(2));
    let failed = sample(
        "sample",
        50,
        "",
        "<assertionResult><failure>false</failure></assertionResult>",
    )
    .replace("s=\"true\"", "s=\"false\"")
    .replace("rc=\"200\"", "rc=\"503\"");
    let transaction = sample(
        "sample",
        60,
        " rm=\"Number of samples in transaction : 2, number of failing samples : 0\"",
        &[
            sample("httpSample", 60, "", &part),
            sample("httpSample", 80, "", ""),
        ]
        .concat(),
    );
    let (model, report) = import("jmeter f", results(&[parent.clone(), failed, transaction]));
    assert_eq!(counts(&model), [(3, 1)]);
    assert_eq!(numbers(&model.trials[0]).counts.bytes_received, 4 * 78);
    assert_near(response(&model, "max").unwrap(), 20_000.0, 1e-3);
    let remarks = format!("{:?}", model.trials[0].remarks);
    for remark in [
        "1 samples of transaction controllers left out",
        "3 samples within samples left out",
    ] {
        assert!(remarks.contains(remark), "{remarks}");
    }
    assert!(report.contains("status 503"), "{report}");
    // A test that was interrupted.
    let cut = results(&[parent.clone(), sample("httpSample", 90, "", "")]);
    let (model, _) = import(
        "jmeter f",
        cut.trim_end().strip_suffix("</testResults>").unwrap(),
    );
    assert_eq!(counts(&model), [(2, 0)]);
    let remarks = format!("{:?}", model.trials[0].remarks);
    assert!(
        remarks.contains("the file ends without </testResults>"),
        "{remarks}"
    );
}

#[test]
fn broken_xml_is_told_with_line_and_column() {
    let element = sample("httpSample", 0, "", "");
    let check = |text: &str, expected: &str| refuse("jmeter f", text, expected);
    check(
        &results(&[element.replace("t=\"20\"", "t=\"x\"")]),
        "f:3:1: expected an attribute t that is a count of milliseconds, found t=\"x\"",
    );
    check(
        &results(&[element.replace(" ts=", " other=")]),
        "f:3:1: expected an attribute ts that is milliseconds since 1970 (jmeter.save.saveservice.timestamp_format=ms), found none",
    );
    check(
        &results(&[element.replace("</java.net.URL>", "")]),
        "f:5:1: expected </java.net.URL>, found \"</httpSample>\"",
    );
    check(
        &results(&[element
            .replace(" s=\"true\"", "")
            .replace(" rc=\"200\"", "")]),
        "f:3:1: expected an attribute s or rc: without both it is not known which requests failed",
    );
    check(
        "<html>\n",
        "f:1:1: expected CSV, or XML whose first element is testResults, found <html>",
    );
    check(&results(&[]), "f has no samples");
    check(
        &results(std::slice::from_ref(&element))
            .repeat(2)
            .replace("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", ""),
        "f:6:1: expected the results of one test, found those of another: put each into a file of its own",
    );
    let open = results(&[element]);
    let open = &open[..open.find("</httpSample>").unwrap()];
    check(
        open,
        "f: the file ends within a sample: did JMeter end its test?",
    );
}

#[test]
fn vegeta_has_rows_without_a_header() {
    let row = |index: u64, code: u16, error: &str| {
        let time = 1_700_000_000_000_000_000 + index * 10_000_000;
        format!(
            "{time},{code},1234567,10,78,{error},b2s=,,{index},GET,http://a/list,\"SGVhZGVy\"\n"
        )
    };
    let refused = "Get \"\"http://a/list\"\": dial tcp 127.0.0.1:1: connect: connection refused";
    let rows = [
        row(0, 200, ""),
        row(1, 302, ""),
        row(2, 503, "503 Service Unavailable"),
        row(3, 0, &format!("\"{refused}\"")),
        row(
            4,
            0,
            "context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
        ),
    ];
    let (model, _) = import("vegeta f", rows.concat());
    assert_eq!(counts(&model), [(2, 3)]);
    let trial = numbers(&model.trials[0]);
    assert_eq!(
        (trial.counts.bytes_sent, trial.counts.bytes_received),
        (50, 390)
    );
    assert_near(response(&model, "max").unwrap(), 1_235.0, 1e-3);
    let kinds: Vec<String> = trial
        .counts
        .failures
        .iter()
        .map(|failure| failure.kind.to_string())
        .collect();
    for kind in ["status_503", "not_connected", "timed_out"] {
        assert!(kinds.contains(&kind.to_owned()), "{kinds:?}");
    }
    // Versions before method, URL and headers were written.
    let (model, _) = import(
        "vegeta f",
        "1700000000000000000,200,5,0,0,,\n1700000000100000000,200,5,0,0,,\n",
    );
    assert_eq!(counts(&model), [(2, 0)]);
    refuse(
        "vegeta f",
        "a,b\n",
        "f:1:1: expected the rows of vegeta encode --to csv, found \"a\"",
    );
    refuse(
        "vegeta f",
        "1700000000,200,5,0,0,,\n1700000001,x,5,0,0,,\n",
        "f:2:12: expected a status, or 0, found \"x\"",
    );
}

#[test]
fn hey_has_offsets_and_no_time_of_day() {
    let header = "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset\n";
    let rows = "0.0087,0.0047,0.0042,0.0001,0.0019,0.0001,200,0.0016\n0.0050,0,0,0,0.0019,0.0001,500,0.0103\n0.0051,0,0,0,0.0019,0.0001,200,0.5000\n";
    let (model, _) = import("hey f", format!("\n{header}{rows}"));
    assert_eq!(counts(&model), [(2, 1)]);
    assert_near(numbers(&model.trials[0]).counts.seconds, 0.5035, 1e-3);
    assert_near(response(&model, "max").unwrap(), 8_700.0, 1e-3);
    let remarks = format!("{:?}", model.trials[0].remarks);
    assert!(
        remarks.contains("hey writes no row of a request without an answer"),
        "{remarks}"
    );
    refuse(
        "hey f",
        "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read\n0.1,0,0,0,0,0\n",
        "f:1:1: expected columns status-code and offset, which hey writes since its version 0.1.3",
    );
    refuse(
        "hey f",
        "Summary:\n",
        "f:1:1: expected the table of hey -o csv, found \"Summary:\"",
    );
}

#[test]
fn results_without_requests_are_refused_by_name() {
    let columns =
        "csv f --column start=timestamp:s --column duration=metric_value:ms --column status=status";
    let k6_csv = "metric_name,timestamp,metric_value,check,error,status\nhttp_req_duration,1641298536,1.0,,,200\n";
    for words in ["k6 f", columns] {
        refuse(
            words,
            k6_csv,
            "f is k6's CSV (--out csv), which has a row for each metric and whole seconds by default: import a file of k6 run --out json=FILE",
        );
    }
    refuse(
        "k6 f",
        "{\n  \"metrics\": {\n    \"http_reqs\": {\n      \"count\": 24.0\n    }\n  }\n}\n",
        "f is k6's summary at the end of a test, which has sums and quantiles: import a file of k6 run --out json=FILE",
    );
    refuse(
        "csv f --column start=a --column duration=b:s --column status=c",
        "Timestamp,User Count,Type,Name,Requests/s,Failures/s,50%\n1,2,,Aggregated,3,0,5\n",
        "f is Locust's history of statistics (_stats_history.csv), which has sums and quantiles: Locust writes no single requests by itself: write a row for each in a listener of events.request, and import that file with waggle import csv",
    );
}
