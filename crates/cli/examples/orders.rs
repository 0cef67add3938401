//! A small order service: the system under study in tests of delivery accounting in scenarios.
//!
//! `orders LISTEN FAULT`: `POST /orders` with `{"run":"…","key":…,"time":…}` stores an order and answers 201 with its id and key;
//! `GET /orders/ID` returns an order, `GET /stock` the number of orders. Orders are read from an offset (`GET
//! /orders?offset=O&limit=L`) or by their times (`GET /sent?from=F&to=T` in JSON, `GET /sent.csv?…` as CSV), one per line. With
//! FAULT `three`, one order is accepted and lost, one is stored and denied, and one is stored and its connection closed without
//! an answer; the log shows which. FAULT `none`: no faults.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test's program: any surprise should end it, loudly; its log is what it prints"
)]

use std::sync::Mutex;

use waggle_testkit::http::{Reply, Request, Server, answer, text_between};

/// The orders with faults, counted from 1.
const FORGOTTEN: usize = 10;
const DENIED: usize = 20;
const UNANSWERED: usize = 30;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let listen = arguments.next().unwrap();
    if listen == "--version" {
        return;
    }
    let desk = Mutex::new(Desk {
        has_faults: arguments.next().unwrap() == "three",
        ..Desk::default()
    });
    Server::start_at(listen.parse().unwrap(), move |request| {
        reply(&mut desk.lock().unwrap(), request)
    })
    .serve_forever()
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

fn reply(desk: &mut Desk, request: &Request) -> Reply {
    let given = match request.method.as_str() {
        "POST" => desk.order(request.text()),
        _ => Some(desk.show(&request.path)),
    };
    match given {
        Some((status, body)) => Reply::Answer(answer(status, "", &body)),
        None => Reply::Last(Vec::new()),
    }
}

impl Desk {
    /// Status and body; `None`: no answer.
    fn order(&mut self, body: &str) -> Option<(u16, String)> {
        let number = |name: &str| text_between(body, name, &[',', '}']).parse().unwrap();
        let order = Order {
            run: text_between(body, "\"run\":\"", &['"']).to_owned(),
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
        let number = |name: &str| text_between(path, name, &['&', ' ']).parse().unwrap_or(0);
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
                (200, page.map(|(index, order)| row(index, order)).collect())
            }
            "/sent" => (
                200,
                between_times()
                    .map(|(index, order)| row(index, order))
                    .collect(),
            ),
            "/sent.csv" => {
                let line = |(_, order): (usize, &Order)| {
                    format!("{},{},{}\n", order.run, order.key, order.time)
                };
                let lines: String = between_times().map(line).collect();
                (200, format!("run,key,time\n{lines}"))
            }
            route => {
                let id = route
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
