//! Servers that answer too early, too slowly, without end, with nonsense, or not at all for a while.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use rustix::net::{AddressFamily, SocketType, sockopt::set_socket_reuseport};
use waggle_load::{Counts, Failure, Interval, Job, Prepared, Running, start};
use waggle_spec::{Arrivals, LoadModel, Protocol};
use waggle_testkit::{Listener, Socket, free_port, random::random};

use crate::support::{
    OK, closed_model, count_failures, get, job, requests, run, run_until, take_all,
};

/// For requests that end otherwise: no pause of the machine is as long.
const NEVER_REACHED: Duration = Duration::from_secs(60);

/// Reads up to the end of the next head; false if there is none.
fn head(stream: &mut Socket) -> bool {
    let (mut seen, mut byte) = (Vec::new(), [0]);
    while !seen.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => seen.push(byte[0]),
            _ => return false,
        }
    }
    true
}

/// A POST with a body that no socket accepts at once.
fn large() -> Prepared {
    const BODY: usize = 20_000_000;
    let mut bytes = format!("POST / HTTP/1.1\r\nContent-Length: {BODY}\r\n\r\n").into_bytes();
    bytes.resize(bytes.len() + BODY, b'x');
    Prepared { bytes, ..get() }
}

fn small_job(address: SocketAddr, requests: u64) -> Job {
    let mut job = job(address, closed_model(1, 1));
    job.max_requests = Some(requests);
    job.limits.request_timeout = NEVER_REACHED;
    job.limits.head_max_bytes = 2_000;
    job.limits.body_max_bytes = 100_000;
    job.limits.reconnect_max = Duration::from_millis(5);
    job
}

/// Three requests, each answered with `first` and then `more` for as long as the engine listens.
fn check_endless(first: &'static [u8], more: &'static [u8], pause: Duration, failure: Failure) {
    let server = Listener::start(move |mut stream, _| {
        if !head(&mut stream) || stream.write_all(first).is_err() {
            return;
        }
        while stream.write_all(more).is_ok() {
            std::thread::sleep(pause);
        }
    });
    let mut job = small_job(server.address, 3);
    if failure == Failure::TimedOut {
        job.limits.request_timeout = Duration::from_millis(300);
    }
    let ended = run(job);
    ended.check_sums();
    assert_eq!(ended.failures(), [(failure, 3)], "{}", first.escape_ascii());
}

#[test]
fn answers_that_never_end_are_ended() {
    const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    const LINE: &[u8] = b"HTTP/1.1 200 OK\r\n";
    let (slowly, at_once) = (Duration::from_millis(10), Duration::ZERO);
    check_endless(CHUNKED, b"1\r\nx\r\n", slowly, Failure::TimedOut);
    check_endless(CHUNKED, b"5\r\nhello\r\n", at_once, Failure::Malformed);
    check_endless(CHUNKED, b"0000000000000000", at_once, Failure::Malformed);
    check_endless(CHUNKED, b"1;extension", at_once, Failure::Malformed);
    check_endless(LINE, b"A: b\r\n", slowly, Failure::TimedOut);
    check_endless(LINE, b"A: b\r\n", at_once, Failure::Malformed);
    check_endless(LINE, b"x", at_once, Failure::Malformed);
    check_endless(b"", b"\r\n", at_once, Failure::Malformed);
    check_endless(
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"body",
        at_once,
        Failure::Malformed,
    );
    check_endless(b"HTTP/1.1 200 OK\r\n\r\n", b"x", slowly, Failure::TimedOut);
    check_endless(
        b"",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        slowly,
        Failure::TimedOut,
    );
    check_endless(
        b"",
        b"HTTP/1.1 103 Early Hints\r\n\r\n",
        at_once,
        Failure::TimedOut,
    );
}

#[test]
fn garbage_is_a_failure_and_never_an_answer() {
    let server = Listener::start(|mut stream, number| {
        if !head(&mut stream) {
            return;
        }
        let bytes: Vec<u8> = (0..random(number, 0) % 200)
            .map(|index| random(number, index + 1).to_le_bytes()[0])
            // Without line ends no head ends; with them some would by chance.
            .filter(|byte| *byte != b'\n')
            .collect();
        // Every second one begins like an answer.
        let begin: &[u8] = if number % 2 == 0 {
            b""
        } else {
            b"HTTP/1.1 200 "
        };
        let _ = stream
            .write_all(begin)
            .and_then(|()| stream.write_all(&bytes));
        stream.close_in_order();
    });
    let ended = run(small_job(server.address, 300));
    ended.check_sums();
    let counts = ended.counts();
    assert_eq!(
        (counts.sent, counts.succeeded, counts.failed),
        (300, 0, 300)
    );
    let kinds: Vec<Failure> = ended.failures().iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, [Failure::Reset, Failure::Malformed]);
}

