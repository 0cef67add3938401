//! Calibration: a job's own requests against the null server, and nothing sent to the job's targets.

use std::net::TcpListener;

use waggle_load::calibrate;
use waggle_spec::LoadModel;

use crate::support::job;

fn closed_model(pipelining: u32) -> LoadModel {
    LoadModel::Closed {
        connections: 10,
        pipelining,
    }
}

#[test]
fn a_job_is_calibrated_without_its_targets() {
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    target.set_nonblocking(true).unwrap();
    let mut costs = Vec::new();
    for pipelining in [1, 50] {
        let job = job(target.local_addr().unwrap(), closed_model(pipelining));
        let capacity = calibrate(&job, &[]).unwrap();
        let product = capacity.cpu_us_per_request * capacity.requests_per_s;
        // One unpinned worker has one CPU.
        assert!((product / 1e6 - 1.0).abs() < 1e-9, "{capacity:?}");
        costs.push(capacity.cpu_us_per_request);
    }
    // A tenth to a thirtieth on every machine seen: one system call serves for many requests.
    assert!(costs[1] < costs[0], "{costs:?}");
    assert!(target.accept().is_err(), "the target was called");
}

#[test]
fn errors_of_the_start_are_reported() {
    let mut job = job("127.0.0.1:1".parse().unwrap(), closed_model(1));
    job.workers = Vec::new();
    assert!(calibrate(&job, &[]).is_err());
}
