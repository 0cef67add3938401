//! What a load's one request can be.

use waggle_spec::FeedOrder;
use waggle_study::{Body, Texts, What, read_study};

use super::{STUDY, change_text, source, system, table};

#[test]
fn a_request_has_variables_or_is_plain() {
    let request = |lines: &str| {
        let records = "    records: { file: orders.lp, per_request: 1 }\n";
        let changes = [
            ("    headers: { X-Shop: one }\n", lines),
            (records, ""),
            (
                "delivery: { probes: store, poll_interval: 100ms, late_threshold: 5s }\n",
                "",
            ),
            ("  - delivery.missing == 0\n", ""),
        ];
        let study = read_study(
            &source("study.yaml", change_text(STUDY, &changes)),
            &system(),
        );
        let study = study.unwrap_or_else(|mistakes| panic!("{mistakes}"));
        match &study.cells[0].what {
            What::Request(request) => (**request).clone(),
            What::Scenario(_) => panic!("a request is sent"),
        }
    };
    let plain = request("    body: '{\"a\":{\"b\":1}}'\n");
    assert_eq!((plain.texts.clone(), plain.records()), (Texts::Plain, 0));
    let rows = "rows: [{ name: ann }, { name: bo }], order: random";
    let filled = request(&format!(
        "    feeds: [{{ name: people, {rows} }}]\n    body: '{{{{people.name}}}} {{{{{{{{'\n"
    ));
    let Texts::Templates(feeds) = &filled.texts else {
        panic!("{:?}", filled.texts)
    };
    assert_eq!(feeds[0].order, FeedOrder::Random);
    assert_eq!(table(&feeds[0]).rows, [["ann"], ["bo"]]);
    assert_eq!(filled.body, Body::Text("{{people.name}} {{{{".to_owned()));
    assert_eq!(request("    body: '{{ record.key }}'\n").records(), 1);
}
