//! System `kubernetes` on real servers: over each datastore it starts, passes its functional check and stops, with nothing left; and
//! shipped studies list, watch and get what they have made.

use crate::{
    shipped_studies::{Columns, assert_none_missing, number},
    systems::{comes_and_goes, webapp::run_changed_study},
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
    let of_level = |trial: &&Columns| trial["factor_objects"] == objects;
    trials
        .iter()
        .find(of_level)
        .unwrap_or_else(|| panic!("{trials:?}"))
}

/// Every list has as many objects as the level says; they are counted while the answer streams.
#[test]
fn a_list_has_the_objects_of_its_level() {
    let changes = [
        (
            "objects: [0, 1000, 2000, 4000, 8000, 16000]",
            "objects: [0, 100, 200]",
        ),
        ("rows: 1000000,", "rows: 200,"),
        ("ready_timeout: 120s", "ready_timeout: 600s"),
        ("requests: 20, timeout: 20s", "requests: 20, timeout: 600s"),
    ];
    for datastore in ["etcd", "sqlite"] {
        let levels = [&format!("datastore={datastore}")[..], "resource=secrets"];
        let trials = run_changed_study("kubernetes.yaml", &changes, &levels);
        assert_eq!(trials.len(), 3, "{trials:?}");
        let bytes = ["0", "100", "200"].map(|objects| {
            let trial = of_level(&trials, objects);
            assert_eq!(number(trial, "failed"), 0, "{trial:?}");
            assert!(number(trial, "succeeded") > 0, "{trial:?}");
            let items: f64 = trial["items_per_answer"].parse().unwrap();
            assert_eq!(items, objects.parse::<f64>().unwrap(), "{trial:?}");
            trial["decoded_bytes_per_answer"].parse::<f64>().unwrap()
        });
        assert!(bytes.is_sorted_by(|a, b| a < b), "{bytes:?}");
    }
}

/// Every config map that is created is seen by the watch.
#[test]
fn a_watch_shows_every_object_that_was_created() {
    let changes = [
        ("ready_timeout: 120s", "ready_timeout: 600s"),
        ("timeout: 30s }", "timeout: 300s }"),
    ];
    let trials = run_changed_study("kubernetes-watch.yaml", &changes, &["datastore=sqlite"]);
    for trial in &trials {
        assert_none_missing(trial);
        assert_eq!(number(trial, "records_unexpected"), 0, "{trial:?}");
    }
}

/// Gets are measured while lists run beside them, over HTTP/2, which the API server agrees to by ALPN.
#[test]
fn lists_run_beside_gets() {
    let changes = [
        ("rate: 200/s", "rate: 200/s\n  protocol: http2"),
        ("listers: [0, 1, 4]", "listers: [0, 1]"),
        ("ready_timeout: 120s", "ready_timeout: 600s"),
    ];
    let levels = ["datastore=sqlite", "watch_cache=false"];
    let trials = run_changed_study("kubernetes-load.yaml", &changes, &levels);
    assert_eq!(trials.len(), 2, "{trials:?}");
    for trial in &trials {
        assert!(number(trial, "succeeded") > 0, "{trial:?}");
        let has_lists = !trial["lists.background_goodput_per_s"].is_empty();
        assert_eq!(has_lists, trial["factor_listers"] == "1", "{trial:?}");
    }
}

/// A walk gets every page of the list, and so many of them.
#[test]
fn walks_get_every_page() {
    let changes = [
        ("sessions: 8000", "sessions: 250"),
        ("equals: 7999", "equals: 249"),
        ("limit: [100, 500, 2000, 8002]", "limit: [100, 1000]"),
        ("ready_timeout: 120s", "ready_timeout: 600s"),
    ];
    let trials = run_changed_study("kubernetes-pages.yaml", &changes, &["watch_cache=true"]);
    assert_eq!(trials.len(), 2, "{trials:?}");
    for trial in &trials {
        assert_eq!(number(trial, "failed"), 0, "{trial:?}");
        let walks = number(trial, "sessions_completed");
        assert!(walks > 0, "{trial:?}");
        // 252 config maps, with two of the API server's own. Walks are cut off by the start and the end of the measured phase.
        let pages = if trial["factor_limit"] == "100" { 3 } else { 1 };
        let page_count = number(trial, "page.succeeded");
        assert!(page_count.abs_diff(walks * pages) <= pages, "{trial:?}");
        assert!(!trial["session_duration_p50_us"].is_empty(), "{trial:?}");
    }
}
