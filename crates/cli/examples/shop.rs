//! A small shop that counts its answers: the system under study in tests of scenarios.
//!
//! `shop LISTEN`: `POST /login` with name and password of a customer returns a token and a cookie; `GET /orders?page=P` with both
//! lists the orders of the customer; `GET /orders/ID` returns one of them; every seventh `GET /stock/CODE` fails. The shop writes
//! a line `NAME STATUS` to standard output for each answer.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test's program: any surprise should end it, loudly; its books are what it prints"
)]

use std::sync::atomic::{AtomicU64, Ordering};

use waggle_testkit::http::{self, Reply, Request, Server};

/// Every such request for the stock fails.
const STOCK_CLOSED_EVERY: u64 = 7;
/// Number of orders per customer.
const ORDERS: u64 = 3;

fn main() {
    let listen = std::env::args().nth(1).unwrap();
    if listen == "--version" {
        return;
    }
    let asked_for_stock = AtomicU64::new(0);
    Server::start_at(listen.parse().unwrap(), move |request| {
        let Answer(name, status, fields, body) = answer(request, &asked_for_stock);
        // Counted before it is sent, so no answer is missing.
        println!("{name} {status}");
        Reply::Answer(http::answer(status, &fields, &body))
    })
    .serve_forever()
}

/// The answer: name of the step for the counts, status, header fields, body.
struct Answer(&'static str, u16, String, String);

fn answer(request: &Request, asked_for_stock: &AtomicU64) -> Answer {
    let plain = |name, status, body: &str| Answer(name, status, String::new(), body.to_owned());
    let path = request.path.as_str();
    match request.method.as_str() {
        "POST" if path == "/login" => login(request.text()),
        "GET" if path == "/hello" => plain("hello", 200, "hello"),
        "GET" if path.starts_with("/stock/") => {
            let asked = asked_for_stock.fetch_add(1, Ordering::Relaxed) + 1;
            if asked.is_multiple_of(STOCK_CLOSED_EVERY) {
                plain("stock", 503, "closed")
            } else {
                plain("stock", 200, "plenty")
            }
        }
        "GET" if path.starts_with("/orders?page=") => match customer(request) {
            Some(name) => orders(&name),
            None => plain("orders", 403, ""),
        },
        "GET" if path.starts_with("/orders/") => {
            let id = path.trim_start_matches("/orders/");
            match customer(request) {
                Some(name) if ids(&name).any(|order_id| order_id == id) => {
                    let body = format!(r#"{{"id":"{id}","of":"{name}"}}"#);
                    Answer("order", 200, String::new(), body)
                }
                _ => plain("order", 404, ""),
            }
        }
        _ => plain("unknown", 404, ""),
    }
}

/// The valid password of NAME is `pw-NAME`.
fn login(body: &str) -> Answer {
    match body.split_once(':') {
        Some((name, password)) if password == format!("pw-{name}") => {
            let fields = format!("Set-Cookie: customer={name}; Path=/\r\n");
            let body = format!(r#"{{"token":"t-{name}","page":2}}"#);
            Answer("login", 200, fields, body)
        }
        _ => Answer("login", 403, String::new(), String::new()),
    }
}

/// The customer, if token and cookie belong to the same one.
fn customer(request: &Request) -> Option<String> {
    let name = request.header("authorization")?.strip_prefix("Bearer t-")?;
    (request.header("cookie")? == format!("customer={name}")).then(|| name.to_owned())
}

fn ids(name: &str) -> impl Iterator<Item = String> {
    (1..=ORDERS).map(move |number| format!("{name}-{number}"))
}

fn orders(name: &str) -> Answer {
    let orders: Vec<String> = ids(name).map(|id| format!(r#"{{"id":"{id}"}}"#)).collect();
    let body = format!(r#"{{"orders":[{}]}}"#, orders.join(","));
    Answer("orders", 200, String::new(), body)
}
