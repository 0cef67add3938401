//! Reference results: which are taken, in which unit, and every mistake.

use std::path::Path;

use waggle_study::{Mistakes, Problem, Source, Study, read_study_and_files};

use super::{STUDY, change_text, mistakes::answered_table, source, system};

const TABLE: &str = "connections,per_s,late_s,cpu_percent,total
2,10,0.81,40,100
3,99,9,9,9
10,7000,,130.5,71000
";

const TWO: &str = "connections,pipelining,per_s,late_s,cpu_percent,total
2,1,10,1,1,1
2,7,20,1,1,1
10,4,70,1,1,1
";

const REFERENCE: &str = r#"reference:
  title: Table 1
  source: Somebody's machine.
  file: table.csv
  match_on: connections
  columns:
    - { column: per_s, metric: order.goodput, unit: /s, name: Orders }
    - { column: late_s, metric: delivery.store.delay.mean, unit: s }
    - { column: cpu_percent, metric: components.front.cpu, unit: "%" }
    - { column: total, metric: order.succeeded }
thresholds:"#;

fn text() -> String {
    change_text(STUDY, &[("thresholds:", REFERENCE)])
}

fn files(name: &str) -> Result<Source, Problem> {
    let text = match name {
        "table.csv" => TABLE,
        "wrong.csv" => "connections,per_s,late_s,cpu_percent,total\n2,many,0.81,40,100\n",
        "other.csv" => "connections,per_s,late_s,cpu_percent,total\n7,1,0.81,40,100\n",
        "two.csv" => TWO,
        "apart.csv" => "connections,pipelining,per_s,late_s,cpu_percent,total\n2,7,1,1,1,1\n",
        "twice.csv" => {
            "connections,per_s,late_s,cpu_percent,total\n2,1,1,1,1\n10,1,1,1,1\n2,1,1,1,1\n"
        }
        _ => return Err(Problem(format!("cannot read {name}: no such file"))),
    };
    Ok(source(name, text))
}

fn read(text: String) -> Result<Study, Mistakes> {
    read_study_and_files(&source("study.yaml", text), &system(), &files)
}

#[test]
fn figures_are_taken_in_the_units_of_thresholds() {
    let study = read(text()).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let reference = study.reference.unwrap();
    let names: Vec<_> = reference
        .columns
        .iter()
        .map(|column| &column.name)
        .collect();
    assert_eq!(names, ["Orders", "late_s", "cpu_percent", "total"]);
    assert_eq!(
        reference.columns[1].metric,
        ["delivery", "store", "delay", "mean"]
    );
    let rows: Vec<_> = reference
        .rows
        .iter()
        .map(|row| (row.levels.join(" "), &row.values[..]))
        .collect();
    // A row that no cell belongs to is left out; an empty field is no figure.
    let first = [Some(10.0), Some(810_000.0), Some(0.4), Some(100.0)];
    let second = [Some(7000.0), None, Some(1.305), Some(71000.0)];
    let expected = [("2".to_owned(), &first[..]), ("10".to_owned(), &second[..])];
    assert_eq!(
        (reference.match_on, rows),
        (vec!["connections".to_owned()], expected.to_vec())
    );
}

#[test]
fn several_factors_name_a_row() {
    let of_two = [
        (
            "match_on: connections",
            "match_on: [pipelining, connections]",
        ),
        ("file: table.csv", "file: two.csv"),
    ];
    let study = read(change_text(&text(), &of_two)).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let reference = study.reference.unwrap();
    assert_eq!(reference.match_on, ["pipelining", "connections"]);
    let rows: Vec<_> = reference
        .rows
        .iter()
        .map(|row| (row.levels.join(" "), row.values[0]))
        .collect();
    // Two of the combinations have no row; one row belongs to no cell.
    let expected = [
        ("1 2".to_owned(), Some(10.0)),
        ("4 10".to_owned(), Some(70.0)),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn every_mistake_of_reference_results() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/reference-mistakes.txt");
    answered_table(&path, &text(), &|text| read(text).err());
}
