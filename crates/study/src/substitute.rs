//! Texts of a checked system that may have `${…}`: the names in them, and substitution of parameters in the texts of requests to
//! components.

use std::collections::{BTreeMap, BTreeSet};

use waggle_template::placeholder::{Part, parts};

use crate::{Component, Level, MetricSource, ProbeKind, System, Trust, WatchBegin};

/// The names in the `${…}` of a text; none if one is not closed.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let parts = parts(text).unwrap_or_default().into_iter();
    parts.filter_map(|part| match part {
        Part::Name(name) => Some(name),
        Part::Literal(_) => None,
    })
}

impl Component {
    /// The texts of its start and its setup.
    fn texts(&self) -> impl Iterator<Item = &str> {
        let process = &self.process;
        let arguments = process.arguments.iter().flat_map(|some| &some.add);
        let pairs = self.files.iter().chain(&process.environment);
        let setup = self.setup.iter().flat_map(|step| {
            let headers = step.headers.iter().map(|(_, value)| value);
            headers.chain([&step.path, &step.body])
        });
        let authorities = self.tls.iter().filter_map(|tls| match &tls.trust {
            Trust::File(file) => Some(file),
            Trust::SystemAuthority | Trust::Unchecked => None,
        });
        let words = process.command.iter().chain(arguments).chain(authorities);
        words
            .chain(pairs.map(|(_, text)| text))
            .chain(setup)
            .map(String::as_str)
    }

    /// The names in the `${…}` of its texts.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.texts().flat_map(names)
    }

    /// The secrets that it is started or set up with.
    pub(crate) fn secrets(&self) -> BTreeSet<&str> {
        self.names().filter_map(secret).collect()
    }
}

impl ProbeKind {
    /// The texts of its requests in which secrets may be named.
    fn texts_of_requests(&self) -> Vec<&String> {
        let (headers, others) = match self {
            Self::Query { query, .. } => (&query.headers[..], vec![&query.path, &query.body]),
            Self::Watch(watch) => (&watch.headers[..], Vec::new()),
            Self::Tail { .. } | Self::Items { .. } | Self::Kafka { .. } => (&[][..], Vec::new()),
        };
        let headers = headers.iter().map(|(_, value)| value);
        headers.chain(others).collect()
    }
}

impl System {
    /// The secrets that the functional check and the probes name.
    pub(crate) fn secrets_from_outside(&self) -> BTreeSet<&str> {
        let checks = self.verify.iter().flat_map(|check| {
            check
                .headers
                .iter()
                .map(|(_, value)| value)
                .chain([&check.body])
        });
        let probes = self
            .probes
            .iter()
            .flat_map(|probe| probe.kind.texts_of_requests());
        let texts = checks.chain(probes);
        texts
            .flat_map(|text| names(text))
            .filter_map(secret)
            .collect()
    }

    /// Replaces the names of parameters by their levels in every text of a request to a component.
    pub(crate) fn fill_parameters(&mut self, parameters: &BTreeMap<String, Level>) {
        let fill = |text: &mut String| *text = fill_parameters(text, parameters);
        for component in &mut self.components {
            component
                .setup
                .iter_mut()
                .for_each(|step| fill(&mut step.path));
        }
        for probe in &mut self.probes {
            match &mut probe.kind {
                ProbeKind::Tail { get, .. } | ProbeKind::Items { get, .. } => fill(get),
                ProbeKind::Query { query, .. } => {
                    fill(&mut query.path);
                    query.headers.iter_mut().for_each(|(_, value)| fill(value));
                    fill(&mut query.body);
                }
                ProbeKind::Kafka { topic } => fill(topic),
                ProbeKind::Watch(watch) => {
                    fill(&mut watch.get);
                    watch.headers.iter_mut().for_each(|(_, value)| fill(value));
                    let begin = watch.versions.as_mut().map(|versions| &mut versions.begin);
                    match begin {
                        Some(WatchBegin::At(text) | WatchBegin::Asked { get: text, .. }) => {
                            fill(text);
                        }
                        None => {}
                    }
                }
            }
        }
        for metric in &mut self.metrics {
            match &mut metric.source {
                MetricSource::Prometheus { get, .. } | MetricSource::Json { get, .. } => fill(get),
                MetricSource::ConsumerLag { group, topic } => {
                    fill(group);
                    fill(topic);
                }
            }
        }
        for check in &mut self.verify {
            fill(&mut check.path);
            check.headers.iter_mut().for_each(|(_, value)| fill(value));
            fill(&mut check.body);
        }
    }
}

/// The name of the secret in `${secret.NAME}`; `None` for other names.
pub(crate) fn secret(name: &str) -> Option<&str> {
    name.strip_prefix("secret.")
        .filter(|name| crate::validate::is_name(name))
}

/// The text with every parameter's level. Every other `${…}` stays and is filled in later.
fn fill_parameters(text: &str, parameters: &BTreeMap<String, Level>) -> String {
    let Some(parts) = parts(text) else {
        return text.to_owned();
    };
    let mut filled = String::with_capacity(text.len());
    for part in parts {
        match part {
            // It was escaped, and stays so.
            Part::Literal("${") => filled.push_str("$${"),
            Part::Literal(literal) => filled.push_str(literal),
            Part::Name(name) => match parameters.get(name) {
                Some(level) => filled.push_str(&level.to_string()),
                None => filled.extend(["${", name, "}"]),
            },
        }
    }
    filled
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::fill_parameters;
    use crate::Level;

    #[test]
    fn parameters_are_put_in_and_all_else_stays() {
        let parameters = BTreeMap::from([
            ("org".to_owned(), Level::Text("lab-7".to_owned())),
            ("limit".to_owned(), Level::Integer(3)),
        ]);
        let check =
            |text: &str, expected: &str| assert_eq!(fill_parameters(text, &parameters), expected);
        check("", "");
        check("/query?org=${org}&x=${limit}", "/query?org=lab-7&x=3");
        check(
            "${from}, ${org}, ${secret.org}",
            "${from}, lab-7, ${secret.org}",
        );
        check("$${org} ${org} $$${org}", "$${org} lab-7 $$${org}");
        check("${org} and ${org", "${org} and ${org");
    }
}
