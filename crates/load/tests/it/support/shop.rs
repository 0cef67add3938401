//! A small shop to run scenarios against: log in, list orders, get one. It rejects inconsistent requests, and records all
//! requests.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use waggle_testkit::http::answer;

use super::{Reply, Request, Server};

/// A request as the shop parsed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) connection: u64,
    pub(crate) method: String,
    pub(crate) path: String,
    /// The session of the cookie, if there was one.
    pub(crate) cookie: Option<String>,
    pub(crate) head: String,
    pub(crate) body: String,
    pub(crate) status: u16,
}

/// The server and its recorded requests.
pub(crate) struct Shop {
    pub(crate) server: Server,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Shop {
    /// `change` may replace the shop's answer.
    pub(crate) fn start(
        change: impl Fn(&Request) -> Option<Reply> + Send + Sync + 'static,
    ) -> Self {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let memory = Arc::clone(&asked);
        let logins = Mutex::new(0_u64);
        let server = Server::start(move |request| {
            let (method, path) = (&*request.method, &*request.path);
            let cookie = request
                .header("cookie")
                .and_then(|cookies| {
                    cookies
                        .split("; ")
                        .find_map(|pair| pair.strip_prefix("sid="))
                })
                .map(str::to_owned);
            let (status, answer) = respond(request, (method, path), cookie.as_deref(), &logins);
            let changed = change(request);
            memory.lock().unwrap().push(Asked {
                connection: request.connection,
                method: method.to_owned(),
                path: path.to_owned(),
                cookie,
                head: request.head.clone(),
                body: request.text().to_owned(),
                status: if changed.is_some() { 0 } else { status },
            });
            changed.unwrap_or(Reply::Answer(answer))
        });
        Self { server, asked }
    }

    pub(crate) fn received_requests(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// Number of requests of each path.
    pub(crate) fn paths(&self) -> HashMap<String, u64> {
        let mut paths = HashMap::new();
        for asked in self.received_requests() {
            *paths.entry(asked.path).or_default() += 1;
        }
        paths
    }
}

fn respond(
    request: &Request,
    (method, path): (&str, &str),
    cookie: Option<&str>,
    logins: &Mutex<u64>,
) -> (u16, Vec<u8>) {
    let bearer = request.header("authorization");
    let is_known = |sid: &str| bearer == Some(&format!("Bearer t-{sid}"));
    match (method, path, cookie) {
        ("POST", "/login", _) => {
            let mut logins = logins.lock().unwrap();
            *logins += 1;
            let sid = *logins;
            let lines = format!(
                "Set-Cookie: sid={sid}; Path=/; HttpOnly\r\nSet-Cookie: login={sid}; Path=/login\r\nX-Login: n{sid}\r\n"
            );
            let body = format!(r#"{{"token": "t-{sid}", "visits": [{sid}, 7]}}"#);
            (200, answer(200, &lines, &body))
        }
        ("GET", "/orders", Some(sid)) if is_known(sid) => {
            let body = format!(r#"{{"orders": [{{"id": "o-{sid}-1"}}, {{"id": "o-{sid}-2"}}]}}"#);
            (200, answer(200, "", &body))
        }
        ("POST", "/logout", Some(_)) => {
            let line = "Set-Cookie: sid=; Path=/; Max-Age=0\r\n";
            (200, answer(200, line, ""))
        }
        (_, path, Some(sid)) if path.starts_with(&format!("/orders/o-{sid}-")) => {
            (200, answer(200, "", "an order"))
        }
        (_, path, _) if path.starts_with("/open") => (200, answer(200, "", path)),
        _ => (401, answer(401, "", "")),
    }
}