#[test]
fn an_answer_before_the_request_was_sent_whole_counts() {
    // Refused at the head and closed with the body unread, which resets the connection after the answer.
    let server = Listener::start(|mut stream, _| {
        if head(&mut stream) {
            let refused =
                "HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
            stream.write_all(refused.as_bytes()).unwrap();
        }
    });
    let mut refused = small_job(server.address, 5);
    *requests(&mut refused) = vec![large()];
    let ended = run(refused);
    ended.check_sums();
    assert_eq!(ended.failures(), [(Failure::Status(413), 5)]);
    // Answered at the head, the body read afterwards: the connection is kept.
    let server = Listener::start(|mut stream, _| {
        let body = large().bytes.len() as u64;
        while head(&mut stream) {
            stream.write_all(OK).unwrap();
            let rest = body - "POST / HTTP/1.1\r\nContent-Length: 20000000\r\n\r\n".len() as u64;
            let taken = std::io::copy(&mut (&mut stream).take(rest), &mut std::io::sink());
            // The run ends with its last answer, even if bytes are unsent: then the stream ends, or is reset.
            if !taken.is_ok_and(|taken| taken == rest) {
                return;
            }
        }
    });
    let mut early = small_job(server.address, 5);
    *requests(&mut early) = vec![large()];
    let ended = run(early);
    ended.check_sums();
    assert_eq!((ended.counts().succeeded, ended.counts().connects), (5, 1));
}

#[test]
fn a_body_that_is_never_taken_does_not_hold_its_connection_for_ever() {
    // Answered at the head, and then nothing more is read: neither the rest nor another request can be sent.
    let kept = Mutex::new(Vec::new());
    let server = Listener::start(move |mut stream, _| {
        if head(&mut stream) {
            stream.write_all(OK).unwrap();
            kept.lock().unwrap().push(stream);
        }
    });
    let mut job = small_job(server.address, 3);
    job.limits.request_timeout = Duration::from_secs(5);
    *requests(&mut job) = vec![large()];
    let ended = run(job);
    ended.check_sums();
    assert_eq!((ended.counts().sent, ended.counts().succeeded), (3, 3));
    assert_eq!(ended.counts().connects, 3);
}

