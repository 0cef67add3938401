//! A scenario that stands in a file of its own, put into the study that names the file.

use crate::{
    Level, Source,
    mistake::Finding,
    schema::OF_STUDY,
    shelf::Shelf,
    tree::{Entry, Node, Value},
};

/// Puts a scenario that stands in a file of its own in the place where the study names that file; gives the file.
pub(crate) fn include_scenario(
    root: &mut Node,
    shelf: Option<&Shelf<'_>>,
    found: &mut Vec<Finding>,
) -> Option<Source> {
    let scenario = root.child_mut("load")?.child_mut("scenario")?;
    let named = scenario.entry("file")?.clone();
    let Value::Scalar(Level::Text(name)) = &named.node.value else {
        // The walk says what is wrong with it.
        return None;
    };
    let beside: Vec<Entry> = scenario.entries().to_vec();
    let is_endpoint = |entry: &&Entry| entry.key == "endpoint";
    for entry in beside
        .iter()
        .filter(|entry| !is_endpoint(entry) && entry.key != "file")
    {
        let what = format!("load.scenario has both file and {}", entry.key);
        found.push(Finding::new(entry.place, what).with_expected("one of the two"));
    }
    scenario.value = Value::Wild;
    if name.contains("${") {
        let what = "load.scenario.file is the same in every cell; ${…} cannot stand in it";
        found.push(Finding::new(named.node.place, what).with_expected("the name of a file"));
        return None;
    }
    let (tree, source) = shelf?.tree(name, named.node.place, found)?;
    let Value::Map(mut entries) = tree.value else {
        let what = format!("the scenario is {}", tree.kind());
        found.push(
            Finding::new(tree.place, what).with_expected("a mapping with name, feeds, flows"),
        );
        return None;
    };
    refuse_keys_of_study(&Node::new(Value::Map(entries.clone()), tree.place), found);
    entries.retain(|entry| !OF_STUDY.contains(&entry.key.as_str()));
    entries.extend(beside.iter().find(is_endpoint).cloned());
    scenario.value = Value::Map(entries);
    scenario.place = tree.place;
    Some(source)
}

/// What a scenario of its own cannot say.
pub(crate) fn refuse_keys_of_study(scenario: &Node, found: &mut Vec<Finding>) {
    for entry in scenario.entries() {
        if OF_STUDY.contains(&entry.key.as_str()) {
            let what = format!("the key {:?} has a meaning in a study only", entry.key);
            found.push(
                Finding::new(entry.place, what).with_expected("name, on_failure, feeds, flows"),
            );
        }
    }
}
