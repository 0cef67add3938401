//! The least that a client can do: a bare epoll loop that sends the same bytes for every answer it has counted, or one
//! request at every beat of a rate.
//!
//! No parsing (answers are told apart by their length, which must be the same for all), no histogram, no error handling;
//! closed load has no clock either. What a load engine costs above this is the price of what it does.
//!
//! `floor ADDRESS CONNECTIONS PIPELINING SECONDS ANSWER_BYTES [CPU [RATE]]`; with a rate the load is open: request n is
//! due at n ÷ rate, a timer wakes the loop for it, and it goes to the connection whose turn it is.
//!
//! `floor h2 ADDRESS CONNECTIONS STREAMS SECONDS [CPU]`: the same closed load over HTTP/2 without TLS.
//! `floor serve-h2 [PORT]`: a server for it on 127.0.0.1, which prints its address.

mod http2;

use std::{
    error::Error,
    net::SocketAddr,
    num::NonZero,
    time::{Duration, Instant},
};

use rustix::{
    buffer::spare_capacity,
    event::epoll::{self, Event, EventData, EventFlags},
    fd::OwnedFd,
    net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType},
    thread::{ClockId, CpuSet},
    time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec},
};

const EVENTS_MAX: usize = 1_024;
/// Closed load looks at the clock once in so many rounds.
const ROUNDS_PER_LOOK: u64 = 256;
const NS_PER_S: u64 = 1_000_000_000;
/// The number under which the timer's events come; connections are numbered from 0.
const ALARM: u64 = u64::MAX;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("h2") => load_http2(&arguments[1..]),
        Some("serve-h2") => {
            http2::server::serve(arguments.get(1).map_or(Ok(0), |port| port.parse())?)
        }
        _ => load_http1(&arguments),
    }
}

fn load_http2(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let [address, connections, streams, seconds, rest @ ..] = arguments else {
        return Err("usage: floor h2 ADDRESS CONNECTIONS STREAMS SECONDS [CPU]".into());
    };
    pin(rest)?;
    let (connections, streams) = (connections.parse()?, streams.parse::<NonZero<usize>>()?);
    let client = http2::client::Client::connect(address.parse()?, connections, streams.get())?;
    let length = Duration::from_secs_f64(seconds.parse()?);
    let start = Instant::now();
    print(client.run(length)?, start.elapsed());
    Ok(())
}

/// To the CPU that is the first argument, if there is one.
fn pin(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    if let Some(cpu) = arguments.first() {
        let mut set = CpuSet::new();
        set.set(cpu.parse()?);
        rustix::thread::sched_setaffinity(None, &set)?;
    }
    Ok(())
}

