//! The shop, on real servers: the same answers over both transports, and what a killed service leaves of its orders.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    desk::{Desk, output_text},
    shipped::{Columns, assert_none_missing, number, trials_of},
    systems::{comes_and_goes, in_project},
};

/// Node.js with the shop's libraries, where it was fetched.
fn shop_node() -> PathBuf {
    let desk = Desk::new();
    let fetch = in_project(&desk, &["system", "fetch", "webapp"]);
    let output = { fetch }.output().unwrap();
    let told = output_text(&output);
    assert_eq!(output.status.code(), Some(0), "{told}");
    let path = told.lines().find(|line| line.ends_with("/shop-node"));
    path.unwrap_or_else(|| panic!("{told}")).trim().into()
}

/// Every call of the document is asked for, and every answer held against it.
fn keeps_its_contract(transport: &str) {
    let node = shop_node();
    comes_and_goes(
        "webapp",
        &[transport, "overload_protection=true", "timeout=60s"],
        |told| {
            let shop = told.lines().find_map(|line| line.strip_prefix("  shop "));
            let contract =
                Path::new(env!("CARGO_MANIFEST_DIR")).join("../../systems/webapp/shop/contract.js");
            let output = Command::new(&node)
                .arg(contract)
                .arg(shop.unwrap().trim())
                .output()
                .unwrap();
            let text = output_text(&output);
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

/// The one trial of a run, in which nothing but this was killed; no order is missing.
fn only_trial(mut trials: Vec<Columns>, victim: &str) -> Columns {
    assert_eq!(trials.len(), 1, "{trials:?}");
    let trial = trials.remove(0);
    assert!(trial["killed"].split(' ').all(|one| one == victim));
    assert_none_missing(&trial);
    trial
}

/// A shipped study with what is changed in it.
fn run_changed_study(study: &str, changes: &[(&str, &str)], levels: &[&str]) -> Vec<Columns> {
    let folder = tempfile::tempdir().unwrap();
    let studies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let mut text = fs::read_to_string(studies.join(study)).unwrap();
    for (before, after) in changes {
        assert!(text.contains(before), "{before} in {text}");
        text = text.replace(before, after);
    }
    let file = folder.path().join("study.yaml");
    fs::write(&file, text).unwrap();
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    for file in ["buying.yaml", "shop-customers.csv", "shop-products.csv"] {
        fs::copy(studies.join("data").join(file), data.join(file)).unwrap();
    }
    trials_of(file.to_str().unwrap(), levels)
}

/// The study of kills with one victim.
fn killed_once(victim: &str, transport: &str) -> Columns {
    let of_one = format!("victim: [{victim}]");
    let changes = [("victim: [none, catalogue, customers, orders]", &of_one[..])];
    let trials = run_changed_study("rest-vs-rabbitmq-kill.yaml", &changes, &[transport]);
    only_trial(trials, &format!("{victim}-0"))
}

/// In `rest-vs-rabbitmq-kill.yaml`; each has no more than one order under way.
const CUSTOMERS: u64 = 20;

/// The service dies with orders in hand and comes again. However the two transports take it, every order that was answered
/// with success stands in PostgreSQL, and what was taken from the stock is counted.
fn loses_no_order(transport: &str) -> Columns {
    let trial = killed_once("orders", transport);
    // A product is taken before its order is written: one that was refused, or of which nothing was heard, may have taken it for
    // nothing, and so may each that the service had in hand when it died and was given again.
    let may = number(&trial, "records_rejected") + number(&trial, "records_unknown") + CUSTOMERS;
    let astray = number(&trial, "metric_stock-astray_end");
    assert!(astray <= may, "{astray} of at most {may}");
    trial
}

#[test]
fn over_rest_no_order_is_lost_when_its_service_is_killed() {
    loses_no_order("transport=rest");
}

#[test]
fn over_rabbitmq_no_order_is_lost_when_its_service_is_killed() {
    let trial = loses_no_order("transport=rabbitmq");
    // What waits for the service is worked on when it is back: late perhaps, but nobody is told that it cannot be reached.
    let failures = &trial["failures"];
    assert!(!failures.contains("503"), "{failures}");
}

/// What the auditor has shown stands in PostgreSQL: when that has died, all is asked for anew, and the auditor finds it anew.
#[test]
fn orders_are_found_anew_when_the_database_was_killed() {
    killed_once("postgresql", "transport=rest");
}

/// Callers ask again, and the broker gives to the service's next life what its last one had in hand: no order stands twice
/// where references are unique.
#[test]
fn asked_again_no_order_stands_twice_where_references_are_unique() {
    let levels = ["transport=rabbitmq", "retries=7", "deduplicate=true"];
    let trials = trials_of("studies/rest-vs-rabbitmq-again.yaml", &levels);
    let trial = only_trial(trials, "orders-0");
    assert_eq!(number(&trial, "records_duplicates"), 0);
}
