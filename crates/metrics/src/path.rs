//! Resolves the path of a metric in a study to its row.

use waggle_spec::LoadRole;

use crate::{
    CATALOGUE, Metric,
    row::{OverTrials, Row, Statistic, Subject, Unit},
};

/// Subjects whose paths begin with the name of a request, scenario or step.
const OF_LOAD: [Subject; 3] = [Subject::Load, Subject::WholeLoad, Subject::Answers];

/// The metric that a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedMetric<'a> {
    pub row: &'static Row,
    /// `None` if the row has no statistics.
    pub statistic: Option<Statistic>,
    /// The request, step, probe, component or metric of the system; `None`: the path names none.
    pub of: Option<&'a str>,
}

impl NamedMetric<'_> {
    /// A metric without statistics, of the whole load or of the last probe.
    ///
    /// # Panics
    /// The metric has no row; a test of the catalogue excludes this.
    #[must_use]
    pub fn of_all(metric: Metric) -> Self {
        let mut rows = CATALOGUE.iter();
        Self {
            row: rows
                .find(|row| row.metric == metric)
                .expect("every metric has a row"),
            statistic: None,
            of: None,
        }
    }

    /// How trials are combined to one value; the maximum statistic always by its maximum.
    #[must_use]
    pub fn over_trials(&self) -> OverTrials {
        match (self.row.over_trials, self.statistic) {
            (OverTrials::Mean, Some(Statistic::Max)) => OverTrials::Max,
            (over_trials, _) => over_trials,
        }
    }

    /// Title in charts and tables: `Response time p99`, `Delivery delay p50 at broker`, `CPU of store`.
    #[must_use]
    pub fn heading(&self) -> String {
        let mut heading = self.row.heading.to_owned();
        if let Some(statistic) = self.statistic {
            heading += " ";
            heading += &statistic.name().replace('_', ".");
        }
        match (self.row.subject, self.of) {
            (Subject::Probe, Some(owner)) => heading + " at " + owner,
            (Subject::SideLoad(role), Some(owner)) => {
                format!("{heading} of {} {owner}", side_load_name(role))
            }
            (_, Some(owner)) => heading + " of " + owner,
            (_, None) => heading,
        }
    }

    /// The name of its column in `tables.csv`: `response_time_p99_us`, `login.goodput_per_s`, `component_store_cpu_cores`.
    #[must_use]
    pub fn column(&self) -> String {
        let before = match (self.row.subject, self.of) {
            (Subject::Component, Some(owner)) => format!("component_{owner}_"),
            (Subject::SystemMetric, Some(owner)) => format!("metric_{owner}_"),
            (_, Some(owner)) => format!("{owner}."),
            (_, None) => String::new(),
        };
        let column = self.row.column;
        match (self.statistic, self.row.unit) {
            (None, _) => format!("{before}{column}"),
            (Some(statistic), Unit::Bytes) => {
                format!("{before}{column}_{}_bytes", statistic.name())
            }
            (Some(statistic), _) => format!("{before}{column}_{}_us", statistic.name()),
        }
    }
}

/// The metric of a path; `None`: there is no such metric. The caller checks whether the study has a request, step, probe,
/// component or system metric of that name.
#[must_use]
pub fn resolve<'a>(path: &[&'a str]) -> Option<NamedMetric<'a>> {
    match path {
        ["recovery_time"] => find_row(&[Subject::Recovery], None, path),
        ["generator", rest @ ..] => find_row(&[Subject::Generator], None, rest),
        ["sessions", rest @ ..] => find_row(&[Subject::Sessions], None, rest),
        ["clients", rest @ ..] => find_row(&[Subject::Clients], None, rest),
        // A request may be named `machine`, `network` or `system`; these subjects have no metric of the same name as a request.
        ["machine", rest @ ..] => find_row(&[Subject::Machine], None, rest).or_else(|| load(path)),
        ["network", rest @ ..] => find_row(&[Subject::Network], None, rest).or_else(|| load(path)),
        ["system", rest @ ..] => find_row(&[Subject::System], None, rest).or_else(|| load(path)),
        ["faults", rest @ ..] => find_row(&[Subject::Fault], None, rest),
        ["prepare", name, rest @ ..] => side_load(LoadRole::Preparation, name, rest),
        ["background", name, rest @ ..] => side_load(LoadRole::Background, name, rest),
        ["components", name, rest @ ..] => find_row(&[Subject::Component], Some(name), rest),
        ["metrics", name, rest @ ..] => find_row(&[Subject::SystemMetric], Some(name), rest),
        ["delivery", rest @ ..] => find_row(&[Subject::Delivery, Subject::Probe], None, rest)
            .or_else(|| {
                let (probe, rest) = rest.split_first()?;
                find_row(&[Subject::Probe], Some(probe), rest)
            }),
        _ => load(path),
    }
}

