//! A small shop for the tests of scenarios: it is the system under study there, and keeps books of its own.
//!
//! `shop LISTEN`: `POST /login` with a customer's name and password gives a token and a cookie; `GET /orders?page=P` with
//! both lists the customer's orders; `GET /orders/ID` gives one that was listed to this customer; `GET /stock/CODE` answers
//! every seventh time that it is closed. Each answer is a line `NAME STATUS` on standard output.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test's program: any surprise should end it, loudly; its books are what it prints"
)]

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// How often the stock can be asked for before it is closed once.
const STOCK_CLOSED_EVERY: u64 = 7;
/// Orders of each customer.
const ORDERS: u64 = 3;

fn main() {
    let listen = std::env::args().nth(1).unwrap();
    if listen == "--version" {
        return;
    }
    let asked_for_stock = Arc::new(AtomicU64::new(0));
    for stream in TcpListener::bind(listen).unwrap().incoming() {
        let asked_for_stock = Arc::clone(&asked_for_stock);
        std::thread::spawn(move || serve(stream.unwrap(), &asked_for_stock));
    }
}

/// A request, as far as the shop looks at it.
struct Request {
    method: String,
    path: String,
    authorization: String,
    cookie: String,
    body: String,
}

/// What goes back: the step's name for the books, status, header fields, body.
struct Answer(&'static str, u16, String, String);

fn serve(stream: TcpStream, asked_for_stock: &AtomicU64) {
    let mut writer = stream.try_clone().unwrap();
    let mut reader = BufReader::new(stream);
    while let Some(request) = read(&mut reader) {
        let Answer(name, status, fields, body) = answer(&request, asked_for_stock);
        // Written down before it is sent, so that no answer is missing in the books.
        println!("{name} {status}");
        let length = body.len();
        let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {length}\r\n{fields}\r\n");
        if writer.write_all((head + &body).as_bytes()).is_err() {
            return;
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let mut words = line.split(' ');
    let mut request = Request {
        method: words.next()?.to_owned(),
        path: words.next()?.to_owned(),
        authorization: String::new(),
        cookie: String::new(),
        body: String::new(),
    };
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        let value = value.trim().to_owned();
        match name.to_ascii_lowercase().as_str() {
            "authorization" => request.authorization = value,
            "cookie" => request.cookie = value,
            "content-length" => length = value.parse().ok()?,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    request.body = String::from_utf8(body).ok()?;
    Some(request)
}

fn answer(request: &Request, asked_for_stock: &AtomicU64) -> Answer {
    let plain = |name, status, body: &str| Answer(name, status, String::new(), body.to_owned());
    let path = request.path.as_str();
    match request.method.as_str() {
        "POST" if path == "/login" => login(&request.body),
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
                Some(name) if ids(&name).any(|own| own == id) => {
                    let body = format!(r#"{{"id":"{id}","of":"{name}"}}"#);
                    Answer("order", 200, String::new(), body)
                }
                _ => plain("order", 404, ""),
            }
        }
        _ => plain("unknown", 404, ""),
    }
}

/// `NAME:pw-NAME` is right.
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

/// The customer, where token and cookie are of the same one.
fn customer(request: &Request) -> Option<String> {
    let name = request.authorization.strip_prefix("Bearer t-")?;
    (request.cookie == format!("customer={name}")).then(|| name.to_owned())
}

fn ids(name: &str) -> impl Iterator<Item = String> {
    (1..=ORDERS).map(move |number| format!("{name}-{number}"))
}

fn orders(name: &str) -> Answer {
    let orders: Vec<String> = ids(name).map(|id| format!(r#"{{"id":"{id}"}}"#)).collect();
    let body = format!(r#"{{"orders":[{}]}}"#, orders.join(","));
    Answer("orders", 200, String::new(), body)
}
