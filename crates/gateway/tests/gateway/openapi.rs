//! The OpenAPI document against its golden file, and against the served calls.

use std::path::Path;

use serde_json::Value;

use crate::support::{Gateway, store};

/// After an intended change: `waggle-gateway openapi > crates/gateway/tests/openapi.json`.
const GOLDEN: &str = "tests/openapi.json";

#[test]
fn the_document_matches_its_golden_file() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join(GOLDEN);
    let golden = std::fs::read_to_string(golden).unwrap();
    let found = waggle_gateway::openapi();
    for (number, (found, golden)) in (1..).zip(found.lines().zip(golden.lines())) {
        assert_eq!(found, golden, "line {number}");
    }
    assert_eq!(found.lines().count(), golden.lines().count());
}

#[test]
fn exactly_the_documented_calls_are_served() {
    let (_folder, file) = store();
    let gateway = Gateway::start(&file, &[]);
    let document: Value = serde_json::from_str(&gateway.get("/documentation/json").body).unwrap();
    let mut names = std::collections::HashSet::new();
    for (path, calls) in document["paths"].as_object().unwrap() {
        let target = path.replace("{topic}", "t");
        for method in ["get", "put", "post", "delete", "patch"] {
            let request = format!(
                "{} {target} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
                method.to_uppercase()
            );
            let status = gateway.ask(&request).status;
            let documented = calls.get(method).is_some();
            assert_eq!(
                status != 405 && status != 404,
                documented,
                "{method} {path} is answered {status}"
            );
            let Some(call) = calls.get(method) else {
                continue;
            };
            assert!(
                call["responses"].get(status.to_string()).is_some(),
                "{method} {path}: {status} is not documented"
            );
            assert!(
                names.insert(call["operationId"].as_str().unwrap().to_owned()),
                "{method} {path}: the name is taken"
            );
        }
    }
    assert_eq!(names.len(), 12);
}
