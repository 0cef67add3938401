//! Includes a scenario from a file of its own in the study that names the file.

use crate::{
    Level, Source,
    mistake::Finding,
    schema::OF_STUDY,
    sources::Sources,
    tree::{Entry, Node, Value},
};

/// Replaces `load.scenario.file` by the scenario in that file; returns the file.
pub(crate) fn include_scenario(
    root: &mut Node,
    sources: Option<&Sources<'_>>,
    findings: &mut Vec<Finding>,
) -> Option<Source> {
    let scenario = root.child_mut("load")?.child_mut("scenario")?;
    let named = scenario.entry("file")?.clone();
    let Value::Scalar(Level::Text(name)) = &named.node.value else {
        // The validation reports what is wrong with it.
        return None;
    };
    let included: Vec<Entry> = scenario.entries().to_vec();
    let is_endpoint = |entry: &&Entry| entry.key == "endpoint";
    for entry in included
        .iter()
        .filter(|entry| !is_endpoint(entry) && entry.key != "file")
    {
        let what = format!("load.scenario has both file and {}", entry.key);
        findings.push(Finding::new(entry.position, what).with_expected("one of the two"));
    }
    scenario.value = Value::Invalid;
    if name.contains("${") {
        let what = "load.scenario.file is the same in every cell; ${…} is not allowed in it";
        findings.push(Finding::new(named.node.position, what).with_expected("the name of a file"));
        return None;
    }
    let (tree, source) = sources?.tree(name, named.node.position, findings)?;
    let Value::Map(mut entries) = tree.value else {
        let what = format!("the scenario is {}", tree.kind());
        findings.push(
            Finding::new(tree.position, what).with_expected("a mapping with name, feeds, flows"),
        );
        return None;
    };
    refuse_keys_of_study(
        &Node::new(Value::Map(entries.clone()), tree.position),
        findings,
    );
    entries.retain(|entry| !OF_STUDY.contains(&entry.key.as_str()));
    entries.extend(included.iter().find(is_endpoint).cloned());
    scenario.value = Value::Map(entries);
    scenario.position = tree.position;
    Some(source)
}

/// Reports the keys that only a scenario in a study may have.
pub(crate) fn refuse_keys_of_study(scenario: &Node, findings: &mut Vec<Finding>) {
    for entry in scenario.entries() {
        if OF_STUDY.contains(&entry.key.as_str()) {
            let what = format!("the key {:?} has a meaning in a study only", entry.key);
            findings.push(
                Finding::new(entry.position, what).with_expected("name, on_failure, feeds, flows"),
            );
        }
    }
}
