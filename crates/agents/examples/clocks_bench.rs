//! How well a fleet reads the clocks of its agents, and how soon: `clocks_bench AGENTS ROUNDS [DELAY_US]`.
//!
//! The agents are processes of this program on this machine, each behind a proxy that delays both directions if there is a delay. Prints the least, the median and the largest bound of all agents and
//! rounds in µs, and the median time of a round in ms, as `name=value` on one line.

#![expect(
    clippy::print_stdout,
    reason = "a program for the bench script, which reads its output"
)]

use std::{
    error::Error,
    io::Write,
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use tokio::{runtime, sync::mpsc, time::sleep};
use waggle_agents::{AgentOptions, Asked, Fleet, JoinFile, run_agent};
use waggle_testkit::{Link, Proxy};

const AGENT: &str = "agent";
const WAIT: Duration = Duration::from_secs(60);
/// Until all agents have answered once, after which their distance is known.
const SETTLE: Duration = Duration::from_secs(2);
const NOTICES: usize = 16;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().eq([AGENT]) {
        let options = AgentOptions {
            join: JoinFile::read(Path::new("-"))?,
            number: None,
            wait: WAIT,
        };
        return Ok(run_agent(&options, |_| {})?);
    }
    let [agents, rounds, delay @ ..] = &arguments[..] else {
        return Err("usage: clocks_bench AGENTS ROUNDS [DELAY_US]".into());
    };
    let (agents, rounds) = (agents.parse()?, rounds.parse()?);
    let delay = delay.first().map(|delay| delay.parse()).transpose()?;
    let delay = delay.map(Duration::from_micros);
    let asked = Asked {
        run: "the bench".to_owned(),
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        advertise: Vec::new(),
        agents,
    };
    let (sender, _notices) = mpsc::channel(NOTICES);
    let fleet = Fleet::start(&asked, sender)?;
    let processes = (0..agents).map(|_| start(fleet.join_file(), delay));
    let processes: Result<Vec<Child>, _> = processes.collect();
    let processes = processes?;
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let read = runtime.block_on(read(&fleet, agents, rounds));
    drop(fleet);
    for mut process in processes {
        process.wait()?;
    }
    print(read?);
    Ok(())
}

/// An agent in a process of its own.
fn start(join: &JoinFile, delay: Option<Duration>) -> Result<Child, Box<dyn Error>> {
    let mut join = join.clone();
    if let Some(delay) = delay {
        let proxy = Proxy::start();
        proxy.lead_to(join.addresses[0].parse()?);
        proxy.set(Link::Slow(delay));
        join.addresses = vec![proxy.address().to_string()];
    }
    let mut command = Command::new(std::env::current_exe()?);
    let mut process = command.arg(AGENT).stdin(Stdio::piped()).spawn()?;
    let mut input = process.stdin.take().ok_or("no pipe")?;
    input.write_all(join.text().as_bytes())?;
    Ok(process)
}

/// The bounds of all readings in ns, and the times of all rounds.
async fn read(
    fleet: &Fleet,
    agents: usize,
    rounds: usize,
) -> Result<(Vec<u64>, Vec<Duration>), Box<dyn Error>> {
    fleet.wait_for_agents(agents, WAIT).await?;
    sleep(SETTLE).await;
    let (mut bounds, mut times) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let began = Instant::now();
        let load = fleet.begin_load(agents).await?;
        times.push(began.elapsed());
        let uses = fleet.end_load(&load).await?;
        bounds.extend(uses.iter().map(|agent| agent.clock.before.bound_ns));
    }
    Ok((bounds, times))
}

fn print((mut bounds, mut times): (Vec<u64>, Vec<Duration>)) {
    bounds.sort_unstable();
    times.sort_unstable();
    let us = |ns: u64| Duration::from_nanos(ns).as_secs_f64() * 1e6;
    let bound = |share: usize| us(bounds[(bounds.len() - 1) * share / 100]);
    println!(
        "least_us={:.1} median_us={:.1} p90_us={:.1} most_us={:.1} round_ms={:.2}",
        bound(0),
        bound(50),
        bound(90),
        bound(100),
        times[times.len() / 2].as_secs_f64() * 1e3
    );
}
