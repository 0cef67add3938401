//! A small store of readings: the system under study in end-to-end tests.
//!
//! `faulty_store LISTEN FAULT [FILE]`: accepts `PUT …` bodies of stamped line protocol, stores keys and times in memory and
//! returns them by offset. The first line of its output is its address. FAULT is `none` or `dies`. With `none` it creates FILE at
//! the first body; with `dies` it ends with a message as soon as FILE exists. The path `/busy` refuses some requests.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test's program: any surprise should end it, loudly; its address is what it prints"
)]

use std::{fs, io::Write, path::PathBuf, sync::Mutex, thread, time::Duration};

use waggle_testkit::{
    Listener,
    http::{Reply, Request, Server, answer, ok, text_between},
};

/// Interval of the checks for the file.
const POLL: Duration = Duration::from_millis(20);
const DIED: i32 = 7;
/// One request of this many is refused at `/busy`.
const BUSY_EVERY: u64 = 10;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let listen = arguments.next().unwrap();
    if listen == "--version" {
        return;
    }
    let address = listen.parse().unwrap();
    let fault = arguments.next().unwrap();
    let file = arguments.next().map(PathBuf::from);
    match fault.as_str() {
        "none" => {
            // Left by an earlier process.
            file.as_ref().map(fs::remove_file);
            let records = Mutex::new(Vec::new());
            let reply = move |request: &Request| {
                if request.method == "PUT"
                    && let Some(file) = &file
                {
                    fs::write(file, "").unwrap();
                }
                Reply::Answer(reply(&mut records.lock().unwrap(), request))
            };
            let server = Server::start_at(address, reply);
            println!("{}", server.address);
            server.serve_forever()
        }
        "dies" => {
            let file = file.unwrap();
            thread::spawn(move || {
                while !file.exists() {
                    thread::sleep(POLL);
                }
                die();
            });
            Listener::start_at(address, |_, _| {}).serve_forever()
        }
        fault => panic!("{fault} is no fault"),
    }
}

fn die() {
    let mut log = std::io::stderr();
    writeln!(log, "fatal: the last words of a store").unwrap();
    std::process::exit(DIED);
}

fn reply(records: &mut Vec<String>, request: &Request) -> Vec<u8> {
    if request.path == "/busy" && request.number.is_multiple_of(BUSY_EVERY) {
        return answer(503, "", "");
    }
    if request.method == "PUT" {
        records.extend(request.text().lines().map(record));
        return answer(204, "", "");
    }
    let number = |name: &str| {
        text_between(&request.path, name, &['&'])
            .parse()
            .unwrap_or(0)
    };
    let (offset, limit) = (number("offset="), number("limit="));
    let page = records.iter().enumerate().skip(offset).take(limit);
    let body: String = page
        .map(|(offset, record)| format!("{{\"offset\":{offset},{record}\n"))
        .collect();
    ok(&body)
}

/// An accepted line as it is returned, without its offset.
fn record(line: &str) -> String {
    let run = text_between(line, "waggle_run=", &[' ', ',']);
    let key = text_between(line, "waggle_key=", &['i']);
    let time = line.rsplit(' ').next().unwrap();
    format!(
        "\"time\":{time},\"tags\":{{\"waggle_run\":\"{run}\"}},\"fields\":{{\"waggle_key\":{key}}}}}"
    )
}
