//! What a reader must know before believing any number of the run, a sentence each.

use waggle_analysis::{Model, SharedCpus, Warning};

#[must_use]
pub fn sentences(model: &Model) -> Vec<String> {
    model.warnings.iter().map(sentence).collect()
}

fn sentence(warning: &Warning) -> String {
    match warning {
        Warning::SharedHost(cpus) => shared_host(cpus),
        // What cannot be promised of components that somebody else runs.
        Warning::RanAlready { components } => format!(
            "Not started by waggle, for running already: {}. They were not emptied or started anew between trials, their CPU and \
             memory are not known, and what others did with them meanwhile is part of what was measured.",
            components.join(", ")
        ),
        Warning::NeverReached { steps } => format!(
            "No session came to {} within the measured phases: longer ones, or shorter pauses, would.",
            steps.join(", ")
        ),
        Warning::CameLate { late, trials } => format!(
            "In {late} of {trials} trials the generator came late while CPUs were idle or taken by the machine's host: --idle-poll may help."
        ),
        Warning::RanOnce => "Each cell ran once: single run, no uncertainty known.".to_owned(),
        Warning::Interrupted { ran, planned } => format!(
            "{ran} of {planned} planned trials have run; the cells of the others show what there is."
        ),
        Warning::OneTrialALevel => {
            "One trial is enough at each level: no uncertainty known.".to_owned()
        }
        Warning::Unfinished {
            unfinished,
            searches,
        } => format!(
            "{unfinished} of {searches} searches are not finished; their answers are those so far."
        ),
    }
}

fn shared_host(shared: &SharedCpus) -> String {
    let pinning = match shared {
        SharedCpus::External => {
            return "Load generator and server shared one machine; the server ran already, on whichever CPUs it was given, and was not \
                    started anew between trials."
                .to_owned();
        }
        SharedCpus::NotPinned => "not pinned, so that they compete for the same CPUs".to_owned(),
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
    format!(
        "Load generator and system shared one machine, {pinning}; memory, disk and kernel were shared."
    )
}

/// `0, 2, 3`.
fn cpus(cpus: &[u32]) -> String {
    let cpus: Vec<String> = cpus.iter().map(ToString::to_string).collect();
    cpus.join(", ")
}
