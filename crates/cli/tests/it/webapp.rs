//! The shop, on real servers: the same answers over both transports, and what a killed service leaves of its orders.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    desk::{Desk, shown},
    systems::{comes_and_goes, in_project},
};

/// Node.js with the shop's libraries, where it was fetched.
fn shop_node() -> PathBuf {
    let desk = Desk::new();
    let fetch = in_project(&desk, &["system", "fetch", "webapp"]);
    let output = { fetch }.output().unwrap();
    let told = shown(&output);
    assert_eq!(output.status.code(), Some(0), "{told}");
    let path = told.lines().find(|line| line.ends_with("/shop-node"));
    path.unwrap_or_else(|| panic!("{told}")).trim().into()
}

/// Every call of the document is asked for, and every answer held against it.
fn keeps_its_contract(transport: &str) {
    let node = shop_node();
    comes_and_goes(
        "webapp",
        &[transport, "limits=true", "timeout=60s"],
        |told| {
            let shop = told.lines().find_map(|line| line.strip_prefix("  shop "));
            let contract =
                Path::new(env!("CARGO_MANIFEST_DIR")).join("../../systems/webapp/shop/contract.js");
            let output = Command::new(&node)
                .arg(contract)
                .arg(shop.unwrap().trim())
                .output()
                .unwrap();
            let text = shown(&output);
            assert_eq!(output.status.code(), Some(0), "{text}");
            assert!(
                text.lines()
                    .filter(|line| line.starts_with("fine: "))
                    .count()
                    > 20,
                "{text}"
            );
        },
    );
}

#[test]
fn the_shop_answers_as_its_document_says_over_rest() {
    keeps_its_contract("transport=rest");
}

#[test]
fn the_shop_answers_as_its_document_says_over_rabbitmq() {
    keeps_its_contract("transport=rabbitmq");
}

/// The columns of the one trial of a run.
fn one_trial(desk: &Desk) -> impl Fn(&str) -> String + use<> {
    let table = fs::read_to_string(desk.run_folder().join("tables.csv")).unwrap();
    let rows: Vec<Vec<String>> = table
        .lines()
        .map(|line| line.split(',').map(str::to_owned).collect())
        .collect();
    assert_eq!(rows.len(), 2, "{table}");
    move |column: &str| {
        let place = rows[0].iter().position(|head| head == column);
        rows[1][place.unwrap_or_else(|| panic!("no column {column}"))].clone()
    }
}

/// Runs the one trial of a study that is left by `only`, in which the orders' service is killed, and gives its columns.
fn killed(desk: &Desk, study: &str, only: &[&str]) -> impl Fn(&str) -> String + use<> {
    let runs = desk.path().join("runs");
    let mut arguments = vec!["run", study, "--quick", "--runs", runs.to_str().unwrap()];
    arguments.extend(only);
    let run = { in_project(desk, &arguments) }.output().unwrap();
    // How well the two do, and how steadily, is the study's finding and no matter of this test.
    assert!(
        matches!(run.status.code(), Some(0 | 3 | 4)),
        "{}",
        shown(&run)
    );
    let column = one_trial(desk);
    assert!(column("killed").split(' ').all(|one| one == "orders-0"));
    assert_ne!(column("verdict"), "failed", "{}", shown(&run));
    assert!(
        desk.processes_left().is_empty(),
        "{:?}",
        desk.processes_left()
    );
    column
}

/// The service dies with orders in hand and comes again. However the two transports take it, every order that was answered
/// with success stands in PostgreSQL, and what was taken from the stock is counted.
fn loses_no_order(transport: &str) {
    let desk = Desk::new();
    let study = "studies/rest-vs-rabbitmq-kill.yaml";
    let column = killed(&desk, study, &[transport, "--only=victim=orders"]);
    let number = |name: &str| -> u64 { column(name).parse().unwrap() };
    assert!(number("records_accepted") > 0);
    assert_eq!(number("records_missing"), 0);
    assert_eq!(number("records_delivered"), number("records_accepted"));
    // A product is taken before its order is written, and an order that was not written took at most one.
    let astray = number("watch_stock-astray_end");
    assert!(astray <= number("records_sent"), "{astray}");
}

/// Callers ask again, and the broker gives to the service's next life what its last one had in hand: no order stands twice
/// where references are unique.
#[test]
fn asked_again_no_order_stands_twice_where_references_are_unique() {
    let desk = Desk::new();
    let only = [
        "--only=transport=rabbitmq",
        "--only=retries=7",
        "--only=deduplicate=true",
    ];
    let column = killed(&desk, "studies/rest-vs-rabbitmq-again.yaml", &only);
    let number = |name: &str| -> u64 { column(name).parse().unwrap() };
    assert!(number("records_accepted") > 0);
    assert_eq!(number("records_missing"), 0);
    assert_eq!(number("records_duplicates"), 0);
}

#[test]
fn over_rest_no_order_is_lost_when_its_service_is_killed() {
    loses_no_order("--only=transport=rest");
}

#[test]
fn over_rabbitmq_no_order_is_lost_when_its_service_is_killed() {
    loses_no_order("--only=transport=rabbitmq");
}
