//! The part of GitHub's REST API that the action calls: comments of an issue, read, made and updated with a token.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use waggle_testkit::http::{Reply, Request, Server, answer};

/// The token that may write.
pub(super) const WRITER: &str = "ghs_writer";
/// The token of a pull request from a fork.
pub(super) const READER: &str = "ghs_reader";
/// Comments of a page, at most.
const PAGE: usize = 100;

pub(super) struct GitHub {
    pub(super) url: String,
    comments: Arc<Mutex<Vec<Value>>>,
    _server: Server,
}

impl GitHub {
    /// With so many comments of others, one of which looks like the action's.
    pub(super) fn start(others: usize) -> Self {
        let others = (0..others).map(|number| {
            let body = "<!-- waggle compare: studies/shop.yaml -->\nnot by the action";
            json!({ "id": number, "body": body, "user": { "login": "somebody" } })
        });
        let comments = Arc::new(Mutex::new(others.collect::<Vec<Value>>()));
        let theirs = Arc::clone(&comments);
        let server = Server::start(move |request| {
            let (status, body) = reply(request, &mut theirs.lock().unwrap());
            Reply::Answer(answer(status, "", &body.to_string()))
        });
        Self {
            url: format!("http://{}", server.address),
            comments,
            _server: server,
        }
    }

    /// The texts of the action's comments.
    pub(super) fn comments(&self) -> Vec<String> {
        let comments = self.comments.lock().unwrap();
        let by_action = comments
            .iter()
            .filter(|comment| comment["user"]["login"] == "github-actions[bot]");
        by_action
            .map(|comment| comment["body"].as_str().unwrap().to_owned())
            .collect()
    }
}

fn reply(request: &Request, comments: &mut Vec<Value>) -> (u16, Value) {
    let may_write = match request.header("authorization") {
        Some(token) if token == format!("Bearer {WRITER}") => true,
        Some(token) if token == format!("Bearer {READER}") => false,
        _ => return (401, json!({ "message": "Bad credentials" })),
    };
    const ISSUES: &str = "/repos/shop/server/issues/";
    let path = request.path.strip_prefix(ISSUES).unwrap_or_default();
    let body = || {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        body["body"].clone()
    };
    let refused = (
        403,
        json!({ "message": "Resource not accessible by integration" }),
    );
    match (&*request.method, path) {
        ("GET", path) if path.starts_with("7/comments?") => {
            let page = path
                .rsplit_once("page=")
                .unwrap()
                .1
                .parse::<usize>()
                .unwrap();
            let skipped = (page - 1) * PAGE;
            let shown: Vec<Value> = comments.iter().skip(skipped).take(PAGE).cloned().collect();
            (200, shown.into())
        }
        (_, _) if !may_write => refused,
        ("POST", "7/comments") => {
            let user = json!({ "login": "github-actions[bot]" });
            let comment = json!({ "id": comments.len(), "body": body(), "user": user });
            comments.push(comment.clone());
            (201, comment)
        }
        ("PATCH", path) => {
            let id = path.strip_prefix("comments/").unwrap_or_default();
            let id: u64 = id.parse().unwrap();
            let comment = comments.iter_mut().find(|comment| comment["id"] == id);
            let comment = comment.unwrap();
            comment["body"] = body();
            (200, comment.clone())
        }
        _ => (404, json!({ "message": "Not Found" })),
    }
}
