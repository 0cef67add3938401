//! The cost of a scenario compared with prepared requests: `scenario_bench SECONDS CONNECTIONS [CPU]`.
//!
//! Both run in turn against the same null server, so that the state of the machine is the same: a GET of the same bytes each
//! time, and sessions of a login whose token is captured by JSONPath and a GET that carries it. Prints CPU µs per request.

#![expect(
    clippy::print_stdout,
    reason = "a program for measurements, whose output is read"
)]

#[path = "support/two_steps.rs"]
mod two_steps;

use std::{error::Error, net::SocketAddr, sync::Arc, time::Duration};

use waggle_load::{Expect, Job, Limits, NullServer, Prepared, Target, Transport, What, start};
use waggle_spec::LoadModel;

const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Length: 31\r\n\r\n{\"token\": \"0123456789abcdef01\"}";
const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [seconds, connections, rest @ ..] = arguments.as_slice() else {
        return Err("usage: scenario_bench SECONDS CONNECTIONS [CPU]".into());
    };
    let cpu = rest.first().map(|cpu| cpu.parse()).transpose()?;
    let server = NullServer::start("127.0.0.1:0".parse()?, ANSWER)?;
    let job = |what| Job {
        name: "get".to_owned(),
        targets: vec![Target {
            address: server.address(),
        }],
        transport: Transport::default(),
        model: LoadModel::Closed {
            connections: connections.parse().unwrap_or(1),
            pipelining: 1,
        },
        stages: Vec::new(),
        what,
        limits: Limits::default(),
        workers: vec![cpu],
        interval: Duration::from_secs(1),
        max_duration: Duration::from_secs_f64(seconds.parse().unwrap_or(1.0)),
        max_requests: None,
        max_tracked_requests: None,
        seed: 1,
    };
    for _ in 0..ROUNDS {
        let plain = cost(job(plain(server.address())))?;
        let scenario = cost(job(What::Scenario(Arc::new(two_steps::scenario()?))))?;
        println!(
            "plain_us={plain:.3} scenario_us={scenario:.3} ratio={:.3}",
            scenario / plain
        );
    }
    Ok(())
}

fn cost(job: Job) -> Result<f64, Box<dyn Error>> {
    let totals = start(job)?.join().totals;
    if totals.failed > 0 {
        return Err(format!("{} requests failed: {:?}", totals.failed, totals.failures).into());
    }
    Ok(totals.engine_cpu.as_secs_f64() * 1e6 / totals.succeeded as f64)
}

fn plain(address: SocketAddr) -> What {
    What::Requests {
        requests: vec![Prepared {
            bytes: format!("GET /items HTTP/1.1\r\nHost: {address}\r\n\r\n").into_bytes(),
            slots: Vec::new(),
            records: 0,
            is_head: false,
        }],
        expect: Expect::default(),
        inspect: None,
    }
}
