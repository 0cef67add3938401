//! A small store of readings for end-to-end tests: it is the system under study there.
//!
//! `faulty_store LISTEN FAULT`: takes `PUT …` bodies of stamped line protocol, keeps keys and times in memory and
//! gives them back by offset. Its first line is the address that it listens on. FAULT is `none` or `dies` (with its last words, two seconds after somebody first connected).

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test's program: any surprise should end it, loudly; its address is what it prints"
)]

use std::{io::Write, sync::Mutex, thread, time::Duration};

use waggle_testkit::{
    Listener,
    http::{Reply, Request, Server, answer, between, ok},
};

const DIES_AFTER: Duration = Duration::from_secs(2);
const DIED: i32 = 7;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let listen = arguments.next().unwrap();
    if listen == "--version" {
        return;
    }
    let address = listen.parse().unwrap();
    match arguments.next().unwrap().as_str() {
        "none" => {
            let records = Mutex::new(Vec::new());
            let reply = move |request: &Request| {
                Reply::Answer(reply(&mut records.lock().unwrap(), request))
            };
            let server = Server::start_at(address, reply);
            println!("{}", server.address);
            server.serve_forever()
        }
        "dies" => Listener::start_at(address, |_, _| die()).serve_forever(),
        fault => panic!("{fault} is no fault"),
    }
}

fn die() {
    thread::sleep(DIES_AFTER);
    let mut log = std::io::stderr();
    writeln!(log, "fatal: the last words of a store").unwrap();
    std::process::exit(DIED);
}

fn reply(records: &mut Vec<String>, request: &Request) -> Vec<u8> {
    if request.method == "PUT" {
        records.extend(request.text().lines().map(record));
        return answer(204, "", "");
    }
    let number = |name: &str| between(&request.path, name, &['&']).parse().unwrap_or(0);
    let (offset, limit) = (number("offset="), number("limit="));
    let page = records.iter().enumerate().skip(offset).take(limit);
    let body: String = page
        .map(|(offset, record)| format!("{{\"offset\":{offset},{record}\n"))
        .collect();
    ok(&body)
}

/// What is shown of a line that was taken, but for its offset.
fn record(line: &str) -> String {
    let run = between(line, "waggle_run=", &[' ', ',']);
    let key = between(line, "waggle_key=", &['i']);
    let time = line.rsplit(' ').next().unwrap();
    format!(
        "\"time\":{time},\"tags\":{{\"waggle_run\":\"{run}\"}},\"fields\":{{\"waggle_key\":{key}}}}}"
    )
}
