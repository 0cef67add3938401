//! What holds for a study as a whole: name, repetitions, thresholds, and whether it fits the system at all.

use std::time::Duration;

use waggle_spec::Search;

use super::{
    Checker,
    known_metrics::{Answers, Known, Sent, known_metrics},
    prepare::{grow, load_thresholds},
    system_pods::{Beside, system_pods},
    threshold::{asks, conditions},
};
use crate::{
    Level, Study, System,
    at::At,
    levels::Levels,
    mistake::{Finding, Position},
    parts::{
        delivery::Delivery,
        load::agents::{agents, runner::runner},
        report::{best_and_worst, reference::reference},
        request::RESERVED_NAMES,
        scaling,
        schedule::Schedule,
        search::search,
    },
    raw,
    shuffle::seed_of,
    tree::{Node, Value},
};

/// Most trials of a study.
const MAX_TRIALS: u64 = 100_000;

/// The study without its cells.
#[expect(clippy::too_many_lines, reason = "a line or two a key")]
pub(crate) fn study_without_cells(
    checker: &mut Checker<'_>,
    raw: &raw::Study,
    system: Option<&System>,
    cells: &[Levels],
    factors: &[String],
) -> Option<Study> {
    let tree = checker.root();
    let sent = sent_names(tree, raw, system);
    let delivery = tree.child("delivery").is_some();
    let is_reserved = |name: &String| RESERVED_NAMES.contains(&name.as_str());
    // If the metrics are not known, the reason was reported.
    let is_known = sent.complete && !sent.names.iter().any(is_reserved);
    let known = is_known.then(|| known_metrics(&sent));
    let mut conditions = |texts: Option<&Vec<At<String>>>| match (&known, texts) {
        (Some(known), Some(texts)) => conditions(checker, texts, known, delivery),
        _ => Vec::new(),
    };
    let thresholds = conditions(raw.thresholds.value()).into_iter();
    let mut thresholds: Vec<_> = thresholds.map(|condition| condition.value).collect();
    let wanted = raw.search.content();
    let wanted = conditions(wanted.and_then(|search| search.value.conditions.value()));
    let bounds = conditions(raw.scaling.value().and_then(|raw| raw.bounds.value()));
    let search = raw
        .search
        .content()
        .map(|given| search(checker, given, wanted));
    if let Some(known) = &known {
        thresholds.extend(load_thresholds(checker, raw, known));
    }
    let asks = known
        .as_ref()
        .map_or_else(Vec::new, |known| asks(checker, &raw.asks, known, delivery));
    let measured = |name: &str| delivery || !name.starts_with("delivery.");
    let known: Option<Vec<Known>> = known.map(|known| {
        let known = known.into_iter();
        known.filter(|(name, _)| measured(name)).collect()
    });
    let reference = reference(checker, &raw.reference, cells, known.as_deref());
    let best_and_worst =
        best_and_worst::best_and_worst(checker, &raw.best_and_worst, cells, known.as_deref());
    let scaling = scaling::scaling(checker, &raw.scaling, cells, factors, bounds);
    if raw.search.is_some() {
        scaling::refuse_search(checker, &raw.scaling);
        best_and_worst::refuse_search(checker, &raw.best_and_worst);
    }
    let schedule = raw.schedule.value();
    let repeat = schedule.map(|keys| &keys.repeat);
    if let Some(repeat) = repeat.filter(|_| raw.search.is_some()) {
        repeat.refuse_search(checker);
    }
    let restart = schedule.map(Schedule::restart).unwrap_or_default();
    let grow = grow(checker, raw, restart, factors);
    let (load_cpuset, system_cpuset) = cpusets(checker);
    let agents = (raw.agents).check(|given| agents(checker, given, raw));
    let made_by = agents.as_ref().and_then(Option::as_ref);
    let runner = (raw.runner).check(|given| runner(checker, given, made_by));
    let beside = Beside {
        study: raw,
        system,
        agents: made_by,
        runner: runner.as_ref().and_then(Option::as_ref),
    };
    let keys = raw.system.value().map(|keys| &keys.pods);
    let pods = keys.map_or(Some(None), |keys| {
        keys.check(|given| system_pods(checker, given, beside))
    });
    let repetitions = checked_repetitions(checker, raw, search.as_ref(), cells);
    let (schedule, system) = (schedule?, system?);
    check_system(checker, raw, system);
    let name = raw.study.clone()?.0;
    let (repeat, repeat_max) = repetitions?;
    Some(Study {
        question: raw.question.clone()?,
        system: system.name.clone(),
        system_pods: pods?,
        external: Vec::new(),
        kubeconfig: None,
        oauth2: None,
        secrets: Vec::new(),
        taken: Vec::new(),
        seed: raw.seed.map_or_else(|| seed_of(&name), i64::unsigned_abs),
        has_own_seed: raw.seed.is_some(),
        name,
        factors: Vec::new(),
        derived: Vec::new(),
        cells: Vec::new(),
        repeat,
        repeat_max,
        repeat_max_duration: schedule.repeat.max_duration(),
        order: schedule.order(),
        versions: None,
        sentinel_every: schedule.sentinel(checker, raw.search.is_some()),
        restart,
        grow,
        agents: agents?,
        runner: runner?,
        selection: None,
        load_cpuset,
        system_cpuset,
        max_ci_width: schedule.repeat.max_ci_width(),
        thresholds,
        asks,
        metrics: known.unwrap_or_default(),
        expect_verdict: raw.expect_verdict,
        scenario_file: None,
        search: search.flatten(),
        reference,
        best_and_worst,
        scaling,
        system_at_most: Duration::ZERO,
    })
}

