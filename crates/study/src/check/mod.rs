//! Raw → checked: what the values mean, and whether they can stand together. Every function reports what it finds and
//! gives `None` where it cannot go on; what the schema walk reported already is not said again.

mod delivery;
mod expect;
mod external;
mod faults;
mod feeds;
mod level;
mod load;
mod path;
mod probe;
mod provision;
mod recovery;
mod reference;
mod request;
mod scenario;
mod schedule;
mod search;
mod server;
mod set;
mod stages;
mod stop_when;
mod system;
mod system_metric;
mod system_text;
mod threshold;
mod variables;
mod verify;
mod whole;

pub(crate) use delivery::{Carries, delivery};
pub use expect::MAX_BODY_TEXTS;
pub(crate) use external::{Outside, external_parts};
pub(crate) use faults::{Stage, faults};
pub use load::{MAX_CONNECTIONS, MAX_RATE_PER_S};
pub(crate) use load::{
    connect_timeout, load, load_workers, protocol, put_keep_alive, refuse_pipelining,
};
pub use request::BODY_MAX_BYTES;
pub(crate) use request::{endpoint, request};
pub(crate) use scenario::{Around, scenario};
pub(crate) use schedule::{Beside, intervals, schedule};
pub use schedule::{MAX_INTERVALS, MAX_PHASE, MIN_STEADY_INTERVALS};
pub(crate) use search::put_highest;
pub(crate) use server::server;
pub(crate) use set::{parameters, refusal};
pub(crate) use stages::{length_of, stages};
pub(crate) use system::system;
pub use threshold::read_threshold;
pub(crate) use whole::{study_without_cells, system_at_most};

use std::time::Duration;

use waggle_template::variable::without_variables;
use waggle_units::format_duration;

use crate::{
    mistake::{Finding, Place},
    raw,
    shelf::Shelf,
    tree::{Node, Value},
};

/// A tree being checked, and what was found wrong in it.
pub(crate) struct Checker<'a> {
    root: &'a Node,
    /// For feeds; `None` where no other file is looked into.
    shelf: Option<&'a Shelf<'a>>,
    pub findings: Vec<Finding>,
}

impl<'a> Checker<'a> {
    pub(crate) fn new(root: &'a Node) -> Self {
        Self {
            root,
            shelf: None,
            findings: Vec::new(),
        }
    }

    /// One that looks into the files that are named.
    pub(crate) fn with_files(root: &'a Node, shelf: Option<&'a Shelf<'a>>) -> Self {
        Self {
            shelf,
            ..Self::new(root)
        }
    }

    /// One of the same tree and files that has found nothing yet.
    pub(crate) fn without_findings(&self) -> Self {
        Self::with_files(self.root, self.shelf)
    }