#[test]
fn a_slow_reader_gets_its_body_or_its_request_times_out() {
    let check = |timeout, expected: &[(Failure, u64)]| {
        let server = Listener::start(|mut stream, _| {
            let (mut left, mut piece) = (large().bytes.len(), vec![0; 500_000]);
            while left > 0 {
                match stream.read(&mut piece) {
                    Ok(0) | Err(_) => return,
                    Ok(length) => left -= length,
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            stream.write_all(OK).unwrap();
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
        });
        let mut job = small_job(server.address, 1);
        *requests(&mut job) = vec![large()];
        job.limits.request_timeout = timeout;
        let ended = run(job);
        ended.check_sums();
        assert_eq!(ended.failures(), expected);
        assert_eq!(ended.counts().bytes_sent, large().bytes.len() as u64);
    };
    check(NEVER_REACHED, &[]);
    check(Duration::from_millis(60), &[(Failure::TimedOut, 1)]);
}

#[test]
fn a_listener_with_a_full_queue_is_a_connection_that_fails_in_its_time() {
    let listener = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    rustix::net::bind(&listener, &any).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let address = TcpListener::from(listener.try_clone().unwrap())
        .local_addr()
        .unwrap();
    // A backlog of 0 takes one connection. None is accepted.
    let _first = TcpStream::connect(address).unwrap();
    let mut job = job(address, closed_model(2, 1));
    job.limits.connect_timeout = Duration::from_millis(100);
    let ended = run_until(job, |counts| count_failures(counts) >= 4);
    ended.check_sums();
    let counts = ended.counts();
    assert_eq!((counts.sent, counts.connects), (0, 0), "{counts:?}");
    let failures = ended.other_failures();
    // An attempt takes 100 ms at least.
    let most = 2 * (ended.outcome.ran_for.as_millis() / 100 + 1);
    assert!(
        matches!(failures[..], [(Failure::ConnectFailed, count)] if u128::from(count) <= most),
        "{failures:?}, at most {most}"
    );
}

/// Accepts connections and answers on them until `stop`; then closes all, the listener included.
fn serve_until(listener: TcpListener, stop: &AtomicBool) {
    listener.set_nonblocking(true).unwrap();
    let mut streams: Vec<TcpStream> = Vec::new();
    while !stop.load(Ordering::SeqCst) {
        while let Ok((stream, _)) = listener.accept() {
            stream.set_nonblocking(true).unwrap();
            streams.push(stream);
        }
        for stream in &mut streams {
            // Without pipelining, each read is one complete request.
            if matches!(stream.read(&mut [0; 1_024]), Ok(1..)) {
                stream.write_all(OK).unwrap();
            }
        }
        std::thread::yield_now();
    }
}

/// A listener, and another one that keeps its port while the first is closed.
fn two_listeners() -> (TcpListener, rustix::fd::OwnedFd) {
    let bind = |address: SocketAddr| {
        let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        set_socket_reuseport(&socket, true).unwrap();
        rustix::net::bind(&socket, &address).unwrap();
        socket
    };
    let first = bind("127.0.0.1:0".parse().unwrap());
    rustix::net::listen(&first, 100).unwrap();
    let first = TcpListener::from(first);
    let second = bind(first.local_addr().unwrap());
    (first, second)
}

/// Takes intervals until one of them fits.
fn take_until(running: &Running, taken: &mut Vec<Interval>, wish: impl Fn(&Counts) -> bool) {
    let until = Instant::now() + NEVER_REACHED;
    while Instant::now() < until {
        if let Some(interval) = running.next_interval(Duration::from_millis(100)) {
            let is_it = wish(&interval.counts);
            taken.push(interval);
            if is_it {
                return;
            }
        }
    }
    panic!("nothing as wished in {} intervals", taken.len());
}

fn check_gone_and_back(model: LoadModel) {
    let (first, second) = two_listeners();
    let mut job = job(first.local_addr().unwrap(), model);
    job.limits.reconnect_max = Duration::from_millis(50);
    let (stop, mut taken) = (AtomicBool::new(false), Vec::new());
    let ended = std::thread::scope(|threads| {
        let serving = threads.spawn(|| serve_until(first, &stop));
        let running = start(job).unwrap();
        take_until(&running, &mut taken, |counts| counts.succeeded > 10);
        stop.store(true, Ordering::SeqCst);
        serving.join().unwrap();
        take_until(&running, &mut taken, |counts| counts.connections_open == 0);
        take_until(&running, &mut taken, |counts| {
            let mut failures = counts.other_failures.0.iter();
            failures.any(|(kind, _)| *kind == Failure::Refused)
        });
        rustix::net::listen(&second, 100).unwrap();
        stop.store(false, Ordering::SeqCst);
        let serving = threads.spawn(|| serve_until(TcpListener::from(second), &stop));
        take_until(&running, &mut taken, |counts| {
            counts.succeeded > 10 && counts.connections_open == 3
        });
        running.stop();
        let mut ended = take_all(running);
        stop.store(true, Ordering::SeqCst);
        serving.join().unwrap();
        ended.intervals.splice(0..0, taken);
        ended
    });
    ended.check_sums();
    let counts = ended.counts();
    assert!(counts.connects >= 6 && counts.failed <= 3, "{counts:?}");
    assert_eq!(counts.in_flight, 0);
}

#[test]
fn a_server_that_restarts_is_reconnected() {
    check_gone_and_back(closed_model(3, 1));
    check_gone_and_back(LoadModel::Open {
        rate_per_s: 2_000.0,
        arrivals: Arrivals::Poisson,
        connections: 3,
        pipelining: 1,
    });
}

#[test]
fn a_count_that_can_never_be_reached_is_given_up() {
    let mut job = job(([127, 0, 0, 1], free_port()).into(), closed_model(2, 1));
    job.workers = vec![None; 2];
    job.max_requests = Some(1_000);
    job.limits.request_timeout = Duration::from_millis(1);
    job.limits.unconnected = Duration::from_millis(100);
    job.max_duration = Duration::from_secs(60);
    let ended = run(job);
    assert!(ended.outcome.unconnected_for.is_some());
    assert!(ended.outcome.ran_for < Duration::from_secs(60));
    assert_eq!(ended.counts().sent, 0);
}

#[test]
fn a_server_that_only_sends_is_held_back_and_its_connection_ended() {
    const FLOOD_BYTES: usize = 64 * 1024 * 1024;
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    let pings = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8].repeat(1_000);
    let has_sent_all = Arc::new(AtomicBool::new(false));
    let note = Arc::clone(&has_sent_all);
    let server = Listener::start(move |mut stream, _| {
        let mut is_taken = stream.write_all(&settings).is_ok();
        for _ in 0..FLOOD_BYTES / pings.len() {
            is_taken = is_taken && stream.write_all(&pings).is_ok();
        }
        note.fetch_or(is_taken, Ordering::SeqCst);
    });
    let mut job = job(server.address, closed_model(1, 1));
    job.transport.protocol = Protocol::Http2;
    job.limits.request_timeout = Duration::from_millis(100);
    job.limits.finish = Duration::ZERO;
    job.max_duration = Duration::from_secs(20);
    let (running, mut connects) = (start(job).unwrap(), 0);
    while !running.has_ended() && connects < 3 {
        if let Some(interval) = running.next_interval(Duration::from_millis(100)) {
            connects += interval.counts.connects;
        }
    }
    running.stop();
    assert!(connects >= 3, "opened {connects} times");
    drop(running.join());
    assert!(!has_sent_all.load(Ordering::SeqCst));
}