/// The CPUs of the load and of the system, from the tree: the raw `load` was taken by the first cell. No CPU is in both.
fn cpusets(checker: &mut Checker<'_>) -> (Vec<usize>, Vec<usize>) {
    let (load, system) = (cpuset(checker, "load"), cpuset(checker, "system"));
    for (cpu, position) in &system {
        if load.iter().any(|(known, _)| known == cpu) {
            let what = format!("system.cpuset and load.cpuset both have {cpu}");
            let expected = "lists without a common CPU; without system.cpuset the system has the CPUs that the load has not, or all if \
                            the load has all";
            checker.report(Finding::new(*position, what).with_expected(expected));
        }
    }
    let numbers = |cpus: Vec<(usize, Position)>| cpus.into_iter().map(|(cpu, _)| cpu).collect();
    (numbers(load), numbers(system))
}

/// The list `cpuset` of a part of the study; a CPU that is there twice is reported.
fn cpuset(checker: &mut Checker<'_>, part: &str) -> Vec<(usize, Position)> {
    let given = checker.root().child(part);
    let given = given.and_then(|part| Some(&part.child("cpuset")?.value));
    let Some(Value::List(given)) = given else {
        return Vec::new();
    };
    let mut cpus: Vec<(usize, Position)> = Vec::new();
    for node in given {
        let Value::Scalar(Level::Integer(cpu)) = node.value else {
            continue;
        };
        let cpu = usize::try_from(cpu).expect("the schema has the bounds of a CPU's number");
        if cpus.iter().any(|(known, _)| *known == cpu) {
            let what = format!("{part}.cpuset has {cpu} twice");
            checker.report(Finding::new(node.position, what).with_expected("each CPU once"));
        }
        cpus.push((cpu, node.position));
    }
    cpus
}

fn check_system(checker: &mut Checker<'_>, raw: &raw::Study, system: &System) {
    let used = raw.system.value();
    if let Some(At { place, value }) = used.and_then(|used| used.name.content())
        && value.0 != system.name
    {
        let what = format!(
            "is {:?}, but the system's file calls itself {:?}",
            value.0, system.name
        );
        checker.report(place.mistake(what).with_expected("the same name"));
    }
    if system.manifests.is_some() {
        refuse_with_manifests(checker, raw);
    }
    let root = checker.root();
    let load = root.child("load").and_then(first_write_method);
    let others = ["prepare", "background"];
    let others = others.iter().filter_map(|part| root.child(part));
    let written = load.or_else(|| others.into_iter().find_map(first_write_method));
    // A server that already runs is checked by the load's own requests.
    let is_checked = !system.verify.is_empty() || system.external.is_some();
    if let Some(position) = written.filter(|_| !is_checked) {
        let what = format!(
            "system {} has no functional check, without which nothing is written to it",
            system.name
        );
        checker.report(Finding::new(position, what).with_expected("verify in the system's file"));
    }
}

/// Reports what only a system of processes has.
fn refuse_with_manifests(checker: &mut Checker<'_>, raw: &raw::Study) {
    let used = raw.system.value();
    let prepare = raw.prepare.value();
    let given = [
        used.and_then(|used| used.external.place()),
        used.and_then(|used| used.kubeconfig.place()),
        used.and_then(|used| used.limits.place()),
        used.and_then(|used| used.cpuset.place()),
        prepare.and_then(|prepare| prepare.snapshot.place()),
        raw.network.place(),
    ];
    for place in given.into_iter().flatten() {
        let mistake = place.key_mistake("is for processes, and the system is manifests or a chart");
        checker.report(mistake.with_expected("the key to be left out, or patches in the system"));
    }
}

/// The parts of a load that contain requests.
const REQUESTS_IN: [&str; 5] = ["loads", "request", "scenario", "flows", "steps"];

/// The position of the first method in a load that writes to the system.
fn first_write_method(node: &Node) -> Option<Position> {
    match &node.value {
        Value::List(items) => items.iter().find_map(first_write_method),
        Value::Map(entries) => entries.iter().find_map(|entry| match entry.key.as_str() {
            "put" | "post" | "delete" | "patch" => Some(entry.position),
            key if REQUESTS_IN.contains(&key) => first_write_method(&entry.node),
            _ => None,
        }),
        Value::Invalid | Value::Null | Value::Scalar(_) => None,
    }
}

