//! The engine in its own process, for `bench/engine`:
//! `engine_bench [http2:|tls:|http2-tls:]ADDRESS CONNECTIONS PIPELINING SECONDS [CPUS [RATE | think=MS]] [count | scenario]`.
//!
//! `CPUS`: the CPU of each worker, as in `0` or `0,1`; `-` for one that is not pinned. With a rate the load is open, with Poisson
//! arrivals; with a think time each connection is a user, with exponential pauses. `count`: answers are JSON arrays, whose elements are
//! counted. `scenario`: sessions of two steps with a capture, whose answers are JSON with a member `token`, instead of a GET.
//!
//! Prints requests, seconds, CPU µs per request (worker thread) and latency, as `name=value` on one line.

#![expect(
    clippy::print_stdout,
    reason = "a program for the bench script, which reads its output"
)]

#[path = "support/two_steps.rs"]
mod two_steps;

use std::{error::Error, sync::Arc, time::Duration};

use hdrhistogram::Histogram;
use waggle_load::{
    BodyCheck, Expect, Inspect, Job, Limits, Outcome, Prepared, Roots, Target, Tls, TlsOptions,
    Transport, What, start,
};
use waggle_spec::{Arrivals, LoadModel, Protocol, Think, TimeKind};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let running = start(job(&arguments)?)?;
    let mut response_time: Option<Histogram<u64>> = None;
    let mut lag: Option<Histogram<u64>> = None;
    while !running.has_ended() {
        let Some(interval) = running.next_interval(Duration::from_secs(1)) else {
            continue;
        };
        for (sum, part) in [
            (&mut response_time, &interval.times[TimeKind::Response]),
            (&mut lag, &interval.times[TimeKind::Lag]),
        ] {
            match sum {
                Some(sum) => sum.add(part)?,
                None => *sum = Some(part.clone()),
            }
        }
    }
    print(
        &running.join(),
        &response_time.ok_or("no interval")?,
        &lag.ok_or("no interval")?,
    );
    Ok(())
}

fn job(arguments: &[String]) -> Result<Job, Box<dyn Error>> {
    let (arguments, variant) = match arguments {
        [arguments @ .., last] if last == "count" || last == "scenario" => (arguments, &**last),
        arguments => (arguments, ""),
    };
    let [address, connections, pipelining, seconds, rest @ ..] = arguments else {
        return Err(
            "usage: engine_bench [http2:|tls:|http2-tls:]ADDRESS CONNECTIONS PIPELINING SECONDS [CPUS [RATE | think=MS]] [count | scenario]"
                .into(),
        );
    };
    let (connections, pipelining) = (connections.parse()?, pipelining.parse()?);
    let workers = rest
        .first()
        .map_or("-", String::as_str)
        .split(',')
        .map(|cpu| match cpu {
            "-" => Ok(None),
            cpu => cpu.parse().map(Some),
        })
        .collect::<Result<_, _>>()?;
    let model = match rest.get(1).map(|rest| (rest, rest.strip_prefix("think="))) {
        None => LoadModel::Closed {
            connections,
            pipelining,
        },
        Some((_, Some(ms))) => LoadModel::Users {
            users: connections,
            think_time: Think::Exponential(Duration::from_secs_f64(ms.parse::<f64>()? / 1e3)),
        },
        Some((rate, None)) => LoadModel::Open {
            rate_per_s: rate.parse()?,
            arrivals: Arrivals::Poisson,
            connections,
            pipelining,
        },
    };
    let (transport, address) = transport(address)?;
    Ok(Job {
        name: "get".to_owned(),
        targets: vec![Target {
            address: address.parse()?,
        }],
        transport,
        model,
        stages: Vec::new(),
        what: workload(variant, address)?,
        limits: Limits::default(),
        workers,
        interval: Duration::from_secs(1),
        max_duration: Duration::from_secs_f64(seconds.parse()?),
        max_requests: None,
        max_tracked_requests: None,
        seed: 1,
    })
}

/// A GET, by `count` with an answer that is counted, or by `scenario` the two steps.
fn workload(variant: &str, address: &str) -> Result<What, Box<dyn Error>> {
    if variant == "scenario" {
        return Ok(What::Scenario(Arc::new(two_steps::scenario()?)));
    }
    Ok(What::Requests {
        requests: vec![Prepared {
            bytes: format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n").into_bytes(),
            slots: Vec::new(),
            records: 0,
            is_head: false,
        }],
        expect: Expect {
            status: vec![200],
            body: BodyCheck::Any,
        },
        inspect: (variant == "count").then(|| Inspect {
            count: Some(Vec::new()),
        }),
    })
}

/// The transport to an address, by its prefix; with TLS certificates are not verified.
fn transport(address: &str) -> Result<(Transport, &str), Box<dyn Error>> {
    let ways = [
        ("http2:", Protocol::Http2, false),
        ("tls:", Protocol::Http1, true),
        ("http2-tls:", Protocol::Http2, true),
    ];
    for (prefix, protocol, is_tls) in ways {
        let Some(address) = address.strip_prefix(prefix) else {
            continue;
        };
        let options = TlsOptions {
            roots: Roots::Unchecked,
            ..TlsOptions::default()
        };
        let tls = is_tls.then(|| Tls::new(options)).transpose()?;
        return Ok((
            Transport {
                protocol,
                tls,
                ..Transport::default()
            },
            address,
        ));
    }
    Ok((Transport::default(), address))
}

fn print(outcome: &Outcome, response_time: &Histogram<u64>, lag: &Histogram<u64>) {
    let totals = &outcome.totals;
    println!(
        "requests={} seconds={:.3} cpu_us={:.4} failed={} due={} skipped={} p50_us={} p90_us={} p99_us={} p99_9_us={} max_us={} lag_p99_us={} in_flight={:.2}",
        totals.succeeded,
        outcome.ran_for.as_secs_f64(),
        totals.engine_cpu.as_secs_f64() * 1e6 / totals.succeeded as f64,
        totals.failed,
        totals.due,
        totals.skipped,
        response_time.value_at_quantile(0.5),
        response_time.value_at_quantile(0.9),
        response_time.value_at_quantile(0.99),
        response_time.value_at_quantile(0.999),
        response_time.max(),
        lag.value_at_quantile(0.99),
        totals.in_flight_time.as_secs_f64() / outcome.ran_for.as_secs_f64(),
    );
}
