//! The shop over HTTP/2: log in, list orders, get one. It rejects requests that mix what belongs to different sessions.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use waggle_load::Job;
use waggle_spec::Protocol;
use waggle_testkit::streams::{ReceivedRequest, Reply, Settings, StreamServer};

/// How long an answer takes, so that streams overlap.
const PAUSE: Duration = Duration::from_millis(1);

/// The server, and how often each path was asked for.
pub(crate) struct StreamShop {
    pub(crate) server: StreamServer,
    paths: Arc<Mutex<HashMap<String, u64>>>,
}

impl StreamShop {
    /// `change` may replace the shop's answer.
    pub(crate) fn start(
        change: impl Fn(&ReceivedRequest) -> Option<Reply> + Send + Sync + 'static,
    ) -> Self {
        Self::start_with(Settings::default(), change)
    }

    pub(crate) fn start_with(
        settings: Settings,
        change: impl Fn(&ReceivedRequest) -> Option<Reply> + Send + Sync + 'static,
    ) -> Self {
        let paths = Arc::new(Mutex::new(HashMap::new()));
        let memory = Arc::clone(&paths);
        let logins = Mutex::new(0);
        let server = StreamServer::start(settings, move |request| {
            let path = request.head.uri().path().to_owned();
            *memory.lock().unwrap().entry(path).or_insert(0) += 1;
            change(request).unwrap_or_else(|| respond(request, &logins))
        });
        Self { server, paths }
    }

    pub(crate) fn paths(&self) -> HashMap<String, u64> {
        self.paths.lock().unwrap().clone()
    }

    /// A job with this one's address, over HTTP/2.
    pub(crate) fn job(&self, make: impl FnOnce(std::net::SocketAddr) -> Job) -> Job {
        let mut job = make(self.server.address);
        job.transport.protocol = Protocol::Http2;
        job.limits.reconnect_first = Duration::from_micros(100);
        job
    }
}

pub(crate) fn answer(status: u16, headers: Vec<(&'static str, String)>, body: String) -> Reply {
    Reply::Headed {
        status,
        headers,
        body: Bytes::from(body),
        pause: PAUSE,
    }
}

/// The session of the cookies; each may be a field of its own (RFC 9113, section 8.2.3).
fn cookie(request: &ReceivedRequest) -> Option<String> {
    let fields = request.head.headers().get_all("cookie").iter();
    let pairs = fields.flat_map(|field| field.to_str().unwrap().split("; "));
    let mut sessions = pairs.filter_map(|pair| pair.strip_prefix("sid="));
    sessions.next().map(str::to_owned)
}

fn respond(request: &ReceivedRequest, logins: &Mutex<u64>) -> Reply {
    let head = &request.head;
    let bearer = head.headers().get("authorization");
    let sid = cookie(request);
    let is_known = |sid: &str| bearer.is_some_and(|field| field == &format!("Bearer t-{sid}"));
    match (head.method().as_str(), head.uri().path(), sid.as_deref()) {
        ("POST", "/login", None) => {
            let mut logins = logins.lock().unwrap();
            *logins += 1;
            let sid = *logins;
            let cookies = ("set-cookie", format!("sid={sid}; Path=/; HttpOnly"));
            let name = ("x-login", format!("n{sid}"));
            let body = format!(r#"{{"token": "t-{sid}"}}"#);
            answer(200, vec![cookies, name], body)
        }
        ("GET", "/orders", Some(sid)) if is_known(sid) => {
            let body = format!(r#"{{"orders": [{{"id": "o-{sid}-1"}}, {{"id": "o-{sid}-2"}}]}}"#);
            answer(200, Vec::new(), body)
        }
        ("PUT", path, Some(sid)) if is_known(sid) && path == format!("/orders/o-{sid}-1") => {
            answer(200, Vec::new(), "an order".to_owned())
        }
        (_, path, _) if path.starts_with("/open") => answer(200, Vec::new(), path.to_owned()),
        _ => answer(401, Vec::new(), String::new()),
    }
}
