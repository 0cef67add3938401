//! Warnings about the whole run, a sentence each.

use waggle_analysis::{Model, SharedCpus, Warning, left_out_of_run};
use waggle_spec::Selection;

use super::asked_before;
use crate::{
    parts::{capacity::operating_points, cells::left_out, reliability::drift},
    words::{format, imported},
};

#[must_use]
pub fn sentences(model: &Model) -> Vec<String> {
    let drift = model.drift.iter().flat_map(drift::words::shown_sentences);
    let left_out = left_out::words::warning(&left_out_of_run(&model.info), model.cells.len());
    let changed = asked_before::warning(&model.asked_before);
    let all = changed
        .into_iter()
        .chain(left_out)
        .chain(model.warnings.iter().map(sentence));
    all.chain(drift).collect()
}

fn sentence(warning: &Warning) -> String {
    match warning {
        Warning::Imported {
            tool,
            resolution_us,
            unknown,
        } => imported::warning(tool, *resolution_us, unknown),
        Warning::Selection {
            selection,
            ran: cells,
        } => selection_sentences(selection, *cells),
        Warning::Duet { has_halves } => duet(*has_halves),
        Warning::SharedHost { cpus, unpinned } => shared_host(cpus, unpinned),
        Warning::RanAlready { components } => format!(
            "External components: {}. waggle did not start them, delete their data or restart them between trials; their CPU and memory \
             are not known, and the load of other clients is part of the results.",
            components.join(", ")
        ),
        Warning::NeverReached { steps } => format!(
            "No session reached {} within the measured phases: use longer phases or shorter think times.",
            steps.join(", ")
        ),
        Warning::CameLate { late, trials } => format!(
            "In {late} of {trials} trials the load generator was late while CPUs were idle or taken by the hypervisor: --idle-poll may help."
        ),
        Warning::CountsDiffer { metric, cells, of } => format!(
            "In {cells} of {of} cells the system's {metric} differs from the load generator's count by more than the tolerance: see Counts \
             of the system."
        ),
        Warning::FewWindows {
            name,
            windows,
            cells,
            of,
        } => few_windows(name, *windows, (*cells, *of)),
        Warning::RanOnce => "Each cell has one trial, so no value has an interval.".to_owned(),
        Warning::Interrupted { ran, planned } => format!(
            "{ran} of {planned} planned trials have run; the results of the other cells are partial."
        ),
        Warning::OneTrialALevel => {
            "The search needs one trial per level (confirmations: 1), so no value has an interval."
                .to_owned()
        }
        Warning::Unfinished {
            unfinished,
            searches,
        } => format!(
            "{unfinished} of {searches} searches are not finished; their answers are preliminary."
        ),
        Warning::PartialPoint {
            share,
            ran,
            planned,
        } => format!(
            "{ran} of {planned} trials at {} have run.",
            operating_points::words::place(*share)
        ),
    }
}

fn few_windows(name: &str, windows: Option<u64>, (cells, total): (usize, usize)) -> String {
    let windows = match windows {
        Some(windows) => format!(
            "a trial has {} at the least",
            format::plural(windows, "window")
        ),
        None => "how many windows a trial has is not known".to_owned(),
    };
    format!(
        "{name} is that of records in windows of a sample in {cells} of {total} cells ({windows}). A store that stalls shows it in few of \
         them, so nothing is compared or decided by it."
    )
}

fn selection_sentences(selection: &Selection, ran: usize) -> String {
    let quick = selection.quick.then(|| {
        "A smoke run (--quick): one repetition with the shortest phases shows whether the study works, not how fast the system is."
            .to_owned()
    });
    let pilot = selection.pilot.then(|| {
        "A pilot (--pilot): three repetitions show how much trials scatter; waggle plan says from that what more of them would show."
            .to_owned()
    });
    let filters: Vec<String> = selection
        .filters
        .iter()
        .map(|filter| format!("--filter {filter}"))
        .collect();
    let part = (!filters.is_empty()).then(|| {
        format!(
            "The run has {ran} of the study's {} cells ({}).",
            selection.cells,
            filters.join(" ")
        )
    });
    let form = quick.into_iter().chain(pilot);
    form.chain(part).collect::<Vec<_>>().join(" ")
}

fn duet(has_halves: bool) -> String {
    let (cpus, ratios) = match has_halves {
        true => (
            "load and system of each on one half of the CPUs, on the other half in the next repetition",
            "their ratio is the result",
        ),
        false => (
            "on the same CPUs",
            "the ratio of CPU per request is the result; goodput and times differ by less than those of each version alone",
        ),
    };
    format!(
        "Two versions ran at the same time, {cpus}. The values of a cell are those next to the other version: {ratios}, and no level is \
         that of one version alone."
    )
}

fn shared_host(shared: &SharedCpus, unpinned: &[String]) -> String {
    let pinning = match shared {
        SharedCpus::External { is_server: true } => {
            return "Load generator and server shared one machine; the server is external: waggle neither pinned it to CPUs nor restarted \
                    it between trials."
                .to_owned();
        }
        SharedCpus::External { is_server: false } => {
            return "Load generator and system shared one machine; waggle did not start the system: it neither pinned it to CPUs nor \
                    restarted it between trials."
                .to_owned();
        }
        SharedCpus::NotPinned => "not pinned, so they compete for the same CPUs".to_owned(),
        SharedCpus::Overlapping { load, system } => format!(
            "on overlapping CPUs (load {}, system {})",
            cpus(load),
            cpus(system)
        ),
        SharedCpus::Disjoint { load, system } => format!(
            "pinned to disjoint CPUs (load {}, system {})",
            cpus(load),
            cpus(system)
        ),
    };
    let but = match unpinned {
        [] => String::new(),
        names => format!(
            "; what waggle did not start is not pinned ({})",
            names.join(", ")
        ),
    };
    format!(
        "Load generator and system shared one machine, {pinning}{but}; they shared memory, disk and kernel."
    )
}

/// `0, 2, 3`.
fn cpus(cpus: &[u32]) -> String {
    let cpus: Vec<String> = cpus.iter().map(ToString::to_string).collect();
    cpus.join(", ")
}
