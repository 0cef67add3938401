//! Figures that somebody published: which are taken, in which unit, and every mistake.

use std::path::Path;

use waggle_study::{Mistakes, Source, Study, read_study_and_files};

use super::{STUDY, changed, mistakes::answered_table, source, system};

const TABLE: &str = "connections,per_s,late_s,cpu_percent,total
2,10,0.81,40,100
3,99,9,9,9
10,7000,,130.5,71000
";

const PUBLISHED: &str = r#"published:
  title: Table 1
  source: Somebody's machine.
  from: table.csv
  by: connections
  columns:
    - { column: per_s, number: order.goodput, unit: /s, name: Orders }
    - { column: late_s, number: delivery.store.delay.mean, unit: s }
    - { column: cpu_percent, number: components.front.cpu, unit: "%" }
    - { column: total, number: order.succeeded }
thresholds:"#;

fn text() -> String {
    changed(STUDY, &[("thresholds:", PUBLISHED)])
}

fn files(name: &str) -> Result<Source, String> {
    let text = match name {
        "table.csv" => TABLE,
        "wrong.csv" => "connections,per_s,late_s,cpu_percent,total\n2,many,0.81,40,100\n",
        "other.csv" => "connections,per_s,late_s,cpu_percent,total\n7,1,0.81,40,100\n",
        _ => return Err(format!("cannot read {name}: no such file")),
    };
    Ok(source(name, text))
}

fn read(text: String) -> Result<Study, Mistakes> {
    read_study_and_files(&source("study.yaml", text), &system(), &files)
}

#[test]
fn figures_are_taken_in_the_units_of_thresholds() {
    let study = read(text()).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let published = study.published.unwrap();
    let names: Vec<_> = published
        .columns
        .iter()
        .map(|column| &column.name)
        .collect();
    assert_eq!(names, ["Orders", "late_s", "cpu_percent", "total"]);
    assert_eq!(
        published.columns[1].number,
        ["delivery", "store", "delay", "mean"]
    );
    let rows: Vec<_> = published
        .rows
        .iter()
        .map(|row| (row.level.as_str(), &row.values[..]))
        .collect();
    // A row that no cell belongs to is left out; an empty field is no figure.
    let first = [Some(10.0), Some(810_000.0), Some(0.4), Some(100.0)];
    let second = [Some(7000.0), None, Some(1.305), Some(71000.0)];
    assert_eq!(rows, [("2", &first[..]), ("10", &second[..])]);
}

#[test]
fn every_mistake_of_published_figures() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/published-mistakes.txt");
    answered_table(&path, &text(), &|text| read(text).err());
}