    pub(crate) fn root(&self) -> &'a Node {
        self.root
    }

    pub(crate) fn report(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    fn node(&self, path: &[&str]) -> Option<&'a Node> {
        path.iter()
            .try_fold(self.root, |node, step| node.child(step))
    }

    /// The place of a value, or of the nearest thing around it that is there.
    pub(crate) fn position_of(&self, path: &[&str]) -> Place {
        match (self.node(path), path.split_last()) {
            (Some(node), _) => node.place,
            (None, Some((_, around))) => self.key(around),
            (None, None) => self.root.place,
        }
    }

    /// The place of a key, or of the nearest thing around it that is there.
    pub(crate) fn key(&self, path: &[&str]) -> Place {
        let Some((last, around)) = path.split_last() else {
            return self.root.place;
        };
        match self.node(around) {
            Some(node) => node
                .entry(last)
                .map_or_else(|| self.position_of(path), |entry| entry.place),
            None => self.key(around),
        }
    }

    /// Whether something stands there that was reported already.
    pub(crate) fn is_wild(&self, path: &[&str]) -> bool {
        self.node(path)
            .is_some_and(|node| node.value == Value::Wild)
    }

    /// The value given, the default where none is, nothing where a wrong one is.
    pub(crate) fn value_or_default<T>(
        &self,
        given: Option<T>,
        path: &[&str],
        default: T,
    ) -> Option<T> {
        given.or_else(|| (!self.is_wild(path)).then_some(default))
    }

    /// Reports a duration that is out of bounds; passes on one that is not.
    pub(crate) fn check_bounds(
        &mut self,
        given: Duration,
        path: &[&str],
        bounds: (Duration, Duration),
    ) -> Option<Duration> {
        let (least, most) = bounds;
        if (least..=most).contains(&given) {
            return Some(given);
        }
        let what = format!("{} is {}", path_text(path), format_duration(given));
        let expected = format!(
            "a duration from {} to {}",
            format_duration(least),
            format_duration(most)
        );
        self.report(Finding::new(self.position_of(path), what).with_expected(expected));
        None
    }

    /// The one method and path of a request.
    fn method_and_path(&mut self, given: &raw::Method, path: &[&str]) -> Option<Called> {
        let called = self.method_key(given, path)?;
        self.target(&called.path, &[path, &[called.key]].concat())?;
        Some(called)
    }

    /// The same where the path may have variables, which were checked.
    fn method_and_template(&mut self, given: &raw::Method, path: &[&str]) -> Option<Called> {
        let called = self.method_key(given, path)?;
        let fixed = without_variables(&called.path)?;
        self.target_with(&called.path, &fixed, &[path, &[called.key]].concat())?;
        Some(called)
    }

    /// The method of a request and its path, which is not looked at.
    fn method_key(&mut self, given: &raw::Method, path: &[&str]) -> Option<Called> {
        let all =
            "one of get, put, post, head, delete, patch, options with a path, or method and path";
        let is_wild = |checker: &Self, key: &str| checker.is_wild(&[path, &[key]].concat());
        match (&given.paths()[..], &given.method) {
            ([("path", target)], Some(method)) => {
                let method = self.method(method, &[path, &["method"]].concat())?;
                Some(Called {
                    method,
                    path: (*target).clone(),
                    key: "path",
                })
            }
            ([("path", _)], None) if is_wild(self, "method") => None,
            ([("path", _)], None) => {
                let what = format!("{} has a path and no method", path_text(path));
                self.report(Finding::new(self.key(path), what).with_expected(all));
                None
            }
            (&[(key, target)], None) => Some(Called {
                method: key.to_uppercase(),
                path: target.clone(),
                key,
            }),
            ([], _) => {
                let keys = raw::Method::KEYS.into_iter();
                if !keys.chain(["method"]).any(|key| is_wild(self, key)) {
                    let what = match given.method {
                        Some(_) => format!("{} has a method and no path", path_text(path)),
                        None => format!("{} has no method", path_text(path)),
                    };
                    self.report(Finding::new(self.key(path), what).with_expected(all));
                }
                None
            }
            ([_], Some(_)) => self.second_method("method", path, all),
            ([_, (second, _), ..], _) => self.second_method(second, path, all),
        }
    }

    fn second_method<T>(&mut self, key: &str, path: &[&str], expected: &str) -> Option<T> {
        let what = format!("{} has a second method: {key}", path_text(path));
        let place = self.key(&[path, &[key]].concat());
        self.report(Finding::new(place, what).with_expected(expected));
        None
    }

    /// A method as it goes into a request's first line (RFC 9110, 9.1).
    fn method(&mut self, method: &str, path: &[&str]) -> Option<String> {
        if !method.is_empty() && method.bytes().all(is_token) {
            return Some(method.to_owned());
        }
        let what = format!("{} is {}", path_text(path), crate::tree::quote(method));
        self.report(
            Finding::new(self.position_of(path), what).with_expected("a method such as PURGE"),
        );
        None
    }

    /// A path with query, as it goes into a request's first line.
    fn target(&mut self, value: &str, path: &[&str]) -> Option<String> {
        self.target_with(value, value, path)
    }

    /// The same; `fixed` is what of it is the same in every request.
    fn target_with(&mut self, value: &str, fixed: &str, path: &[&str]) -> Option<String> {
        let clean = fixed
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'#');
        if value.starts_with('/') && clean {
            return Some(value.to_owned());
        }
        let what = format!("{} is {}", path_text(path), crate::tree::quote(value));
        let expected =
            "a path such as /items?limit=10: starting with /, in ASCII, without space and #";
        self.report(Finding::new(self.position_of(path), what).with_expected(expected));
        None
    }

    /// Header fields, none of which waggle writes itself.
    fn headers(
        &mut self,
        given: Option<indexmap::IndexMap<String, String>>,
        path: &[&str],
    ) -> Vec<(String, String)> {
        self.headers_but(&OWN_HEADERS, given, path)
    }

    /// Header fields but for those in `own`, which waggle writes; they must not break the request they stand in.
    fn headers_but(
        &mut self,
        own: &[&str],
        given: Option<indexmap::IndexMap<String, String>>,
        path: &[&str],
    ) -> Vec<(String, String)> {
        let mut fields = Vec::new();
        for (name, value) in given.into_iter().flatten() {
            let here = [path, &[name.as_str()]].concat();
            if own.contains(&name.to_lowercase().as_str()) {
                let what = format!("the header {name} is written by waggle itself");
                self.report(
                    Finding::new(self.key(&here), what).with_expected("other header fields"),
                );
            } else if name.is_empty() || !name.bytes().all(is_token) {
                let what = format!("{} is no name of a header", crate::tree::quote(&name));
                self.report(
                    Finding::new(self.key(&here), what).with_expected("letters, digits and -"),
                );
            } else if value
                .bytes()
                .any(|byte| byte.is_ascii_control() && byte != b'\t')
            {
                let what = format!("the header {name} has a control character in its value");
                self.report(
                    Finding::new(self.position_of(&here), what).with_expected("text of one line"),
                );
            }
            fields.push((name, value));
        }
        fields
    }
}

/// The method and path of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Called {
    pub(crate) method: String,
    pub(crate) path: String,
    /// The key under which the path is.
    pub(crate) key: &'static str,
}

/// RFC 9110, 5.6.2.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Header fields that waggle writes itself; the last one only where the request does not name its host.
const OWN_HEADERS: [&str; 4] = ["content-length", "transfer-encoding", "connection", "host"];
const OWN_HEADERS_BUT_HOST: &[&str] = OWN_HEADERS.split_at(3).0;

/// A path as messages name it: `verify[1].get`, entries of lists counted from 1.
fn path_text(path: &[&str]) -> String {
    let mut shown = String::new();
    for step in path {
        match step.parse::<usize>() {
            Ok(index) => shown.push_str(&format!("[{}]", index + 1)),
            Err(_) if shown.is_empty() => shown.push_str(step),
            Err(_) => shown.extend([".", step]),
        }
    }
    shown
}