/// The parts of a study that have metrics.
fn sent_names(tree: &Node, raw: &raw::Study, system: Option<&System>) -> Sent {
    let load = tree.child("load").map(names_of_sent).unwrap_or_default();
    let delivery = raw.delivery.value();
    let components = system.map_or(&[][..], |system| &system.components);
    let external = raw::external_names(raw.system.value(), system);
    // CPU and memory of what runs already are not known.
    let is_sampled = |component: &&crate::Component| !external.contains(component.name.as_str());
    let prepare = raw.prepare.value();
    let loads = prepare.and_then(|prepare| prepare.loads.value());
    let names = loads
        .into_iter()
        .flatten()
        .filter_map(|load| load.value.name.value().cloned());
    let metrics = system.map_or(&[][..], |system| &system.metrics).iter();
    let metrics = metrics.map(|metric| (metric.name.clone(), metric.unit.of_values));
    Sent {
        background: names_of_background(tree),
        prepare_loads: names.map(|raw::Name(name)| name).collect(),
        probes: delivery.map(Delivery::probes).unwrap_or_default(),
        components: components
            .iter()
            .filter(is_sampled)
            .map(|component| component.name.clone())
            .collect(),
        metrics: metrics.collect(),
        recovery: tree
            .child("schedule")
            .is_some_and(|schedule| schedule.child("recovery").is_some()),
        has_faults: tree.child("faults").is_some(),
        has_network: tree.child("network").is_some(),
        ..load
    }
}

/// The parts of a load that have metrics: its request, or its scenario and its steps.
fn names_of_sent(load: &Node) -> Sent {
    let (request, scenario) = (load.child("request"), load.child("scenario"));
    let mut sent = Sent {
        names: Vec::new(),
        sessions: scenario.is_some(),
        clients: load
            .child("model")
            .is_some_and(|model| model.value == Value::Scalar(Level::Text("clients".to_owned()))),
        answers: match request.and_then(|request| request.child("inspect")) {
            None => Answers::Nothing,
            Some(inspect) if inspect.child("count").is_none() => Answers::Bodies,
            Some(_) => Answers::Items,
        },
        complete: match (request, scenario) {
            (Some(_), None) => true,
            (None, Some(scenario)) => scenario.child("flows").is_some(),
            _ => false,
        },
        ..Sent::default()
    };
    sent.add(request.or(scenario).and_then(|named| named.child("name")));
    for flow in scenario
        .and_then(|scenario| scenario.child("flows"))
        .into_iter()
        .flat_map(items)
    {
        sent.add_steps(flow);
    }
    sent
}

/// The names of background loads, from the tree: the raw ones were taken by the first cell.
fn names_of_background(tree: &Node) -> Vec<String> {
    let loads = tree.child("background").map_or(&[][..], items);
    let names = loads.iter().filter_map(|load| load.child("name"));
    names.filter_map(text).collect()
}

fn items(node: &Node) -> &[Node] {
    match &node.value {
        Value::List(items) => items,
        _ => &[],
    }
}

fn text(node: &Node) -> Option<String> {
    match &node.value {
        Value::Scalar(level) => Some(level.to_string()),
        _ => None,
    }
}

impl Sent {
    /// Adds a name; a missing one was reported.
    fn add(&mut self, name: Option<&Node>) {
        match name.and_then(text) {
            Some(name) if self.names.contains(&name) => {}
            Some(name) => self.names.push(name),
            None => self.complete = false,
        }
    }

    /// Adds the names of all requests below a flow, or below a step that repeats others.
    fn add_steps(&mut self, around: &Node) {
        for step in around.child("steps").into_iter().flat_map(items) {
            let sends = step.child("think_time").is_none() && step.child("steps").is_none();
            if sends {
                self.add(step.child("name"));
            }
            self.add_steps(step);
        }
    }
}

/// Sum of the deadlines of a configured system: its functional check, stopping each component, and removing what was made in those
/// that run already.
pub(crate) fn system_at_most(system: &System) -> Duration {
    let verify: Duration = system.verify.iter().map(|check| check.timeout).sum();
    verify
        + system
            .components
            .iter()
            .map(|component| component.stop_timeout + component.undo_timeout())
            .sum::<Duration>()
}

/// How many trials each cell has, at least and at most; a search has as many as it may make, with those at operating points.
fn checked_repetitions(
    checker: &mut Checker<'_>,
    raw: &raw::Study,
    search: Option<&Option<Search>>,
    cells: &[Levels],
) -> Option<(u32, u32)> {
    let schedule = raw.schedule.content();
    let repetitions = schedule.and_then(|schedule| schedule.value.repeat.repetitions(checker));
    let repetitions = match search {
        Some(search) => search
            .as_ref()
            .map(|search| (search.trials(), search.trials())),
        None => repetitions,
    };
    let trials = repetitions.map_or(0, |(_, max)| u64::from(max) * cells.len() as u64);
    if trials > MAX_TRIALS {
        let what = format!("{} cells, each repeated, make {trials} trials", cells.len());
        let position = match (raw.search.content(), schedule) {
            (Some(search), _) => search.max_trials_position(),
            (None, Some(schedule)) => {
                let repeat = schedule.value.repeat.place();
                repeat.map_or(schedule.place.key, |place| place.value)
            }
            (None, None) => Position::START,
        };
        checker.report(Finding::new(position, what).with_expected(format!("at most {MAX_TRIALS}")));
    }
    repetitions
}
