//! A row for each node.

use super::words;
use crate::{
    layout::table::{Column, Field, Table},
    words::format::{self, Unit},
};
use waggle_analysis::{NodeUse, Placement};

pub(crate) fn nodes(placement: &Placement) -> Table {
    let facts = |text: fn(&waggle_results::NodeInfo) -> String| {
        move |node: &&NodeUse| Field::optional(node.facts.as_ref().map(text))
    };
    let trials = placement.trials;
    let columns = vec![
        Column::words("node", |node: &&NodeUse| Field::plain(&*node.node)).into_row_name(),
        Column::words("replicas of the system", move |node: &&NodeUse| {
            Field::plain(words::replicas(node, trials))
        }),
        Column::words("agents", |node: &&NodeUse| {
            Field::optional(words::agents(node))
        }),
        Column::words("type", |node: &&NodeUse| {
            let facts = node.facts.as_ref();
            Field::optional(facts.and_then(|facts| facts.instance_type.clone()))
        }),
        Column::numbers("CPUs", facts(|node| format::amount(node.allocatable_cpus))),
        Column::numbers(
            "memory",
            facts(|node| Unit::Bytes.show(node.allocatable_memory_bytes)),
        ),
        Column::numbers(
            "CPUs that other pods ask for",
            facts(|node| format::amount(node.other_cpus)),
        ),
    ];
    let caption = words::caption(placement);
    Table::new("nodes", caption, columns, &placement.nodes)
        .without_empty_columns()
        .with_title("Nodes of the system")
}