fn connect(address: SocketAddr) -> Result<OwnedFd, Box<dyn Error>> {
    let socket = rustix::net::socket_with(
        AddressFamily::INET,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    rustix::net::connect(&socket, &address)?;
    rustix::net::sockopt::set_tcp_nodelay(&socket, true)?;
    rustix::io::ioctl_fionbio(&socket, true)?;
    Ok(socket)
}

fn load_http1(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let [
        address,
        connections,
        pipelining,
        seconds,
        answer_bytes,
        rest @ ..,
    ] = arguments
    else {
        return Err(
            "usage: floor ADDRESS CONNECTIONS PIPELINING SECONDS ANSWER_BYTES [CPU [RATE]]".into(),
        );
    };
    pin(rest)?;
    let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n").into_bytes();
    let mut client = Client {
        epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
        sockets: Vec::new(),
        requests: request.repeat(pipelining.parse()?),
        request_bytes: request.len(),
        answer_bytes: answer_bytes.parse()?,
        input: vec![0; 64 * 1024],
        answers: 0,
    };
    for _ in 0..connections.parse::<u64>()? {
        client.connect(address.parse()?)?;
    }
    let length = Duration::from_secs_f64(seconds.parse()?);
    let start = Instant::now();
    match rest.get(1) {
        None => client.run_closed(length)?,
        Some(rate) => client.open(length, rate.parse()?)?,
    }
    print(client.answers, start.elapsed());
    Ok(())
}

fn print(answers: u64, ran_for: Duration) {
    let cpu = rustix::time::clock_gettime(ClockId::ThreadCPUTime);
    let cpu_us = cpu.tv_sec as f64 * 1e6 + cpu.tv_nsec as f64 / 1e3;
    println!(
        "requests={answers} seconds={:.3} cpu_us={:.4}",
        ran_for.as_secs_f64(),
        cpu_us / answers as f64
    );
}

struct Client {
    epoll: OwnedFd,
    /// Each socket with the bytes it has received of an answer that is not whole.
    sockets: Vec<(OwnedFd, usize)>,
    /// As many as go in one pipeline.
    requests: Vec<u8>,
    request_bytes: usize,
    answer_bytes: usize,
    input: Vec<u8>,
    answers: u64,
}

impl Client {
    fn connect(&mut self, address: SocketAddr) -> Result<(), Box<dyn Error>> {
        let socket = connect(address)?;
        epoll::add(
            &self.epoll,
            &socket,
            EventData::new_u64(self.sockets.len() as u64),
            EventFlags::IN | EventFlags::ET,
        )?;
        self.sockets.push((socket, 0));
        Ok(())
    }

    fn run_closed(&mut self, length: Duration) -> Result<(), Box<dyn Error>> {
        for (socket, _) in &self.sockets {
            rustix::net::send(socket, &self.requests, SendFlags::NOSIGNAL)?;
        }
        let start = Instant::now();
        let mut events = Vec::with_capacity(EVENTS_MAX);
        let mut rounds = 0_u64;
        while !rounds.is_multiple_of(ROUNDS_PER_LOOK) || start.elapsed() < length {
            rounds += 1;
            epoll::wait(&self.epoll, spare_capacity(&mut events), None)?;
            for event in events.drain(..) {
                let whole = self.receive(event)?;
                self.send(event.data.u64(), whole)?;
            }
        }
        Ok(())
    }

    fn open(&mut self, length: Duration, rate_per_s: u64) -> Result<(), Box<dyn Error>> {
        let timer = rustix::time::timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
        )?;
        epoll::add(
            &self.epoll,
            &timer,
            EventData::new_u64(ALARM),
            EventFlags::IN | EventFlags::ET,
        )?;
        let (start, total) = (now(), length.as_secs() * rate_per_s);
        let due = |request: u64| start + request * NS_PER_S / rate_per_s;
        let mut events = Vec::with_capacity(EVENTS_MAX);
        let (mut sent, mut rings_at) = (0, 0);
        while self.answers < total {
            while sent < total && due(sent) <= now() {
                self.send(sent % self.sockets.len() as u64, 1)?;
                sent += 1;
            }
            if rings_at != due(sent) {
                rings_at = due(sent);
                ring_at(&timer, rings_at)?;
            }
            epoll::wait(&self.epoll, spare_capacity(&mut events), None)?;
            for event in events.drain(..) {
                if event.data.u64() != ALARM {
                    self.receive(event)?;
                }
            }
        }
        Ok(())
    }

    /// Takes what has come on one socket; gives how many answers became whole.
    fn receive(&mut self, event: Event) -> Result<usize, Box<dyn Error>> {
        let (socket, partial) = &mut self.sockets[event.data.u64() as usize];
        let (received, _) = rustix::net::recv(&*socket, &mut *self.input, RecvFlags::empty())?;
        let bytes = *partial + received;
        *partial = bytes % self.answer_bytes;
        let whole = bytes / self.answer_bytes;
        self.answers += whole as u64;
        Ok(whole)
    }

    fn send(&self, number: u64, requests: usize) -> Result<(), Box<dyn Error>> {
        if requests > 0 {
            let bytes = &self.requests[..requests * self.request_bytes];
            rustix::net::send(&self.sockets[number as usize].0, bytes, SendFlags::NOSIGNAL)?;
        }
        Ok(())
    }
}

fn now() -> u64 {
    let now = rustix::time::clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * NS_PER_S + now.tv_nsec as u64
}

fn ring_at(timer: &OwnedFd, instant: u64) -> Result<(), Box<dyn Error>> {
    let timespec = |ns: u64| Timespec {
        tv_sec: (ns / NS_PER_S) as i64,
        tv_nsec: (ns % NS_PER_S) as i64,
    };
    let once = Itimerspec {
        it_interval: timespec(0),
        it_value: timespec(instant),
    };
    rustix::time::timerfd_settime(timer, TimerfdTimerFlags::ABSTIME, &once)?;
    Ok(())
}
