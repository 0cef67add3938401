//! What a plan says of all cells together: derived levels, cool-downs, limits, networks, preparation, background loads.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use waggle_report::wording::{
    self,
    format::{self, plural},
};
use waggle_spec::LoadModel;
use waggle_study::{Cell, Limits, Study};
use waggle_units::format_duration;

use super::words::range;

/// What holds for cells and is not in the list of them.
pub(super) fn details(study: &Study) -> Vec<String> {
    let derived = study.derived.iter();
    let derived =
        derived.map(|factor| format!("derived {} = {}", factor.name, factor.formula.trim()));
    let lines = derived.chain(cool_downs(study)).chain(limits(study));
    lines
        .chain(networks(study))
        .chain(preparation(study))
        .chain(inspections(study))
        .chain(background(study))
        .collect()
}

/// `answers to list are inspected: time to the first byte, …`, in each way that a cell has.
fn inspections(study: &Study) -> BTreeSet<String> {
    study.cells.iter().filter_map(inspection).collect()
}

fn inspection(cell: &Cell) -> Option<String> {
    let inspect = cell.inspect()?;
    let items = inspect.count.as_ref().map_or_else(String::new, |names| {
        let path = ["$"].into_iter().chain(names.iter().map(String::as_str));
        format!(", elements of {}", path.collect::<Vec<_>>().join("."))
    });
    Some(format!(
        "answers to {} are inspected: time to the first byte, bytes before and after decompression{items}",
        cell.name()
    ))
}

/// `each trial has a network of its own: 100 Mbit/s …`; of several kinds how many there are, and the first.
fn networks(study: &Study) -> Option<String> {
    let networks = study.cells.iter().filter_map(|cell| {
        let network = cell.network.as_ref()?;
        let info = waggle_system::network_info(network);
        Some((cell.number, Cow::Owned(info)))
    });
    match &wording::network::kinds(networks)[..] {
        [] => None,
        [(only, _)] => Some(format!("each trial has a network of its own: {only}")),
        [(first, _), others @ ..] => Some(format!(
            "each trial has a network of its own, of {} kinds, from: {first}",
            others.len() + 1
        )),
    }
}

/// `each replica of registry has at most 0.25 to 1.5 CPUs, 512 MiB`, for each component that a cell limits.
fn limits(study: &Study) -> Vec<String> {
    let mut components: BTreeMap<&str, Vec<&Limits>> = BTreeMap::new();
    for (name, limits) in study.cells.iter().flat_map(|cell| &cell.limits) {
        components.entry(name).or_default().push(limits);
    }
    let line = |(component, limits): (&str, Vec<&Limits>)| {
        let amounts = limit_amounts(&limits).join(", ");
        format!("each replica of {component} has at most {amounts}")
    };
    components.into_iter().map(line).collect()
}

fn limit_amounts(limits: &[&Limits]) -> Vec<String> {
    let mut cpus: Vec<f64> = limits.iter().filter_map(|limit| limit.cpus).collect();
    cpus.sort_by(f64::total_cmp);
    let memory = limits.iter().filter_map(|limit| limit.memory);
    let (least, most) = (memory.clone().min(), memory.max());
    let cpus = ends(
        cpus.first().copied().zip(cpus.last().copied()),
        wording::limits::cpus,
    );
    let memory = ends(least.zip(most), wording::limits::memory);
    cpus.into_iter().chain(memory).collect()
}

/// The least and the most as text.
fn ends<T>(ends: Option<(T, T)>, text: fn(T) -> String) -> Option<String> {
    ends.map(|(least, most)| range(text(least), text(most)))
}

/// How the system is prepared: the loads with the fewest and the most sessions of all cells.
fn preparation(study: &Study) -> Vec<String> {
    let mut preparations = study.cells.iter().flat_map(|cell| &cell.preparation);
    let Some(first) = preparations.next() else {
        return Vec::new();
    };
    let loads = first.loads.iter().enumerate();
    let loads: Vec<String> = loads
        .map(|(index, load)| format!("{} ({} sessions)", load.name(), sessions(study, index)))
        .collect();
    let how = match (&study.grow, first.snapshot) {
        (Some(factor), _) => format!("; it grows with {factor}"),
        (None, true) => "; it is kept as a snapshot".to_owned(),
        (None, false) => String::new(),
    };
    vec![format!("prepared by {}{how}", loads.join(", "))]
}

/// The fewest and the most sessions of a load of the preparation.
fn sessions(study: &Study, index: usize) -> String {
    let preparations = study.cells.iter().flat_map(|cell| &cell.preparation);
    let loads = preparations.filter_map(|preparation| preparation.loads.get(index));
    let sessions = loads.map(|load| load.sessions);
    let (min, max) = (sessions.clone().min(), sessions.max());
    let [min, max] = [min, max].map(|count| format::count(count.unwrap_or(0)));
    range(min, max)
}

/// `beside the load lists: connections 1 to 4; absent in 2 of 6 cells`, for each background load.
fn background(study: &Study) -> Vec<String> {
    let Some(first) = study.cells.first() else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    for (index, load) in first.background.iter().enumerate() {
        let cells = study.cells.iter().filter(|cell| !cell.is_sentinel);
        let models = cells.filter_map(|cell| Some(&cell.background.get(index)?.model));
        let models: Vec<&Option<LoadModel>> = models.collect();
        let amounts = background_amounts(&models).join(" or ");
        let absent = match models.iter().filter(|model| model.is_none()).count() {
            0 => String::new(),
            absent => format!("; absent in {absent} of {}", plural(models.len(), "cell")),
        };
        lines.push(format!(
            "beside the load {}: {amounts}{absent}",
            load.name()
        ));
    }
    lines
}

/// The fewest and the most connections, the lowest and the highest rate.
fn background_amounts(models: &[&Option<LoadModel>]) -> Vec<String> {
    let connections = models.iter().filter_map(|model| match model {
        Some(LoadModel::Closed { connections, .. }) => Some(f64::from(*connections)),
        _ => None,
    });
    let rates = models.iter().filter_map(|model| match model {
        Some(LoadModel::Open { rate_per_s, .. }) => Some(*rate_per_s),
        _ => None,
    });
    let ends = |amounts: Vec<f64>, unit: &str| {
        let ends = [f64::min, f64::max].map(|end| amounts.iter().copied().reduce(end));
        let [least, most] = ends.map(|amount| amount.map(|amount| format!("{amount}{unit}")));
        Some(range(least?, most?))
    };
    let amounts = [
        ends(connections.collect(), "").map(|text| format!("connections {text}")),
        ends(rates.collect(), "/s").map(|text| format!("rate {text}")),
    ];
    amounts.into_iter().flatten().collect()
}

/// What cool-downs wait for, each once: `cool-down until the load average is at most 0.5, polled every 5s, at most 5m`.
fn cool_downs(study: &Study) -> BTreeSet<String> {
    let line = |cell: &Cell| {
        let until = cell.schedule.cool_down_until.as_ref()?;
        let at_most = format_duration(cell.schedule.cool_down);
        Some(format!("cool-down {until}, at most {at_most}"))
    };
    study.cells.iter().filter_map(line).collect()
}
