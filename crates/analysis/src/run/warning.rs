//! What a reader must know before believing any number of the run.

use waggle_metrics::Metric;
use waggle_results::{Host, RunInfo, UnknownFact, VersionDesign};
use waggle_spec::Selection;
use waggle_stats::{Drawn, End};

use crate::{
    cell::{
        cell_model::CellModel,
        outcome::{Outcome, outcomes},
    },
    info::system_kind::{external_components, is_duet, is_external, ran_already},
    run::{search::SearchModel, system_counts::CountComparisonModel},
    trial::trial_model::TrialModel,
};

/// One thing that a reader must know.
#[derive(Debug, Clone, PartialEq)]
pub enum Warning {
    /// Another tool measured: which, and what its results do not show.
    Imported {
        tool: String,
        resolution_us: f64,
        unknown: Vec<UnknownFact>,
    },
    /// The run is of a part of the study, or of its short form.
    Selection {
        selection: Selection,
        /// Cells of the run.
        ran: usize,
    },
    /// Two versions of the system ran at the same time: on the same CPUs, or each on a half of them.
    Duet { has_halves: bool },
    /// Load generator and system were on one machine.
    SharedHost {
        cpus: SharedCpus,
        /// Components that waggle did not start, and so did not pin, beside those that it did.
        unpinned: Vec<String>,
    },
    /// Components that waggle did not start.
    RanAlready { components: Vec<String> },
    /// Steps of the scenario that no session came to: their numbers are missing, and the load was another one than was meant.
    NeverReached { steps: Vec<String> },
    /// In how many trials the generator came late though idle polling may help it.
    CameLate { late: usize, trials: usize },
    /// A percentile of delays at a probe rests on a few windows of a sample in so many cells, and nothing is concluded from it.
    FewWindows {
        /// Of the metric, with the probe.
        name: String,
        /// In the trial that has fewest; `None`: not known.
        windows: Option<u64>,
        cells: usize,
        of: usize,
    },
    /// Each cell ran once.
    RanOnce,
    /// Trials are missing.
    Interrupted { ran: usize, planned: usize },
    /// A search takes one trial for enough.
    OneTrialALevel,
    /// The system counts other than the load generator by more than the tolerance, in so many cells.
    CountsDiffer {
        metric: String,
        cells: usize,
        of: usize,
    },
    /// Searches that are not at their end.
    Unfinished { unfinished: usize, searches: usize },
    /// Trials at a share of the capacity are missing.
    PartialPoint {
        share: f64,
        ran: usize,
        planned: usize,
    },
}

/// How the CPUs of a machine were shared by load generator and system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SharedCpus {
    /// The system ran already, on whichever CPUs it was given: one server, or all components.
    External {
        is_server: bool,
    },
    NotPinned,
    Overlapping {
        load: Vec<u32>,
        system: Vec<u32>,
    },
    Disjoint {
        load: Vec<u32>,
        system: Vec<u32>,
    },
}

pub(crate) fn warnings(
    info: &RunInfo,
    trials: &[TrialModel],
    search: Option<&SearchModel>,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    warnings.extend(info.imported.as_ref().map(|imported| Warning::Imported {
        tool: imported.tool.clone(),
        resolution_us: imported.resolution_us,
        unknown: imported.unknown.clone(),
    }));
    warnings.extend(selection(info));
    let design = info.versions.as_ref().map(|versions| versions.design);
    let has_halves = design == Some(VersionDesign::DuetSwapped);
    if is_duet(info) {
        warnings.push(Warning::Duet { has_halves });
    }
    if info.host.shared_with_system && !has_halves {
        warnings.push(shared_host(info));
    }
    warnings.extend(components_ran_already(info));
    warnings.extend(never_reached(info, trials));
    warnings.extend(came_late(trials));
    if let Some(search) = search {
        warnings.extend(of_search(search));
        return warnings;
    }
    if info.schedule.max_repetitions() == 1 {
        warnings.push(Warning::RanOnce);
    }
    if trials.len() < info.order.len() {
        warnings.push(Warning::Interrupted {
            ran: trials.len(),
            planned: info.order.len(),
        });
    }
    warnings
}

/// The compared metrics whose counts differ somewhere.
pub(crate) fn counts_differ(compared: &[CountComparisonModel]) -> Vec<Warning> {
    let differing = compared
        .iter()
        .filter(|comparison| comparison.different_cells() > 0);
    let warning = |comparison: &CountComparisonModel| Warning::CountsDiffer {
        metric: comparison.metric.clone(),
        cells: comparison.different_cells(),
        of: comparison.cells.len(),
    };
    differing.map(warning).collect()
}

fn selection(info: &RunInfo) -> Option<Warning> {
    let selection = info.selection.clone()?;
    Some(Warning::Selection {
        selection,
        ran: info.cells.len(),
    })
}

/// The delays that a study is usually asked for, where they are shown and not known.
pub(crate) fn few_windows(cells: &[CellModel], info: &RunInfo) -> Vec<Warning> {
    let all: Vec<&CellModel> = cells.iter().collect();
    let outcomes = outcomes(&all, info);
    let delays = outcomes
        .iter()
        .filter(|outcome| outcome.named.row.metric == Metric::Delay);
    delays
        .filter_map(|outcome| few_windows_of_outcome(outcome, cells))
        .collect()
}

