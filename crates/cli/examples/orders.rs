//! A small desk for orders, for the tests of the account of records in scenarios: it is the system under study there.
//!
//! `orders LISTEN FAULT`: `POST /orders` with `{"run":"…","key":…,"time":…}` keeps an order and answers 201 with its id and key;
//! `GET /orders/ID` gives one back, `GET /stock` counts them. All of them are read on from an offset
//! (`GET /orders?offset=O&limit=L`) or by their times (`GET /sent?from=F&to=T` in JSON, `GET /sent.csv?…` as CSV), each on a line
//! of its own. With FAULT `three` one order is answered and forgotten, one is kept and denied, and one is kept and its connection
//! closed without an answer; the log says which. With `none` nothing goes wrong.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test's program: any surprise should end it, loudly; its log is what it prints"
)]

mod wire;

use std::{
    io::{BufReader, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

use wire::{between, request};

/// Which orders, counted from 1, the faults are about.
const FORGOTTEN: usize = 10;
const DENIED: usize = 20;
const UNANSWERED: usize = 30;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let listen = arguments.next().unwrap();
    if listen == "--version" {
        return;
    }
    let desk = Arc::new(Mutex::new(Desk {
        has_faults: arguments.next().unwrap() == "three",
        ..Desk::default()
    }));
    for stream in TcpListener::bind(listen).unwrap().incoming() {
        let desk = Arc::clone(&desk);
        std::thread::spawn(move || serve(stream.unwrap(), &desk));
    }
}

#[derive(Default)]
struct Desk {
    has_faults: bool,
    asked: usize,
    kept: Vec<Order>,
}

struct Order {
    run: String,
    key: u64,
    time: u64,
}

fn serve(stream: TcpStream, desk: &Mutex<Desk>) {
    stream.set_nodelay(true).unwrap();
    let mut writer = stream.try_clone().unwrap();
    let mut reader = BufReader::new(stream);
    while let Some((line, body)) = request(&mut reader) {
        let mut words = line.split(' ');
        let (method, path) = (words.next().unwrap(), words.next().unwrap());
        let answer = match method {
            "POST" => desk.lock().unwrap().order(&body),
            _ => Some(desk.lock().unwrap().show(path)),
        };
        let Some((status, body)) = answer else {
            writer.shutdown(Shutdown::Both).unwrap();
            return;
        };
        let head = format!(
            "HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        if writer.write_all((head + &body).as_bytes()).is_err() {
            return;
        }
    }
}

impl Desk {
    /// Status and body; `None`: no answer.
    fn order(&mut self, body: &str) -> Option<(u16, String)> {
        let number = |name: &str| between(body, name, &[',', '}']).parse().unwrap();
        let order = Order {
            run: between(body, "\"run\":\"", &['"']).to_owned(),
            key: number("\"key\":"),
            time: number("\"time\":"),
        };
        let key = order.key;
        let answer = format!(r#"{{"id":{},"key":{key}}}"#, self.kept.len());
        self.asked += 1;
        match self.asked {
            FORGOTTEN if self.has_faults => println!("forgotten {key}"),
            _ => self.kept.push(order),
        }
        match self.asked {
            DENIED if self.has_faults => Some((500, String::new())),
            UNANSWERED if self.has_faults => None,
            _ => Some((201, answer)),
        }
    }

    fn show(&self, path: &str) -> (u16, String) {
        let number = |name: &str| between(path, name, &['&', ' ']).parse().unwrap_or(0);
        let between_times = || {
            let (from, to) = (number("from="), number("to="));
            let kept = self.kept.iter().enumerate();
            kept.filter(move |(_, order)| (from..to).contains(&order.time))
        };
        match path.split('?').next().unwrap() {
            "/stock" => (200, self.kept.len().to_string()),
            "/orders" => {
                let (offset, limit) = (number("offset="), number("limit="));
                let all = self.kept.iter().enumerate();
                let page = all.skip(usize::try_from(offset).unwrap());
                let page = page.take(usize::try_from(limit).unwrap());
                (200, page.map(|(at, order)| row(at, order)).collect())
            }
            "/sent" => (
                200,
                between_times().map(|(at, order)| row(at, order)).collect(),
            ),
            "/sent.csv" => {
                let line = |(_, order): (usize, &Order)| {
                    format!("{},{},{}\n", order.run, order.key, order.time)
                };
                let lines: String = between_times().map(line).collect();
                (200, format!("run,key,time\n{lines}"))
            }
            one => {
                let id = one
                    .trim_start_matches("/orders/")
                    .parse()
                    .unwrap_or(usize::MAX);
                match self.kept.get(id) {
                    Some(order) => (200, row(id, order)),
                    None => (404, String::new()),
                }
            }
        }
    }
}

fn row(offset: usize, Order { run, key, time }: &Order) -> String {
    format!(r#"{{"offset":{offset},"run":"{run}","key":{key},"time":{time}}}"#) + "\n"
}
