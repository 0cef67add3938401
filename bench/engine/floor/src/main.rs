//! The least that a client can do: a bare epoll loop that sends the same bytes for every answer it has counted.
//!
//! No parsing (answers are told apart by their length, which must be the same for all), no clock, no histogram, no
//! error handling. What a load engine costs above this is the price of what it does.
//!
//! `floor ADDRESS CONNECTIONS PIPELINING SECONDS ANSWER_BYTES [CPU] [level]`

use std::{
    error::Error,
    net::SocketAddr,
    time::{Duration, Instant},
};

use rustix::{
    buffer::spare_capacity,
    event::epoll::{self, EventData, EventFlags},
    fd::OwnedFd,
    net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType},
    thread::{ClockId, CpuSet},
};

const EVENTS_MAX: usize = 1_024;
/// The clock is looked at once in so many rounds.
const ROUNDS_PER_LOOK: u64 = 256;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [
        address,
        connections,
        pipelining,
        seconds,
        answer_bytes,
        rest @ ..,
    ] = arguments.as_slice()
    else {
        return Err(
            "usage: floor ADDRESS CONNECTIONS PIPELINING SECONDS ANSWER_BYTES [CPU] [level]".into(),
        );
    };
    if let Some(cpu) = rest.first() {
        let mut set = CpuSet::new();
        set.set(cpu.parse()?);
        rustix::thread::sched_setaffinity(None, &set)?;
    }
    let edge = if rest.get(1).is_some() {
        EventFlags::empty()
    } else {
        EventFlags::ET
    };
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n").into_bytes();
    let requests = request.repeat(pipelining.parse()?);
    let mut sockets = Vec::new();
    for number in 0..connections.parse::<u64>()? {
        let socket = connect(address.parse()?)?;
        epoll::add(
            &epoll,
            &socket,
            EventData::new_u64(number),
            EventFlags::IN | edge,
        )?;
        rustix::net::send(&socket, &requests, SendFlags::NOSIGNAL)?;
        sockets.push((socket, 0));
    }
    let length = Duration::from_secs_f64(seconds.parse()?);
    run(
        &epoll,
        &mut sockets,
        &requests,
        request.len(),
        answer_bytes.parse()?,
        length,
    )
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

/// Each socket with the bytes it has received of an answer that is not whole.
fn run(
    epoll: &OwnedFd,
    sockets: &mut [(OwnedFd, usize)],
    requests: &[u8],
    request_bytes: usize,
    answer_bytes: usize,
    length: Duration,
) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let mut input = vec![0; 64 * 1024];
    let mut events = Vec::with_capacity(EVENTS_MAX);
    let (mut answers, mut rounds) = (0_u64, 0_u64);
    while rounds % ROUNDS_PER_LOOK != 0 || start.elapsed() < length {
        rounds += 1;
        epoll::wait(epoll, spare_capacity(&mut events), None)?;
        for event in events.drain(..) {
            let (socket, partial) = &mut sockets[event.data.u64() as usize];
            let (received, _) = rustix::net::recv(&*socket, &mut *input, RecvFlags::empty())?;
            let bytes = *partial + received;
            let whole = bytes / answer_bytes;
            *partial = bytes % answer_bytes;
            answers += whole as u64;
            if whole > 0 {
                rustix::net::send(
                    &*socket,
                    &requests[..whole * request_bytes],
                    SendFlags::NOSIGNAL,
                )?;
            }
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let cpu = rustix::time::clock_gettime(ClockId::ThreadCPUTime);
    let cpu_us = cpu.tv_sec as f64 * 1e6 + cpu.tv_nsec as f64 / 1e3;
    println!(
        "requests={answers} seconds={seconds:.3} cpu_us={:.4}",
        cpu_us / answers as f64
    );
    Ok(())
}
