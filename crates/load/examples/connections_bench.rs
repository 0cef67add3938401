//! New connections, one for each request, for `bench/engine/connections`:
//!
//! - `connections_bench server`: a server on a free port of 127.0.0.1 that answers each connection once and closes it; prints its address.
//! - `connections_bench null`: the null server, which takes connections as fast as it can; prints its address.
//! - `connections_bench bare ADDRESS COUNT RATE`: one after the other at a rate, by the plainest calls: sleep until it is due, connect,
//!   send, receive until the end, close. With the rate 0 as fast as they come.
//! - `connections_bench engine ADDRESS COUNT RATE`: so many requests at a rate by one worker, a connection for each.
//! - `connections_bench closed ADDRESS COUNT`: the same over 50 connections, as fast as answers come.
//! - `connections_bench bare-http2 ADDRESS COUNT RATE`, `engine-http2 ADDRESS COUNT RATE`: the first two over HTTP/2, one stream on each
//!   connection; the bare one sends its request with the preface and does not read the server's settings.
//! - `connections_bench burst ADDRESS CLIENTS CONNECTIONS WORKERS`: clients that open their connections at once, with one request each.
//!
//! Prints CPU µs per connection of the program, and what failed, as `name=value` on one line.

#![expect(
    clippy::print_stdout,
    reason = "a program for the bench script, which reads its output"
)]

use std::{
    error::Error,
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use rustix::{
    net::{AddressFamily, SocketType, bind, listen, socket},
    time::{ClockId, clock_gettime},
};
use waggle_load::{
    Expect, Interval, Job, Limits, NullServer, Outcome, Prepared, Target, Transport, What, start,
};
use waggle_spec::{Arrivals, LoadModel, OnSocketError, Protocol, TimeKind};

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n";
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
/// The kernel takes as many as `net.core.somaxconn` allows.
const BACKLOG: i32 = 65_535;
/// Connections of the paced load, each of which is opened again for every request.
const CONNECTIONS: u32 = 50;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let texts: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match texts[..] {
        ["server"] => serve(),
        ["null"] => {
            let server = NullServer::start(([127, 0, 0, 1], 0).into(), ANSWER)?;
            println!("{}", server.address());
            server.wait();
            Ok(())
        }
        ["bare", address, count, rate] => {
            let until_close = |stream: &mut TcpStream, input: &mut [u8]| {
                while stream.read(input)? > 0 {}
                Ok(())
            };
            let rate = rate.parse()?;
            connect_each(
                address.parse()?,
                (count.parse()?, rate),
                REQUEST,
                until_close,
            )
        }
        ["bare-http2", address, count, rate] => {
            let request = http2_request(address);
            let rate = rate.parse()?;
            connect_each(
                address.parse()?,
                (count.parse()?, rate),
                &request,
                read_stream,
            )
        }
        ["closed", address, count] => {
            let model = LoadModel::Closed {
                connections: CONNECTIONS,
                pipelining: 1,
            };
            let mut job = job(address.parse()?, model, 1);
            job.max_requests = Some(count.parse()?);
            report(&run(job)?);
            Ok(())
        }
        ["engine" | "engine-http2", address, count, rate] => {
            let model = LoadModel::Open {
                rate_per_s: rate.parse()?,
                arrivals: Arrivals::Uniform,
                connections: CONNECTIONS,
                pipelining: 1,
            };
            let mut job = job(address.parse()?, model, 1);
            job.max_requests = Some(count.parse()?);
            if texts[0] == "engine-http2" {
                job.transport.protocol = Protocol::Http2;
            }
            report(&run(job)?);
            Ok(())
        }
        ["burst", address, clients, connections, workers] => {
            let model = LoadModel::Clients {
                clients: clients.parse()?,
                connections: connections.parse()?,
                requests: connections.parse()?,
                on_socket_error: OnSocketError::Count,
            };
            report(&run(job(address.parse()?, model, workers.parse()?))?);
            Ok(())
        }
        _ => Err("usage: connections_bench server | null | bare … | engine … | burst …".into()),
    }
}

fn serve() -> Result<(), Box<dyn Error>> {
    let listener = socket(AddressFamily::INET, SocketType::STREAM, None)?;
    bind(&listener, &SocketAddr::from(([127, 0, 0, 1], 0)))?;
    listen(&listener, BACKLOG)?;
    let listener = std::net::TcpListener::from(listener);
    println!("{}", listener.local_addr()?);
    let mut input = [0; 4096];
    loop {
        let (mut stream, _) = listener.accept()?;
        // A client that has gone away is none of its business.
        if stream.read(&mut input).is_ok_and(|length| length > 0) {
            stream.write_all(ANSWER).ok();
        }
    }
}