fn few_windows_of_outcome(outcome: &Outcome<'_>, cells: &[CellModel]) -> Option<Warning> {
    let draws = cells.iter();
    let draws: Vec<Drawn> = draws
        .filter_map(|cell| drawn_windows(outcome, cell))
        .collect();
    let windows = draws.iter().map(|drawn| match drawn {
        Drawn::Windows(windows) => *windows,
        Drawn::Values(_) => None,
    });
    Some(Warning::FewWindows {
        name: outcome.name.clone(),
        windows: windows.min()?,
        cells: draws.len(),
        of: cells.len(),
    })
}

/// The windows that a percentile of delays rests on, if they are too few.
fn drawn_windows(outcome: &Outcome<'_>, cell: &CellModel) -> Option<Drawn> {
    let distribution = match outcome.named.of {
        None => &cell.delay,
        Some(name) => {
            let mut probes = cell.intermediate_probes.iter();
            &probes.find(|probe| probe.name == name)?.delay
        }
    };
    let thin = distribution.percentile(outcome.named.statistic?)?.thin?;
    thin.is_of_windows().then_some(thin.drawn)
}

fn came_late(trials: &[TrialModel]) -> Option<Warning> {
    let late = trials.iter().filter(|trial| trial.awake_may_help).count();
    (late > 0).then_some(Warning::CameLate {
        late,
        trials: trials.len(),
    })
}

fn never_reached(info: &RunInfo, trials: &[TrialModel]) -> Option<Warning> {
    let numbers: Vec<_> = trials
        .iter()
        .filter_map(|trial| trial.numbers.as_ref())
        .collect();
    let steps = &info.scenario.as_ref()?.steps;
    let is_reached = |step: &&String| {
        let mut tried = numbers.iter().flat_map(|trial| &trial.steps);
        tried.any(|tried| tried.name == **step && tried.counts.succeeded + tried.counts.failed > 0)
    };
    let never: Vec<String> = steps
        .iter()
        .filter(|step| !is_reached(step))
        .cloned()
        .collect();
    (!numbers.is_empty() && !never.is_empty()).then_some(Warning::NeverReached { steps: never })
}

/// A search makes as many trials as it needs, so that those planned say nothing.
fn of_search(search: &SearchModel) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if search.info.confirmations == 1 {
        warnings.push(Warning::OneTrialALevel);
    }
    let unfinished = search
        .cells
        .iter()
        .filter(|search| search.answer.end == End::Unfinished)
        .count();
    if unfinished > 0 {
        warnings.push(Warning::Unfinished {
            unfinished,
            searches: search.cells.len(),
        });
    }
    warnings
}

fn components_ran_already(info: &RunInfo) -> Option<Warning> {
    let components = external_names(info);
    (!components.is_empty()).then_some(Warning::RanAlready { components })
}

fn external_names(info: &RunInfo) -> Vec<String> {
    let names = external_components(info).into_iter();
    names.map(str::to_owned).collect()
}

fn shared_host(info: &RunInfo) -> Warning {
    let cpus = shared_cpus(info);
    let is_pinned = matches!(
        cpus,
        SharedCpus::Overlapping { .. } | SharedCpus::Disjoint { .. }
    );
    Warning::SharedHost {
        cpus,
        unpinned: match is_pinned {
            true => external_names(info),
            false => Vec::new(),
        },
    }
}

fn shared_cpus(info: &RunInfo) -> SharedCpus {
    let Host {
        load_cpus,
        system_cpus,
        ..
    } = &info.host;
    let (load, system) = (load_cpus.clone(), system_cpus.clone());
    if ran_already(info) {
        SharedCpus::External {
            is_server: is_external(info),
        }
    } else if load.is_empty() || system.is_empty() {
        SharedCpus::NotPinned
    } else if load.iter().any(|cpu| system.contains(cpu)) {
        SharedCpus::Overlapping { load, system }
    } else {
        SharedCpus::Disjoint { load, system }
    }
}

#[cfg(test)]
mod tests {
    use waggle_results::{ComponentInfo, Host, RunInfo};

    use super::{SharedCpus, Warning, shared_host};

    #[test]
    fn what_waggle_did_not_start_is_not_pinned() {
        let component = |name: &str, external: &[&str]| ComponentInfo {
            name: name.to_owned(),
            version: "1".to_owned(),
            external: external.iter().map(|&port| port.to_owned()).collect(),
        };
        let check = |components: Vec<ComponentInfo>, expected: (SharedCpus, &[&str])| {
            let info = RunInfo {
                components,
                host: Host {
                    load_cpus: vec![0],
                    system_cpus: vec![1],
                    ..Host::default()
                },
                ..RunInfo::default()
            };
            let (cpus, unpinned) = expected;
            let unpinned = unpinned.iter().map(|&name| name.to_owned()).collect();
            assert_eq!(shared_host(&info), Warning::SharedHost { cpus, unpinned });
        };
        let external = |is_server| SharedCpus::External { is_server };
        let disjoint = || SharedCpus::Disjoint {
            load: vec![0],
            system: vec![1],
        };
        let api = || component("api", &["api 127.0.0.1:6443"]);
        check(Vec::new(), (external(true), &[]));
        // Of a kubeconfig.
        check(vec![api()], (external(false), &[]));
        check(vec![component("shop", &[])], (disjoint(), &[]));
        check(vec![api(), component("shop", &[])], (disjoint(), &["api"]));
    }
}
