//! Texts of a checked system that may have `${…}`: the names in them, and substitution of parameters in the texts of requests to
//! components.

use std::collections::{BTreeMap, BTreeSet};

use waggle_template::placeholder::{Part, parts};

use crate::{
    Check, Component, Level, MetricSource, ProbeKind, SetupStep, System, Trust, WatchBegin,
    origin::TOKEN,
};

/// Statuses that say that one is not known, or may not.
const REFUSALS: [u16; 2] = [401, 403];

/// The names in the `${…}` of a text; none if one is not closed.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let parts = parts(text).unwrap_or_default().into_iter();
    parts.filter_map(|part| match part {
        Part::Name(name) => Some(name),
        Part::Literal(_) => None,
    })
}

/// The values of headers.
fn values(headers: &[(String, String)]) -> impl Iterator<Item = &String> {
    headers.iter().map(|(_, value)| value)
}

/// The texts of the requests of a step.
fn setup_texts(step: &SetupStep) -> impl Iterator<Item = &String> {
    let undo = step.undo.iter();
    let undo = undo.flat_map(|undo| values(&undo.headers).chain([&undo.path, &undo.body]));
    let step_texts = values(&step.headers).chain([&step.path, &step.body]);
    step_texts.chain(undo)
}

/// Whether a check expects that it is refused.
fn is_refusal(check: &Check) -> bool {
    let status = &check.expect.status;
    !status.is_empty() && status.iter().all(|code| REFUSALS.contains(code))
}

impl Component {
    /// The texts of its start and its setup.
    fn texts(&self) -> impl Iterator<Item = &str> {
        let process = &self.process;
        let arguments = process.arguments.iter().flat_map(|some| &some.add);
        let pairs = self.files.iter().chain(&process.environment);
        let setup = self.setup.iter().flat_map(setup_texts);
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
        self.names_from_outside().filter_map(secret).collect()
    }

    /// The names in the `${…}` of the functional check and of the probes.
    pub(crate) fn names_from_outside(&self) -> impl Iterator<Item = &str> {
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
        texts.flat_map(|text| names(text))
    }

    /// Removes headers with secrets of the system that say to a component who one is.
    pub(crate) fn remove_own_identity(&mut self, component: &str) {
        let components = self.components.iter_mut();
        let targets = components.filter(|known| known.name == component);
        for step in targets.flat_map(|component| &mut component.setup) {
            remove_own_identity(&mut step.headers);
            if let Some(undo) = &mut step.undo {
                remove_own_identity(&mut undo.headers);
            }
        }
        let endpoints = self.endpoints.iter();
        let endpoints = endpoints.filter(|endpoint| endpoint.component == component);
        let names: Vec<&str> = endpoints.map(|endpoint| endpoint.name.as_str()).collect();
        // That another identity is refused cannot be asked with the only one that there is.
        self.verify
            .retain(|check| !(is_refusal(check) && names.contains(&check.endpoint.as_str())));
        let checks = self.verify.iter_mut();
        for check in checks.filter(|check| names.contains(&check.endpoint.as_str())) {
            remove_own_identity(&mut check.headers);
        }
        let probes = self.probes.iter_mut();
        for probe in probes.filter(|probe| probe.component == component) {
            match &mut probe.kind {
                ProbeKind::Query { query, .. } => remove_own_identity(&mut query.headers),
                ProbeKind::Watch(watch) => remove_own_identity(&mut watch.headers),
                _ => {}
            }
        }
    }

    /// Replaces the names of parameters by their levels in every text of a request to a component.
    pub(crate) fn fill_parameters(&mut self, parameters: &BTreeMap<String, Level>) {
        let fill = |text: &mut String| *text = fill_parameters(text, parameters);
        for component in &mut self.components {
            for step in &mut component.setup {
                fill(&mut step.path);
                if let Some(undo) = &mut step.undo {
                    fill(&mut undo.path);
                    undo.headers.iter_mut().for_each(|(_, value)| fill(value));
                    fill(&mut undo.body);
                }
            }
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

impl System {
    /// Whether a request of its functional check or of a probe has the token.
    #[must_use]
    pub fn asks_with_token(&self) -> bool {
        self.names_from_outside().any(|name| name == TOKEN)
    }

    /// Whether a request of a setup has the token.
    #[must_use]
    pub fn is_set_up_with_token(&self) -> bool {
        let mut names = self.components.iter().flat_map(Component::names);
        names.any(|name| name == TOKEN)
    }
}

/// Whether this is the header that says who one is.
pub(crate) fn is_authorization(header: &str) -> bool {
    header.eq_ignore_ascii_case("authorization")
}

/// Removes the header that says who one is, if it does so by a secret of the system.
pub(crate) fn remove_own_identity(headers: &mut Vec<(String, String)>) {
    headers.retain(|(header, text)| {
        let mut names = names(text);
        !is_authorization(header) || names.all(|name| secret(name).is_none())
    });
}

/// Whether a request may have the value of `${…}`: a secret of the system, or a token.
pub(crate) fn is_secret(name: &str) -> bool {
    secret(name).is_some() || name == TOKEN
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
