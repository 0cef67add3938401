//! HTTP/2: the calls, streams beside each other, limits, TLS, and h2spec's judgement.

mod calls;
mod conformance;
mod frames;
mod identity;
mod limits;
mod streams;

use std::path::Path;

use waggle_testkit::stream_client::{StreamAnswer, StreamClient};

use crate::support::{Gateway, store};

type Request = http::Request<bytes::Bytes>;

const RECORDS: &str = "/api/v1/topics/t/records";

fn request(method: &str, target: &str, fields: &[(&str, &str)], body: &str) -> Request {
    let mut request = http::Request::builder()
        .method(method)
        .uri(format!("http://localhost{target}"));
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    request.body(body.to_owned().into()).unwrap()
}

fn get(target: &str) -> Request {
    request("GET", target, &[], "")
}

fn put(body: &str) -> Request {
    request("PUT", RECORDS, &[], body)
}

/// The head of a request whose body comes later.
fn head(method: &str, target: &str, fields: &[(&str, &str)]) -> http::Request<()> {
    request(method, target, fields, "").map(|_| ())
}

/// A gateway, its client, and the folder of its store.
struct Lab {
    gateway: Gateway,
    client: StreamClient,
    folder: tempfile::TempDir,
}

impl Lab {
    fn start(flags: &[&str]) -> Self {
        let (folder, file) = store();
        Self::start_in(folder, &file, flags)
    }

    fn start_in(folder: tempfile::TempDir, file: &Path, flags: &[&str]) -> Self {
        let gateway = Gateway::start(file, flags);
        Self {
            client: StreamClient::connect(gateway.address),
            gateway,
            folder,
        }
    }

    fn ask(&mut self, request: Request) -> StreamAnswer {
        self.client.ask(request).unwrap()
    }

    /// The answer to a request has this status, and a body with these words.
    #[track_caller]
    fn check(&mut self, request: Request, status: u16, words: &str) -> StreamAnswer {
        let target = request.uri().to_string();
        let answer = self.ask(request);
        assert_eq!(answer.status, status, "{target}: {}", answer.body);
        assert!(answer.body.contains(words), "{target}: {}", answer.body);
        answer
    }
}
