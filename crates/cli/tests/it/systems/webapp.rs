//! System `webapp` on real servers: the same answers over both transports, and no lost orders after faults.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    shipped_studies::{Columns, assert_none_missing, number, trials_of},
    systems::{comes_and_goes, in_project},
    workspace::{Workspace, output_text},
};

/// The folder of the fetched Node.js with the libraries of the shop.
fn shop_node() -> PathBuf {
    let workspace = Workspace::new();
    let fetch = in_project(&workspace, &["system", "fetch", "webapp"]);
    let output = { fetch }.output().unwrap();
    let text = output_text(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    let path = text.lines().find(|line| line.ends_with("/shop-node"));
    path.unwrap_or_else(|| panic!("{text}")).trim().into()
}

/// Requests every operation of the OpenAPI document and checks each answer against it.
fn keeps_its_contract(transport: &str) {
    let node = shop_node();
    comes_and_goes(
        "webapp",
        &[transport, "overload_protection=true", "timeout=60s"],
        |text| {
            let shop = text.lines().find_map(|line| line.strip_prefix("  shop "));
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
fn answers_over_rest_match_the_openapi_document() {
    keeps_its_contract("transport=rest");
}

#[test]
fn answers_over_rabbitmq_match_the_openapi_document() {
    keeps_its_contract("transport=rabbitmq");
}

/// The only trial of a run in which only this component was killed; checks that no order is missing.
fn only_trial(mut trials: Vec<Columns>, victim: &str) -> Columns {
    assert_eq!(trials.len(), 1, "{trials:?}");
    let trial = trials.remove(0);
    let kill = format!("kill of {victim}");
    let faults: Vec<&str> = trial["faults"].split("; ").collect();
    assert!(faults.iter().all(|fault| *fault == kill), "{faults:?}");
    assert_none_missing(&trial);
    trial
}

/// A shipped study with changes.
pub(crate) fn run_changed_study(
    study: &str,
    changes: &[(&str, &str)],
    levels: &[&str],
) -> Vec<Columns> {
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

/// In `rest-vs-rabbitmq-kill.yaml`; each connection has at most one order in flight.
const CUSTOMERS: u64 = 20;

/// The service is killed with orders in flight and restarted. With both transports, every order that was answered with success is
/// in PostgreSQL, and the stock matches the orders.
fn loses_no_order(transport: &str) -> Columns {
    let trial = killed_once("orders", transport);
    // The stock is reduced before the order is written. An order that was refused or not answered, or that was in flight at the
    // kill and redelivered, may have reduced it without being written.
    let may = number(&trial, "records_rejected") + number(&trial, "records_unknown") + CUSTOMERS;
    let astray = number(&trial, "metric_stock-astray_end");
    assert!(astray <= may, "{astray} of at most {may}");
    trial
}

#[test]
fn no_order_is_lost_over_rest_if_the_service_is_killed() {
    loses_no_order("transport=rest");
}

#[test]
fn no_order_is_lost_over_rabbitmq_if_the_service_is_killed() {
    let trial = loses_no_order("transport=rabbitmq");
    // Orders wait in the queue until the service is restarted, so no request fails with 503.
    let failures = &trial["failures"];
    assert!(!failures.contains("503"), "{failures}");
}

/// The auditor reads orders from PostgreSQL. After a kill of PostgreSQL it reads all orders again and finds them.
#[test]
fn orders_are_found_again_after_the_database_was_killed() {
    killed_once("postgresql", "transport=rest");
}

/// Clients retry, and the broker redelivers unacknowledged messages to the restarted service: no order is written twice if
/// references are unique.
#[test]
fn retried_orders_are_written_once_if_references_are_unique() {
    let levels = ["transport=rabbitmq", "retries=7", "deduplicate=true"];
    let trials = trials_of("studies/rest-vs-rabbitmq-again.yaml", &levels);
    let trial = only_trial(trials, "orders-0");
    assert_eq!(number(&trial, "records_duplicates"), 0);
}
