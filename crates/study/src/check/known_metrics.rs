//! The metrics that a study measures, by what it sends, kills, prepares and reads.

use waggle_metrics::{CATALOGUE, Metric, Row, Subject, Unit};
use waggle_spec::LoadRole;

use crate::parts::request::RESERVED_NAMES;

/// The path of a metric, and its unit.
pub(crate) type Known = (String, Unit);

/// The parts of a study that have metrics.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    /// The request; or the scenario, and then its steps.
    pub names: Vec<String>,
    /// Whether there are sessions.
    pub sessions: bool,
    /// Whether it is a load of clients.
    pub clients: bool,
    /// What is measured of answers.
    pub answers: Answers,
    /// Whether `names` are complete.
    pub complete: bool,
    /// The loads of the preparation.
    pub prepare_loads: Vec<String>,
    /// The loads beside the measured one.
    pub background: Vec<String>,
    /// The probes of delivery accounting.
    pub probes: Vec<String>,
    /// The components of the system.
    pub components: Vec<String>,
    /// The metrics of the system, and the unit of each.
    pub metrics: Vec<(String, Unit)>,
    /// Whether the study has a recovery phase.
    pub recovery: bool,
    /// Whether components are killed on purpose.
    pub has_faults: bool,
    /// Whether trials have a network of their own.
    pub has_network: bool,
}

/// What is measured of the answers to the request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Answers {
    /// They are not inspected.
    #[default]
    Nothing,
    Bodies,
    /// With the elements of an array in them.
    Items,
}

/// Every metric that a threshold of this study can use.
pub(super) fn known_metrics(sent: &Sent) -> Vec<Known> {
    let [
        delivery,
        generator,
        _,
        components,
        metrics,
        faults,
        prepare,
        clients,
        background,
    ] = RESERVED_NAMES;
    let mut known = of_sent(sent, |_| true);
    known.extend(of_answers(sent));
    known.extend(metric_paths(delivery, &[Subject::Delivery, Subject::Probe]));
    for probe in &sent.probes {
        known.extend(metric_paths(
            &format!("{delivery}.{probe}"),
            &[Subject::Probe],
        ));
    }
    known.extend(metric_paths(generator, &[Subject::Generator]));
    known.extend(metric_paths("machine", &[Subject::Machine]));
    if sent.has_network {
        known.extend(metric_paths("network", &[Subject::Network]));
    }
    known.extend(metric_paths("system", &[Subject::System]));
    if sent.recovery {
        let rows = CATALOGUE.iter();
        let recovery = rows.filter(|row| row.subject == Subject::Recovery);
        known.extend(recovery.map(|row| (row.name.to_owned(), row.unit)));
    }
    if sent.clients {
        known.extend(metric_paths(clients, &[Subject::Clients]));
    }
    if sent.has_faults {
        known.extend(metric_paths(faults, &[Subject::Fault]));
    }
    let named = [
        (
            prepare,
            &sent.prepare_loads,
            Subject::SideLoad(LoadRole::Preparation),
        ),
        (
            background,
            &sent.background,
            Subject::SideLoad(LoadRole::Background),
        ),
        (components, &sent.components, Subject::Component),
    ];
    for (first, names, subject) in named {
        for name in names {
            known.extend(metric_paths(&format!("{first}.{name}"), &[subject]));
        }
    }
    for (name, unit) in &sent.metrics {
        let paths = metric_paths(&format!("{metrics}.{name}"), &[Subject::SystemMetric]);
        known.extend(paths.into_iter().map(|(path, _)| (path, *unit)));
    }
    known
}

/// The metrics of requests, steps and sessions for which `is_wanted` holds.
pub(super) fn of_sent(sent: &Sent, is_wanted: fn(&Row) -> bool) -> Vec<Known> {
    let [_, _, sessions, ..] = RESERVED_NAMES;
    let mut known = Vec::new();
    for (index, name) in sent.names.iter().enumerate() {
        // Which requests fell due for one step of a scenario is not known.
        let subjects: &[Subject] = match index {
            0 => &[Subject::Load, Subject::WholeLoad],
            _ => &[Subject::Load],
        };
        known.extend(matching_metrics(name, subjects, is_wanted));
    }
    if sent.sessions {
        known.extend(matching_metrics(sessions, &[Subject::Sessions], is_wanted));
    }
    known
}

/// The metrics of inspected answers.
fn of_answers(sent: &Sent) -> Vec<Known> {
    let is_wanted: fn(&Row) -> bool = match sent.answers {
        Answers::Nothing => |_| false,
        Answers::Bodies => |row| row.metric != Metric::ItemsPerAnswer,
        Answers::Items => |_| true,
    };
    let name = sent.names.first().map_or("", String::as_str);
    matching_metrics(name, &[Subject::Answers], is_wanted)
}

/// The paths of the metrics of these subjects, each with the prefix.
pub(super) fn metric_paths(prefix: &str, subjects: &[Subject]) -> Vec<Known> {
    matching_metrics(prefix, subjects, |_| true)
}

fn matching_metrics(prefix: &str, subjects: &[Subject], is_wanted: fn(&Row) -> bool) -> Vec<Known> {
    let mut known = Vec::new();
    let rows = CATALOGUE.iter();
    for row in rows.filter(|row| subjects.contains(&row.subject) && is_wanted(row)) {
        let name = row.name;
        for statistic in row.all_statistics() {
            let path = match statistic {
                Some(statistic) => format!("{prefix}.{name}.{}", statistic.name()),
                None => format!("{prefix}.{name}"),
            };
            known.push((path, row.unit));
        }
    }
    known
}