/// Connects at a rate, sends a request, reads its answer by `read` and closes, one connection after the other.
fn connect_each(
    address: SocketAddr,
    (count, rate): (u32, f64),
    request: &[u8],
    read: impl Fn(&mut TcpStream, &mut [u8]) -> io::Result<()>,
) -> Result<(), Box<dyn Error>> {
    let mut input = [0; 4096];
    let before = cpu_us();
    let began = Instant::now();
    let distance = match rate > 0.0 {
        true => Duration::from_secs_f64(1.0 / rate),
        false => Duration::ZERO,
    };
    for number in 0..count {
        let early = (distance * number).saturating_sub(began.elapsed());
        if !early.is_zero() {
            std::thread::sleep(early);
        }
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.write_all(request)?;
        read(&mut stream, &mut input)?;
    }
    println!(
        "connections={count} cpu_us={:.3} failed=0",
        (cpu_us() - before) / f64::from(count)
    );
    Ok(())
}

/// Preface, settings without a value, and GET of `/` on stream 1, its fields by the static table but for the authority.
fn http2_request(authority: &str) -> Vec<u8> {
    let mut block = vec![0x82, 0x86, 0x84, 0x41, authority.len() as u8];
    block.extend_from_slice(authority.as_bytes());
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
    bytes.extend_from_slice(&[0, 0, block.len() as u8, 1, 5, 0, 0, 0, 1]);
    bytes.extend_from_slice(&block);
    bytes
}

/// Reads frames until one ends a stream.
fn read_stream(stream: &mut TcpStream, input: &mut [u8]) -> io::Result<()> {
    let mut received = 0;
    loop {
        let mut start = 0;
        while let Some(&[_, high, low, kind, flags, ..]) = input[start..received].first_chunk::<9>()
        {
            if kind <= 1 && flags & 1 != 0 {
                return Ok(());
            }
            start += 9 + usize::from(u16::from_be_bytes([high, low]));
            if start > received {
                break;
            }
        }
        match stream.read(&mut input[received..])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            more => received += more,
        }
    }
}

fn job(address: SocketAddr, model: LoadModel, workers: usize) -> Job {
    Job {
        name: "connect".to_owned(),
        targets: vec![Target { address }],
        transport: Transport::default(),
        model,
        stages: Vec::new(),
        what: What::Requests {
            requests: vec![Prepared {
                bytes: REQUEST.to_vec(),
                slots: Vec::new(),
                records: 0,
                is_head: false,
            }],
            expect: Expect::default(),
            inspect: None,
        },
        limits: Limits::default(),
        workers: vec![None; workers],
        interval: Duration::from_millis(100),
        max_duration: Duration::from_secs(120),
        max_requests: None,
        max_tracked_requests: None,
        seed: 1,
    }
}

/// The outcome, the time at which the last connection was open, and CPU time.
struct Ran {
    outcome: Outcome,
    connected_ms: f64,
    cpu_us: f64,
}

fn run(job: Job) -> Result<Ran, Box<dyn Error>> {
    let before = cpu_us();
    let running = start(job)?;
    let mut connected = Duration::ZERO;
    while !running.has_ended() {
        let Some(interval) = running.next_interval(Duration::from_millis(50)) else {
            continue;
        };
        connected = connected.max(last_connect(&interval));
    }
    let outcome = running.join();
    Ok(Ran {
        outcome,
        connected_ms: connected.as_secs_f64() * 1e3,
        cpu_us: cpu_us() - before,
    })
}

/// The slowest connection of an interval, which began at the start of the load.
fn last_connect(interval: &Interval) -> Duration {
    Duration::from_micros(interval.times[TimeKind::Connect].max())
}

fn report(ran: &Ran) {
    let totals = &ran.outcome.totals;
    println!(
        "connections={} cpu_us={:.3} failed={} connected_ms={:.1} ran_ms={:.1}",
        totals.connects,
        ran.cpu_us / totals.connects.max(1) as f64,
        totals.failed
            + totals
                .failures
                .0
                .iter()
                .map(|(_, count)| count)
                .sum::<u64>(),
        ran.connected_ms,
        ran.outcome.ran_for.as_secs_f64() * 1e3
    );
}

/// CPU time of this process so far.
fn cpu_us() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}
