//! Raw → checked: what the values mean, and whether they fit together. Every function reports the mistakes that it finds and
//! returns `None` if it cannot continue. What the validation by the schema reported is not reported again.

mod background;
mod cell;
mod components;
mod external;
mod known_metrics;
mod kubeconfig;
mod manifests;
mod port_tls;
mod prepare;
mod probe;
mod server;
mod server_url;
mod set;
mod study;
mod system;
mod system_pods;
mod system_text;
mod threshold;
mod verify;

use indexmap::IndexMap;

pub(crate) use background::background;
pub(crate) use cell::{CellRow, cell};
pub(crate) use external::{ExternalParts, external_parts};
pub(crate) use known_metrics::Known;
pub(crate) use prepare::preparation;
pub(crate) use server::server;
pub(crate) use server_url::{parse as parse_url, parse_target};
pub(crate) use set::{check_set, parameters, refusal};
pub(crate) use study::{study_without_cells, system_at_most};
pub(crate) use system::{MAX_REPLICAS, system};
pub use threshold::read_threshold;
pub(crate) use threshold::{
    is_of_preparation, is_of_several_trials, parse_in_unit, suffix_expected, unit_of,
};

use crate::{
    KeptRows,
    at::{At, Key},
    mistake::Finding,
    sources::Sources,
    tree::Node,
};

/// The tree that is checked, and the mistakes found in it.
pub(crate) struct Checker<'a> {
    root: &'a Node,
    /// The files of feeds; `None` if no other file is read.
    pub sources: Option<&'a Sources<'a>>,
    /// What loads of the preparation keep, as far as they were checked; `None` if it has a mistake.
    pub kept: Option<Vec<KeptRows>>,
    pub findings: Vec<Finding>,
}

impl<'a> Checker<'a> {
    pub(crate) fn new(root: &'a Node) -> Self {
        Self {
            root,
            sources: None,
            kept: Some(Vec::new()),
            findings: Vec::new(),
        }
    }

    /// A checker that also reads the files that the tree names.
    pub(crate) fn with_files(root: &'a Node, sources: Option<&'a Sources<'a>>) -> Self {
        Self {
            sources,
            ..Self::new(root)
        }
    }

    /// A checker of the same tree and files, without findings.
    pub(crate) fn without_findings(&self) -> Self {
        Self::with_files(self.root, self.sources)
    }

    pub(crate) fn root(&self) -> &'a Node {
        self.root
    }

    pub(crate) fn report(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    /// A path with query, as it is in a request's first line; `fixed` is the path without its variables.
    pub(crate) fn target_of(&mut self, given: &At<String>, fixed: &str) -> Option<String> {
        let At { place, value } = given;
        let clean = fixed
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'#');
        if value.starts_with('/') && clean {
            return Some(value.to_owned());
        }
        let mistake = place.mistake(format!("is {}", crate::tree::quote(value)));
        let expected =
            "a path such as /items?limit=10: starting with /, in ASCII, without space and #";
        self.report(mistake.with_expected(expected));
        None
    }

    /// Checks header fields; those that waggle writes itself are reported.
    pub(crate) fn header_fields(
        &mut self,
        given: &Key<IndexMap<String, At<String>>>,
    ) -> Vec<(String, String)> {
        self.header_fields_except(&OWN_HEADERS, given)
    }

    /// Checks header fields. Those in `exceptions`, which waggle writes itself, are reported, and those that would break the request.
    pub(crate) fn header_fields_except(
        &mut self,
        exceptions: &[&str],
        given: &Key<IndexMap<String, At<String>>>,
    ) -> Vec<(String, String)> {
        let mut fields = Vec::new();
        for (name, value) in given.value().into_iter().flatten() {
            self.check_header(exceptions, name, value);
            fields.push((name.clone(), value.value.clone()));
        }
        fields
    }

    fn check_header(&mut self, exceptions: &[&str], name: &str, At { place, value }: &At<String>) {
        let is_text = |byte: u8| !byte.is_ascii_control() || byte == b'\t';
        let (position, what, expected) = if exceptions.contains(&name.to_lowercase().as_str()) {
            let what = format!("the header {name} is written by waggle itself");
            (place.key, what, "other header fields")
        } else if name.is_empty() || !name.bytes().all(is_token) {
            let what = format!("{} is no name of a header", crate::tree::quote(name));
            (place.key, what, "letters, digits and -")
        } else if !value.bytes().all(is_text) {
            let what = format!("the header {name} has a control character in its value");
            (place.value, what, "text of one line")
        } else {
            return;
        };
        self.report(Finding::new(position, what).with_expected(expected));
    }
}

/// RFC 9110, 5.6.2.
pub(crate) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Header fields that waggle writes itself; `host` only if the request does not have it.
const OWN_HEADERS: [&str; 4] = ["content-length", "transfer-encoding", "connection", "host"];
pub(crate) const OWN_HEADERS_BUT_HOST: &[&str] = OWN_HEADERS.split_at(3).0;
