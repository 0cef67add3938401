//! One load by generators in processes of their own, or in this process, for `bench/generators`:
//! `generators_bench ADDRESS CONNECTIONS SECONDS CPUS GENERATORS`.
//!
//! `CPUS`: the CPU of each worker, as in `0` or `0,0`; `-` for one that is not pinned. `GENERATORS`: 0 for this process. Every
//! request is tracked, so that accounts are merged as well.
//!
//! Prints requests, CPU µs per request of all processes, and how long after the end of the load everything was merged, as
//! `name=value` on one line.

#![expect(
    clippy::print_stdout,
    reason = "a program for the bench script, which reads its output"
)]

use std::{
    error::Error,
    fs::{self, File},
    io,
    os::fd::AsFd,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use waggle_load::{
    Expect, Generators, Job, Limits, Link, Outcome, Prepared, Target, Transport, What, serve, start,
};
use waggle_spec::LoadModel;

const GENERATOR: &str = "generator";
const WAIT: Duration = Duration::from_millis(100);
/// Of `/proc/PID/stat`, on every kernel that matters here.
const TICKS_PER_S: f64 = 100.0;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().eq([GENERATOR]) {
        let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        return Ok(serve(io::stdin(), output)?);
    }
    let [address, connections, seconds, cpus, generators] = &arguments[..] else {
        return Err("usage: generators_bench ADDRESS CONNECTIONS SECONDS CPUS GENERATORS".into());
    };
    let job = job(
        address.parse()?,
        connections.parse()?,
        seconds.parse()?,
        cpus,
    )?;
    let (outcome, merged_after) = match generators.parse()? {
        0 => run_here(job)?,
        generators => run_elsewhere(&job, generators)?,
    };
    let totals = &outcome.totals;
    let tracked: u64 = outcome
        .request_outcomes
        .iter()
        .map(waggle_load::RequestOutcomes::sent_count)
        .sum();
    println!(
        "requests={} failed={} tracked={tracked} cpu_us={:.4} worker_cpu_us={:.4} merged_ms={:.1}",
        totals.succeeded,
        totals.failed,
        cpu_of_all()? * 1e6 / totals.succeeded as f64,
        totals.engine_cpu.as_secs_f64() * 1e6 / totals.succeeded as f64,
        merged_after.as_secs_f64() * 1e3,
    );
    Ok(())
}

fn run_here(job: Job) -> Result<(Outcome, Duration), Box<dyn Error>> {
    let running = start(job)?;
    let began = Instant::now();
    while !running.has_ended() {
        running.next_interval(WAIT);
    }
    let outcome = running.join();
    let merged_after = began.elapsed().saturating_sub(outcome.ran_for);
    Ok((outcome, merged_after))
}

fn run_elsewhere(job: &Job, generators: usize) -> Result<(Outcome, Duration), Box<dyn Error>> {
    let links = (0..generators).map(|_| link()).collect::<io::Result<_>>()?;
    let mut running = Generators::start(job, links)?;
    let began = Instant::now();
    while !running.has_ended() {
        running.next_interval(WAIT)?;
    }
    let outcome = running.join()?;
    let merged_after = began.elapsed().saturating_sub(outcome.ran_for);
    Ok((outcome, merged_after))
}

/// A process that is waited for, so that its CPU time is counted.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        self.0.wait().ok();
    }
}

fn link() -> io::Result<Link> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(GENERATOR);
    let mut process = Process(
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?,
    );
    let pipes = process.0.stdin.take().zip(process.0.stdout.take());
    let (orders, reports) = pipes.ok_or_else(|| io::Error::other("no pipes"))?;
    Ok(Link {
        orders: Box::new(orders),
        reports: Box::new(reports),
        clock_offset_ns: 0,
        agent: None,
        round_trip: Duration::ZERO,
        ending: Box::new(move || {
            let ended = process.0.wait();
            ended.ok().map(|status| status.to_string())
        }),
    })
}

fn job(
    address: std::net::SocketAddr,
    connections: u32,
    seconds: f64,
    cpus: &str,
) -> Result<Job, Box<dyn Error>> {
    let workers = cpus.split(',').map(|cpu| match cpu {
        "-" => Ok(None),
        cpu => cpu.parse().map(Some),
    });
    Ok(Job {
        name: "get".to_owned(),
        targets: vec![Target { address }],
        transport: Transport::default(),
        model: LoadModel::Closed {
            connections,
            pipelining: 1,
        },
        stages: Vec::new(),
        what: What::Requests {
            requests: vec![Prepared {
                bytes: format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n").into_bytes(),
                slots: Vec::new(),
                records: 0,
                is_head: false,
            }],
            expect: Expect::default(),
            inspect: None,
        },
        limits: Limits::default(),
        workers: workers.collect::<Result<_, std::num::ParseIntError>>()?,
        interval: Duration::from_secs(1),
        max_duration: Duration::from_secs_f64(seconds),
        max_requests: None,
        max_tracked_requests: Some(100_000_000),
        seed: 1,
    })
}

/// CPU time of this process and of those that it has waited for, in seconds.
fn cpu_of_all() -> Result<f64, Box<dyn Error>> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit(')').next().unwrap_or_default();
    // Fields 14 to 17 of proc_pid_stat(5); those after the name begin with field 3.
    let ticks = fields.split_whitespace().skip(11).take(4);
    let ticks: Result<Vec<f64>, _> = ticks.map(str::parse::<f64>).collect();
    Ok(ticks?.iter().sum::<f64>() / TICKS_PER_S)
}
