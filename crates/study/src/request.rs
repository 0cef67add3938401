//! One request: what is sent, which answers are a success, and what is measured of them.

use std::time::Duration;

use waggle_template::variable::names;

use crate::{Expect, Feed, RecordsBody, scenario::RECORD_KEY};

/// The one request of the load.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub name: String,
    /// As it is sent, such as `GET`.
    pub method: String,
    /// Path and query, starting with `/`.
    pub path: String,
    pub headers: Vec<(String, String)>,
    /// Names of header fields that waggle would write and leaves out: the Content-Type of records.
    pub without_headers: Vec<String>,
    pub body: Body,
    pub texts: Texts,
    pub expect: Expect,
    /// `None`: answers are not inspected.
    pub inspect: Option<Inspect>,
    pub timeout: Duration,
    /// The names of values from outside in its texts, such as `env.TOKEN`, once they were taken.
    pub from_outside: Vec<String>,
}

/// What is measured of the bodies of answers while they stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inspect {
    /// Names of the members that lead from the top of the document to the JSON array whose elements are counted; none: the document is
    /// the array. `None`: nothing is counted.
    pub count: Option<Vec<String>>,
}

/// How path, values of headers and a body of text are read.
#[derive(Debug, Clone, PartialEq)]
pub enum Texts {
    /// As they are.
    Plain,
    /// With variables, written `{{name}}`: columns of these feeds, and the load's own; `{{{{` is two braces.
    Templates(Vec<Feed>),
}

impl Request {
    /// Records that it carries: those of its body, or one if a text names a record's key.
    #[must_use]
    pub fn records(&self) -> u32 {
        match &self.body {
            Body::Records(body) => body.per_request,
            Body::None | Body::Text(_) | Body::File(_) | Body::Random(_) => {
                u32::from(self.texts().any(|text| names(text, RECORD_KEY)))
            }
        }
    }

    /// The texts that may have variables; none if they are plain.
    fn texts(&self) -> impl Iterator<Item = &String> {
        let body = match &self.body {
            Body::Text(text) => Some(text),
            Body::None | Body::File(_) | Body::Random(_) | Body::Records(_) => None,
        };
        let values = self.headers.iter().map(|(_, value)| value);
        let all = values.chain([&self.path]).chain(body);
        all.filter(|_| self.texts != Texts::Plain)
    }
}

/// What a request carries.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    None,
    Text(String),
    /// The file's name as written in the study; relative to the study file's folder.
    File(String),
    /// A body of this many bytes, which follow from the study's seed.
    Random(u64),
    Records(Box<RecordsBody>),
}
