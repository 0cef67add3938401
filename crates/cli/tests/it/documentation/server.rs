//! The server that the pages take for the reader's own: it answers every path, knows a login, and has an OpenAPI document.

use waggle_testkit::http::{Reply, Request, Server, answer, ok};

const TOKEN: &str = "a8f5f167f44f4964e6c998dee827110c";
const JSON: &str = "Content-Type: application/json\r\n";

pub(super) fn server() -> Server {
    Server::start(|request| Reply::Answer(answer_to(request)))
}

fn answer_to(request: &Request) -> Vec<u8> {
    let path = request.path.split('?').next().unwrap_or_default();
    let is_known = request.header("Authorization") == Some(&format!("Bearer {TOKEN}"));
    match (request.method.as_str(), path) {
        ("POST", "/login") => answer(200, JSON, &format!("{{\"token\":\"{TOKEN}\"}}")),
        ("GET", path) if path.starts_with("/account") && !is_known => answer(401, "", ""),
        ("POST", "/orders") => answer(201, JSON, "{\"id\":17}"),
        ("GET", _) => answer(200, JSON, "{\"orders\":[{\"id\":17}]}"),
        _ => ok(""),
    }
}
