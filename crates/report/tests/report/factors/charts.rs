//! How many charts a factor of numbers makes if further factors vary, and which lines are in which.

use crate::{html, seeded::Seeded, seeded_model};
use waggle_analysis::CurvesModel;

/// The levels of a line, and those of its chart.
fn line_places(curves: &CurvesModel) -> Vec<(String, String)> {
    let panels = curves.panels.iter();
    let lines = panels.flat_map(|panel| {
        let lines = panel.lines.iter();
        lines.map(|line| {
            let full = &curves.lines[line.line].name;
            for part in [&line.name, &panel.name] {
                assert!(full.contains(part.as_str()), "{full}: {part}");
            }
            (line.name.clone(), panel.name.clone())
        })
    });
    lines.collect()
}

#[test]
fn further_factors_make_a_chart_of_each_combination() {
    let factors: [(&str, &[&str]); 5] = [
        ("store", &["etcd", "sqlite", "mariadb"]),
        ("cache", &["on", "off"]),
        ("resource", &["secrets", "maps"]),
        ("size", &["4", "10000"]),
        ("objects", &["100", "200", "400"]),
    ];
    let model = seeded_model(&Seeded::plain(&factors, 1));
    let curves = model.curves.as_ref().unwrap();
    assert_eq!(curves.over.factor, "objects");
    let names: Vec<&str> = curves
        .panels
        .iter()
        .map(|panel| panel.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "secrets, size 4",
            "secrets, size 10000",
            "maps, size 4",
            "maps, size 10000"
        ]
    );
    let placed = line_places(curves);
    assert_eq!(placed.len(), curves.lines.len());
    assert_eq!(
        placed[1],
        ("etcd, off".to_owned(), "secrets, size 4".to_owned())
    );
    let page = html(&model);
    let last = curves.charts.len() * curves.panels.len() - 1;
    assert!(page.contains(&format!("id=\"curve-{last}\"")));
    assert!(!page.contains(&format!("id=\"curve-{}\"", last + 1)));
}

#[test]
fn one_chart_has_at_most_twelve_lines_and_an_outcome_twelve_charts() {
    let panels = |factors: &[(&str, &[&str])]| {
        let model = seeded_model(&Seeded::plain(factors, 1));
        let panels = model.curves.map(|curves| curves.panels);
        panels.map(|all| all.iter().map(|item| item.lines.len()).collect::<Vec<_>>())
    };
    let users: (&str, &[&str]) = ("users", &["1", "2", "3"]);
    let levels =
        |count: usize| -> Vec<String> { (0..count).map(|item| format!("level{item}")).collect() };
    let (eight, five) = (levels(8), levels(5));
    let eight: Vec<&str> = eight.iter().map(String::as_str).collect();
    let five: Vec<&str> = five.iter().map(String::as_str).collect();
    let stores: (&str, &[&str]) = ("store", &eight);
    assert_eq!(panels(&[users]), Some(vec![1]));
    assert_eq!(panels(&[stores, users]), Some(vec![8]));
    assert_eq!(
        panels(&[stores, ("mode", &["a", "b"]), users]),
        Some(vec![8, 8])
    );
    let further: [(&str, &[&str]); 2] = [("site", &five), ("plan", &["x", "y", "z"])];
    assert_eq!(panels(&[stores, further[0], further[1], users]), None);
}
