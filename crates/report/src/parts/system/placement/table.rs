//! A row for each node.

use super::words;
use crate::{
    layout::table::{Column, Field, Table},
    words::format::{self, Unit},
};
use waggle_analysis::{NodeUse, Placement};

/// `has_agents`: agents made the load, and not the runner.
pub(crate) fn nodes(placement: &Placement, has_agents: bool) -> Table {
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
    // Of a runner elsewhere, and on machines of one's own, there is nothing to say.
    let head = if has_agents {
        "agents and runner"
    } else {
        "runner"
    };
    let mut used = placement.nodes.iter();
    if used.any(|node| words::load_side(node, has_agents).is_some()) {
        columns.push(Column::words(head, move |node: &&NodeUse| {
            Field::optional(words::load_side(node, has_agents))
        }));
    }
    let mut typed = placement.nodes.iter();
    if typed.any(|node| words::instance_type(node).is_some()) {
        columns.push(Column::words("type", |node: &&NodeUse| {
            Field::optional(words::instance_type(node))
        }));
    }
    columns.extend([
        Column::numbers("CPUs", facts(|node| format::amount(node.allocatable_cpus))),
        Column::numbers(
            "memory",
            facts(|node| Unit::Bytes.show(node.allocatable_memory_bytes)),
        ),
        Column::numbers(
            "CPUs reserved by others",
            facts(|node| format::amount(node.other_cpus)),
        ),
    ]);
    let caption = words::caption(placement);
    Table::new("nodes", caption, columns, &placement.nodes)
        .without_empty_columns()
        .with_title("Nodes of the system")
}