/// The metric of a path without the name of the request or scenario, as in conditions of `waggle load`.
#[must_use]
pub fn resolve_in_load<'a>(path: &[&'a str]) -> Option<NamedMetric<'a>> {
    find_row(&OF_LOAD, None, path).or_else(|| resolve(path))
}

fn load<'a>(path: &[&'a str]) -> Option<NamedMetric<'a>> {
    let (name, rest) = path.split_first()?;
    find_row(&OF_LOAD, Some(name), rest)
}

fn side_load<'a>(role: LoadRole, name: &'a str, rest: &[&str]) -> Option<NamedMetric<'a>> {
    find_row(&[Subject::SideLoad(role)], Some(name), rest)
}

fn side_load_name(role: LoadRole) -> &'static str {
    match role {
        LoadRole::Preparation => "preparation",
        LoadRole::Background => "background load",
    }
}

fn find_row<'a>(
    subjects: &[Subject],
    owner: Option<&'a str>,
    rest: &[&str],
) -> Option<NamedMetric<'a>> {
    let (name, statistic) = match rest {
        [name] => (name, None),
        [name, statistic] => (name, Some(statistic)),
        _ => return None,
    };
    let mut rows = CATALOGUE.iter();
    let row = rows.find(|row| subjects.contains(&row.subject) && row.name == *name)?;
    let row_statistic = statistic.and_then(|statistic| {
        let mut all = row.statistics.iter();
        all.find(|candidate| candidate.name() == *statistic)
            .copied()
    });
    let is_whole = match statistic {
        Some(_) => row_statistic.is_some(),
        None => row.statistics.is_empty(),
    };
    is_whole.then_some(NamedMetric {
        row,
        statistic: row_statistic,
        of: owner,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use waggle_spec::TimeKind;

    use super::*;
    use crate::LoadMetric;

    fn check(path: &str, expected: Option<(Metric, Option<Statistic>, Option<&str>)>) {
        let path: Vec<&str> = path.split('.').collect();
        let metric = resolve(&path).map(|metric| (metric.row.metric, metric.statistic, metric.of));
        assert_eq!(metric, expected, "{path:?}");
    }

    #[test]
    fn paths_name_rows() {
        let response = Metric::Time(TimeKind::Response);
        check("put.goodput", Some((Metric::Goodput, None, Some("put"))));
        check(
            "login.response_time.p99_9",
            Some((response, Some(Statistic::P999), Some("login"))),
        );
        check(
            "put.client_wait_time.mean",
            Some((Metric::ClientWaitTime, Some(Statistic::Mean), Some("put"))),
        );
        check(
            "list.items_per_answer",
            Some((Metric::ItemsPerAnswer, None, Some("list"))),
        );
        check("recovery_time", Some((Metric::RecoveryTime, None, None)));
        check("delivery.missing", Some((Metric::Missing, None, None)));
        check("delivery.backlog", Some((Metric::Backlog, None, None)));
        check(
            "system.rss.max",
            Some((Metric::SystemRss, Some(Statistic::Max), None)),
        );
        check(
            "system.goodput",
            Some((Metric::Goodput, None, Some("system"))),
        );
        check(
            "delivery.broker.missing",
            Some((Metric::Missing, None, Some("broker"))),
        );
        check(
            "delivery.delay.max",
            Some((Metric::Delay, Some(Statistic::Max), None)),
        );
        check(
            "delivery.broker.delay.mean",
            Some((Metric::Delay, Some(Statistic::Mean), Some("broker"))),
        );
        check(
            "background.lists.service_time.p99",
            Some((
                Metric::SideLoad(LoadRole::Background, LoadMetric::Time(TimeKind::Service)),
                Some(Statistic::P99),
                Some("lists"),
            )),
        );
        check(
            "components.store.cpu",
            Some((Metric::ComponentCpu, None, Some("store"))),
        );
        check(
            "metrics.queue.end",
            Some((Metric::SystemMetricEnd, None, Some("queue"))),
        );
        for wrong in [
            "put",
            "put.response_time",
            "put.goodput.p99",
            "put.response_time.p98",
            "put.client_wait_time.p99",
            "put.client_wait_time",
            "delivery.broker.sent",
            "machine.rss.max",
            "generator.goodput",
            "background.goodput",
            "background.lists.retries",
            "put.goodput.mean.p50",
        ] {
            check(wrong, None);
        }
    }

    #[test]
    fn sessions_have_a_duration() {
        let p99 = (Metric::Time(TimeKind::Session), Some(Statistic::P99), None);
        check("sessions.duration.p99", Some(p99));
        check("sessions.duration", None);
    }

    #[test]
    fn request_name_is_optional_in_a_load() {
        let check = |path: &str, expected: Option<(Metric, Option<&str>)>| {
            let path: Vec<&str> = path.split('.').collect();
            let metric = resolve_in_load(&path).map(|metric| (metric.row.metric, metric.of));
            assert_eq!(metric, expected, "{path:?}");
        };
        check("goodput", Some((Metric::Goodput, None)));
        check(
            "response_time.p99",
            Some((Metric::Time(TimeKind::Response), None)),
        );
        check(
            "login.response_time.p99",
            Some((Metric::Time(TimeKind::Response), Some("login"))),
        );
        check(
            "generator.utilization",
            Some((Metric::GeneratorUtilization, None)),
        );
        check("sessions.goodput", Some((Metric::SessionsGoodput, None)));
        check("response_time", None);
    }

    #[test]
    fn metrics_and_columns_are_unique() {
        let metrics: HashSet<Metric> = CATALOGUE.iter().map(|row| row.metric).collect();
        assert_eq!(metrics.len(), CATALOGUE.len());
        let columns: Vec<String> = CATALOGUE
            .iter()
            .flat_map(|row| {
                row.all_statistics().map(move |statistic| NamedMetric {
                    row,
                    statistic,
                    of: None,
                })
            })
            .map(|named| named.column())
            .collect();
        let different: HashSet<&String> = columns.iter().collect();
        assert_eq!(different.len(), columns.len());
    }

    #[test]
    fn columns_have_their_units() {
        let check = |path: &str, column: &str, value: f64| {
            let parts: Vec<&str> = path.split('.').collect();
            let named = resolve(&parts).expect("there is such a metric");
            assert_eq!(named.column(), column, "{path}");
            assert_eq!(named.row.in_column(1500.0).to_string(), value.to_string());
        };
        check("put.response_time.p99", "put.response_time_p99_us", 1500.0);
        check("delivery.resolution", "delivery_resolution_ms", 1.5);
        check("delivery.drain_time", "drain_time_s", 0.0015);
        check("system.rss.mean", "system_rss_mean_bytes", 1500.0);
        check("components.store.cpu", "component_store_cpu_cores", 1500.0);
        check("metrics.lag.end", "metric_lag_end", 1500.0);
        check("sessions.goodput", "sessions_completed_per_s", 1500.0);
        check(
            "background.lists.goodput",
            "lists.background_goodput_per_s",
            1500.0,
        );
    }
}
