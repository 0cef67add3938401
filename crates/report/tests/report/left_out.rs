//! Cells that were left out, wherever a report has them.

use waggle_analysis::{CellGroup, Conclusion, LeftOutGroup};
use waggle_report::{junit, markdown, report_json, summary, terminal, wording};
use waggle_results::{ArtifactInfo, LeftOutInfo, LeftOutReason};

use crate::{golden::check, html, seeded::Seeded, seeded_model};

#[test]
fn cells_that_were_left_out() {
    let mut model = seeded_model(&Seeded::plain(
        &[("technology", &["go"]), ("connections", &["10", "50"])],
        1,
    ));
    assert_eq!(model.conclusion(true), Conclusion::Answered);
    let (artifact, version) = ("trot".to_owned(), "0.7.0".to_owned());
    let reasons = [
        LeftOutReason::Requires {
            artifact: "phoenix".to_owned(),
            version: "1.7.14".to_owned(),
            programs: vec!["mix".to_owned(), "erl".to_owned()],
        },
        LeftOutReason::FetchFailed {
            artifact,
            version,
            why: "the script fetch/trot ended with exit code 1: Hex is not <reached>".to_owned(),
            failed_utc: "2026-01-02T03:04:05Z".to_owned(),
        },
    ];
    model.info.artifacts = vec![ArtifactInfo {
        name: "go".to_owned(),
        version: Some("1.24".to_owned()),
        cells: vec![1],
    }];
    let others = ["phoenix", "trot"].iter().zip(reasons);
    let left_out = others.flat_map(|(technology, reason)| {
        let cells = model.info.cells.iter();
        cells.map(move |cell| {
            let mut cell = cell.clone();
            cell.levels[0].1 = (*technology).to_owned();
            LeftOutInfo {
                cell,
                reason: reason.clone(),
            }
        })
    });
    model.info.left_out = left_out.collect();
    assert_eq!(model.conclusion(false), Conclusion::Answered);
    assert_eq!(model.conclusion(true), Conclusion::Open);
    check(
        &format!("{}\n", terminal(&model, None)),
        "left-out.terminal.txt",
    );
    check(&summary(&model), "left-out.summary.md");
    check(&junit(&model), "left-out.junit.xml");
    let text = markdown(&model);
    let section = text
        .split("## ")
        .find(|part| part.starts_with("Cells left out"));
    assert!(section.is_some(), "{text}");
    assert!(text.contains("go 1.24 (connections=10)"), "{text}");
    assert!(html(&model).contains("id=\"left-out\""));
    let json: serde_json::Value = serde_json::from_str(&report_json(&model)).unwrap();
    assert_eq!(json["left_out"][0]["cells"], "technology=phoenix (2 cells)");
    assert_eq!(json["left_out"][1]["count"], 2);
    let all = LeftOutGroup {
        cells: CellGroup::Levels(Vec::new()),
        reason: model.info.left_out[0].reason.clone(),
        count: 16,
    };
    assert_eq!(wording::left_out::cells(&all), "all 16 cells");
    let other = markdown(&seeded_model(&Seeded::plain(&[], 1)));
    assert!(!other.contains("left out"));
}
