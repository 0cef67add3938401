//! Derived levels: values that each cell computes from its other levels.

use waggle_spec::{DerivedLevel, LoadModel};
use waggle_study::{Level, Study, What, read_study};

use super::{STUDY, change_text, source, system};

const FACTORS: &str = "factors:\n  connections: [2, 10]\n  pipelining: [1, 4]\n  workers: [1, 2]\n";

/// The value of the header `X-Shop` uses a derived level if `header` does.
fn study(cells: &str, header: &str) -> Study {
    let header = format!("X-Shop: {header}");
    let changes = [
        (FACTORS, cells),
        ("${pipelining}", "1"),
        ("X-Shop: one", &header),
    ];
    let text = change_text(STUDY, &changes);
    read_study(&source("study.yaml", text), &system())
        .unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

/// How many random integers the published study of web technologies asked for: N = p / (5 * 9 * c).
#[test]
fn the_published_pairs() {
    let study = study(
        "factors:\n  connections: [100, 500, 1000, 1500, 2500]\n  traffic: [2000000, 6000000, 10000000]\n\
         derived:\n  n: floor(${traffic} / (5 * 9 * ${connections}))\n",
        "\"${n}\"",
    );
    let pairs: Vec<(i64, i64)> = study
        .cells
        .iter()
        .map(|cell| match (&cell.levels[0].1, &cell.derived[0]) {
            (Level::Integer(c), (_, Level::Integer(n))) => (*c, *n),
            other => panic!("{other:?}"),
        })
        .collect();
    let published = [
        (100, [444, 1333, 2222]),
        (500, [88, 266, 444]),
        (1000, [44, 133, 222]),
        (1500, [29, 88, 148]),
        (2500, [17, 53, 88]),
    ];
    let published = published.into_iter();
    let published: Vec<(i64, i64)> = published.flat_map(|(c, n)| n.map(|n| (c, n))).collect();
    assert_eq!(pairs, published);
}

#[test]
fn derived_levels_are_used_as_levels_are_and_are_no_factors() {
    let study = study(
        "cells:\n  - { kilo: 1 }\n  - { kilo: 3 }\nfactors:\n  users: [2, 5]\n\
         derived:\n  workers: min(8, ${connections} / 2)\n  connections: ${kilo} * ${users} * 2\n",
        "one",
    );
    assert_eq!(study.factors, ["kilo", "users"]);
    let derived = |name: &str, formula: &str| DerivedLevel {
        name: name.to_owned(),
        formula: formula.to_owned(),
        factors: vec!["kilo".to_owned(), "users".to_owned()],
    };
    let expected = [
        derived("workers", "min(8, ${connections} / 2)"),
        derived("connections", "${kilo} * ${users} * 2"),
    ];
    assert_eq!(study.derived, expected);
    for (cell, connections) in study.cells.iter().zip([4_u32, 10, 12, 30]) {
        assert_eq!(cell.levels.len(), 2);
        assert_eq!(cell.derived[1].1, Level::Integer(connections.into()));
        let LoadModel::Closed {
            connections: count, ..
        } = cell.load
        else {
            panic!("{:?}", cell.load);
        };
        assert_eq!(count, connections);
        // A parameter of the system has the level of the same name.
        let workers = Level::Integer((i64::from(connections) / 2).min(8));
        assert_eq!(cell.parameters["workers"], workers);
    }
}

#[test]
fn only_a_whole_number_is_an_integer() {
    let study = study(
        "factors:\n  connections: [3]\nderived: { half: \"${connections} / 2\", n: \"${half} * 4\" }\n",
        "\"${half} ${n}\"",
    );
    let What::Request(request) = &study.cells[0].what else {
        panic!("{:?}", study.cells[0].what);
    };
    assert_eq!(request.headers, [("X-Shop".to_owned(), "1.5 6".to_owned())]);
}
