//! A row for each node.

use super::words;
use crate::{
    layout::table::{Column, Field, Table},
    words::format::{self, Unit},
};
use waggle_analysis::{NodeUse, Placement};

/// What a column of words says of a node, if it is known.
type OptionalText = fn(&NodeUse) -> Option<String>;

pub(crate) fn nodes(placement: &Placement) -> Table {
    let facts = |text: fn(&waggle_results::NodeInfo) -> String| {
        move |node: &&NodeUse| Field::optional(node.facts.as_ref().map(text))
    };
    let trials = placement.trials;
    let mut columns = vec![
        Column::words("node", |node: &&NodeUse| Field::plain(&*node.node)).into_row_name(),
        Column::words("replicas of the system", move |node: &&NodeUse| {
            Field::plain(words::replicas(node, trials))
        }),
    ];
    let texts: [(&str, OptionalText); 2] =
        [("agents", words::agents), ("type", words::instance_type)];
    // Without agents, and on machines of one's own, there is nothing to say.
    let told = texts
        .into_iter()
        .filter(|(_, text)| placement.nodes.iter().any(|node| text(node).is_some()));
    columns.extend(told.map(|(head, text)| {
        Column::words(head, move |node: &&NodeUse| Field::optional(text(node)))
    }));
    columns.extend([
        Column::numbers("CPUs", facts(|node| format::amount(node.allocatable_cpus))),
        Column::numbers(
            "memory",
            facts(|node| Unit::Bytes.show(node.allocatable_memory_bytes)),
        ),
        Column::numbers(
            "CPUs that other pods ask for",
            facts(|node| format::amount(node.other_cpus)),
        ),
    ]);
    let caption = words::caption(placement);
    Table::new("nodes", caption, columns, &placement.nodes)
        .without_empty_columns()
        .with_title("Nodes of the system")
}
