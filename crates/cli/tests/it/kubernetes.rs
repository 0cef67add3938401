//! System `kubernetes` on real servers: over each datastore it starts, passes its functional check and stops, with nothing left; and
//! a shipped study grows it and lists what is there.

use crate::{
    shipped_studies::{Columns, number},
    systems::comes_and_goes,
    webapp::run_changed_study,
};

/// The functional check creates, lists and deletes objects, by Steve too if it is there.
fn check(levels: &[&str], parts: &[&str]) {
    comes_and_goes("kubernetes", levels, |text| {
        for part in parts {
            assert!(text.contains(part), "{part} in {text}");
        }
    });
}

#[test]
fn starts_works_and_stops_over_etcd_with_steve() {
    check(
        &["datastore=etcd", "steve=sql-cache"],
        &["etcd.client", "apiserver.https", "steve.https"],
    );
}

#[test]
fn starts_works_and_stops_over_three_members_of_etcd() {
    check(&["datastore=etcd", "members=3"], &["apiserver.https"]);
}

#[test]
fn starts_works_and_stops_over_sqlite_with_steve() {
    check(
        &["datastore=sqlite", "steve=plain"],
        &["sqlite.etcd", "steve.https"],
    );
}

/// Without certificates of clients, and with a check that who has no right is refused.
#[test]
fn starts_works_and_stops_over_postgresql_with_tokens() {
    check(
        &["datastore=postgresql", "identity=token"],
        &["postgresql.db", "kine.etcd"],
    );
}

#[test]
fn starts_works_and_stops_over_mariadb() {
    check(&["datastore=mariadb"], &["mariadb.db", "kine.etcd"]);
}

/// The trial with so many objects of a kind.
fn of_level<'a>(trials: &'a [Columns], objects: &str) -> &'a Columns {
    let of_level = |trial: &&Columns| trial["objects"] == objects;
    trials
        .iter()
        .find(of_level)
        .unwrap_or_else(|| panic!("{trials:?}"))
}

/// Every list has what the level says: the answer grows by as much for the second hundred objects as for the first.
#[test]
fn a_list_grows_by_its_objects() {
    let changes = [
        (
            "objects: [0, 1000, 2000, 4000, 8000, 16000]",
            "objects: [0, 100, 200]",
        ),
        ("rows: 1000000,", "rows: 200,"),
        ("ready_timeout: 120s", "ready_timeout: 600s"),
        ("warm_up: { requests: 5, timeout: 5s }", "warm_up: 0s"),
        ("requests: 20, timeout: 20s", "requests: 20, timeout: 600s"),
    ];
    for datastore in ["etcd", "sqlite"] {
        let levels = [&format!("datastore={datastore}")[..], "resource=secrets"];
        let trials = run_changed_study("kubernetes.yaml", &changes, &levels);
        let bytes = |objects: &str| {
            let trial = of_level(&trials, objects);
            assert_eq!(number(trial, "failed"), 0, "{trial:?}");
            assert!(number(trial, "succeeded") > 0, "{trial:?}");
            trial["bytes_received_per_answer"].parse::<f64>().unwrap()
        };
        let (empty, hundred, two_hundred) = (bytes("0"), bytes("100"), bytes("200"));
        let (first, second) = (hundred - empty, two_hundred - hundred);
        // Names and versions get longer by a few letters; the framing of the answer changes by some more.
        assert!(
            first > 100.0 * 200.0 && (first - second).abs() < 0.1 * first,
            "{empty}, {hundred}, {two_hundred}"
        );
    }
}
