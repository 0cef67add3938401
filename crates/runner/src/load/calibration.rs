//! Calibration before the first trial: how much the engine can send on this machine with each shape of load in the study.
//!
//! It is measured against the null server and cached per host and version, so that the next run need not repeat it. A load that
//! cannot be calibrated is run all the same; its trials are then not compared with a capacity.

use std::{collections::BTreeMap, path::Path};

use waggle_load::{CalibrationError, Capacity, Job, What};
use waggle_results::{CalibratedShape, CalibrationFile, Host};
use waggle_study::{self as study, Cell, Study, System};
use waggle_system::{host::cpus::Shares, now_utc, shutdown::Shutdown};

use crate::{
    event::Event,
    event_sender::Events,
    load::{job, job::Parts, records::RecordFiles},
};

/// Placeholder for the system's address in the requests.
const NOWHERE: std::net::SocketAddr =
    std::net::SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 1);

/// How long a cached result is valid.
const KEPT_FOR: jiff::SignedDuration = jiff::SignedDuration::from_hours(24);

/// Requests per second that the engine can send, by number of the cell.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Calibration(BTreeMap<u32, f64>);

impl Calibration {
    pub(crate) fn possible_per_s(&self, cell: &Cell) -> Option<f64> {
        self.0.get(&cell.number).copied()
    }
}

/// What calibration needs to know about the run.
pub(crate) struct Basis<'a> {
    pub(crate) study: &'a Study,
    pub(crate) system: &'a System,
    pub(crate) records: &'a RecordFiles,
    pub(crate) shares: &'a Shares,
    pub(crate) host: &'a Host,
    /// The file of cached results.
    pub(crate) file: &'a Path,
}

/// Finds the capacity for every cell, in the file or by measuring it. Returns early if an end is requested.
pub(crate) async fn calibrate(
    basis: Basis<'_>,
    events: &Events,
    shutdown: &Shutdown,
) -> Calibration {
    let mut known = CalibrationFile::read(basis.file, &version(), basis.host);
    let now = jiff::Timestamp::now();
    known.shapes.retain(|_, shape| is_fresh(shape, now));
    let mut calibration = Calibration::default();
    let mut found_any = false;
    for cell in &basis.study.cells {
        if shutdown.is_asked() {
            break;
        }
        // Problems with the records are reported when the trial prepares its own.
        let Some(job) = job_of(&basis, cell) else {
            continue;
        };
        let Some(shape) = shape_of(&job, &basis) else {
            continue;
        };
        if !known.shapes.contains_key(&shape) {
            events.report(Event::Calibrating(shape.clone())).await;
            match calibrate_job(job, basis.shares.system.clone()).await {
                Ok(capacity) => {
                    known
                        .shapes
                        .insert(shape.clone(), calibrated_shape(capacity));
                    found_any = true;
                }
                Err(problem) => {
                    let warning = format!("the engine was not calibrated for {shape}: {problem}");
                    events.report(Event::Warning(warning)).await;
                }
            }
        }
        if let Some(entry) = known.shapes.get(&shape) {
            calibration.0.insert(cell.number, entry.requests_per_s);
        }
    }
    if found_any && let Err(problem) = known.write(basis.file) {
        let warning = format!(
            "the calibration results cannot be saved in {}: {problem}",
            basis.file.display()
        );
        events.report(Event::Warning(warning)).await;
    }
    calibration
}

/// A program that was built without optimization is another version.
fn version() -> String {
    let version = env!("CARGO_PKG_VERSION");
    if cfg!(debug_assertions) {
        format!("{version}-debug")
    } else {
        version.to_owned()
    }
}

/// A result that is old, or of an unknown time, is measured again: the machine may have been different or busy.
fn is_fresh(shape: &CalibratedShape, now: jiff::Timestamp) -> bool {
    let time: Option<jiff::Timestamp> = shape.found_utc.parse().ok();
    time.is_some_and(|time| time <= now && now.duration_since(time) <= KEPT_FOR)
}

fn job_of(basis: &Basis<'_>, cell: &Cell) -> Option<Job> {
    // The null server gives one answer, which says nothing about the cost of a scenario's sessions.
    let study::What::Request(request) = &cell.what else {
        return None;
    };
    // Nor has it TLS, whose cost is that of the ciphers.
    if basis.system.is_encrypted(&cell.endpoint) {
        return None;
    }
    let requests = basis
        .records
        .prepare(request, "calibration", &NOWHERE.to_string())
        .ok()?;
    let parts = Parts {
        targets: vec![NOWHERE.into()],
        what: What::Requests {
            requests,
            expect: job::expect(&request.expect),
            inspect: None,
        },
        workers: (basis.shares).workers(cell.load_workers, cell.generators),
        seed: basis.study.seed,
    };
    Some(job::job(cell, parts))
}

async fn calibrate_job(job: Job, server_cpus: Vec<usize>) -> Result<Capacity, CalibrationError> {
    let trying = tokio::task::spawn_blocking(move || waggle_load::calibrate(&job, &server_cpus));
    trying
        .await
        .unwrap_or_else(|problem| std::panic::resume_unwind(problem.into_panic()))
}

fn calibrated_shape(capacity: Capacity) -> CalibratedShape {
    CalibratedShape {
        cpu_us_per_request: capacity.cpu_us_per_request,
        requests_per_s: capacity.requests_per_s,
        found_utc: now_utc(),
    }
}

/// What decides the cost of a request for the engine, as text; `None` if the null server cannot be used.
fn shape_of(job: &Job, basis: &Basis<'_>) -> Option<String> {
    let shares = basis.shares;
    let What::Requests { requests, .. } = &job.what else {
        return None;
    };
    let (connections, pipelining) = (job.model.connections(), job.model.pipelining());
    let bytes: usize = requests.iter().map(|request| request.bytes.len()).sum();
    let stamps: usize = requests.iter().map(|request| request.slots.len()).sum();
    let workers = job.workers.iter().map(|cpu| match cpu {
        Some(cpu) => cpu.to_string(),
        None => "any".to_owned(),
    });
    let server = shares.system.iter().map(usize::to_string);
    // A loop may take a share of the worker's core, and a CPU that halts starts each turn with cold caches.
    let idle_poll = if basis.host.idle_poll {
        ", idle polling"
    } else {
        ""
    };
    let noun = match connections {
        1 => "connection",
        _ => "connections",
    };
    Some(format!(
        "{connections} {noun} × {pipelining}, {} B and {} stamps a request, workers on CPU {}, server on CPU {}{idle_poll}",
        bytes / requests.len().max(1),
        stamps / requests.len().max(1),
        workers.collect::<Vec<_>>().join(" "),
        if shares.system.is_empty() {
            "any".to_owned()
        } else {
            server.collect::<Vec<_>>().join(" ")
        }
    ))
}
