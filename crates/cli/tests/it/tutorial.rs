//! Follows the tutorial of the documentation.

use std::{fs, path::Path};

use crate::workspace::{Workspace, output_text};

/// The files of `docs/systems.md`: a line with only a name in backticks, followed by a code block.
fn files(text: &str) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let name = line
            .strip_prefix('`')
            .and_then(|rest| rest.strip_suffix('`'));
        let Some(name) = name.filter(|name| !name.contains('`')) else {
            continue;
        };
        let block: Vec<&str> = lines
            .by_ref()
            .skip_while(|line| !line.starts_with("```"))
            .skip(1)
            .take_while(|line| !line.starts_with("```"))
            .collect();
        files.push((name.to_owned(), block.join("\n") + "\n"));
    }
    files
}

#[test]
fn tutorial_of_an_own_system_works() {
    let workspace = Workspace::new();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/systems.md");
    let files = files(&fs::read_to_string(page).unwrap());
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "systems/notes/server.py",
            "systems/notes/system.yaml",
            "notes.yaml"
        ]
    );
    for (name, text) in &files {
        let file = workspace.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    let plan = workspace.output(&["plan", "notes.yaml"]);
    assert_eq!(plan.status.code(), Some(0), "{}", output_text(&plan));
    let run = workspace.output(&["run", "notes.yaml", "--quick"]);
    let model = workspace.report_of(&run);
    assert_eq!(model.trials.len(), 4);
    for trial in &model.trials {
        let ledger = trial
            .ledger
            .clone()
            .unwrap_or_else(|| panic!("{}", output_text(&run)));
        assert!(ledger.accepted > 0 && ledger.missing == 0, "{ledger:?}");
    }
}
