//! The reference of keys in `docs/reference`, from the schemas that `waggle schema` prints; `cargo xtask reference` writes it.

use waggle_testkit::check_page;

use crate::workspace::{Workspace, output_text};

mod keys;
mod values;

/// A page of keys.
struct Page {
    /// As in `waggle schema NAME`.
    schema: &'static str,
    /// Its file, without the ending.
    file: &'static str,
    title: &'static str,
    /// What the file or object is, and where more about it is.
    about: &'static str,
    /// Whether users write it; else it is a result, and every key that is not optional is there.
    is_written: bool,
}

const PAGES: [Page; 8] = [
    Page {
        schema: "study",
        file: "study-keys",
        title: "Keys of a study",
        about: "A study file. What the keys are for: [studies](studies.md), [scenarios](scenarios.md), [preparing a \
                system](prepare.md), [scaling laws](scaling.md).",
        is_written: true,
    },
    Page {
        schema: "system",
        file: "system-keys",
        title: "Keys of a system",
        about: "A file `system.yaml`. What the keys are for: [systems](systems.md), [probes and system metrics](probes.md).",
        is_written: true,
    },
    Page {
        schema: "scenario",
        file: "scenario-keys",
        title: "Keys of a scenario file",
        about: "A file of `load.scenario.file` or of `waggle load --scenario`. What the keys are for: [scenarios](scenarios.md).",
        is_written: true,
    },
    Page {
        schema: "load",
        file: "load-json",
        title: "Result of `waggle load --json`",
        about: "One object. `format` is its version: under the same number keys may be added, and none changes its meaning. An \
                unknown value is `null`.",
        is_written: false,
    },
    Page {
        schema: "search",
        file: "search-json",
        title: "Result of `waggle load --search … --json`",
        about: "One object with every load of the search in it.",
        is_written: false,
    },
    Page {
        schema: "report",
        file: "report-json",
        title: "`report.json` of a run",
        about: "Every run folder has it. Metrics are named as the columns of `tables.csv` ([metrics](metrics.md)), with the unit at \
                the end.",
        is_written: false,
    },
    Page {
        schema: "compare",
        file: "compare-json",
        title: "Result of `waggle compare --json`",
        about: "What the page of a comparison says ([comparing runs](compare.md)).",
        is_written: false,
    },
    Page {
        schema: "history",
        file: "history-json",
        title: "Result of `waggle history --json`",
        about: "What the page of a history says ([history](history.md)).",
        is_written: false,
    },
];

#[test]
fn the_reference_of_keys_is_that_of_the_schemas() {
    let workspace = Workspace::new();
    for page in &PAGES {
        let output = workspace.output(&["schema", page.schema]);
        assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
        let schema = serde_json::from_slice(&output.stdout).unwrap();
        check_page(
            &format!("reference/{}.md", page.file),
            &keys::page(page, &schema),
        );
    }
}
