//! The time series on disk: a CSV file, and an HdrHistogram interval log.

use std::{
    fs::File,
    io::{BufWriter, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::SystemTime,
};

use anyhow::{Context, Result, bail};
use waggle_load::Interval;
use waggle_results::HistogramLogWriter;
use waggle_spec::TimeKind;

use crate::{
    commands::load::result::summary::Row,
    trial::{
        aggregate::{as_f64, quantile},
        phase::Phase,
    },
};

/// The open output files.
#[derive(Debug)]
pub(crate) struct Series {
    csv: Option<(PathBuf, BufWriter<File>)>,
    hdr: Option<Hdr>,
}

#[derive(Debug)]
struct Hdr {
    path: PathBuf,
    /// Moved to `log` at the start of the load, because the header has its time.
    file: Option<BufWriter<File>>,
    log: Option<HistogramLogWriter<BufWriter<File>>>,
}

/// Columns, named as in the JSON.
const COLUMNS: &str = "start_s,seconds,phase,due,sent,succeeded,failed,skipped,in_flight,connections_open,goodput_per_s,\
response_p50_us,response_p90_us,response_p99_us,response_p99_9_us,response_max_us,service_p50_us,service_p99_us,\
bytes_received,generator_utilization_percent,generator_lag_us_p99";

impl Series {
    /// Opens the files before the load, so errors are reported early. The files are truncated only if both can be opened.
    ///
    /// # Errors
    /// A file cannot be written, or both paths are the same file.
    pub(crate) fn create(csv: Option<&Path>, hdr: Option<&Path>) -> Result<Self> {
        let csv = csv.map(|path| open(path, "--csv")).transpose()?;
        let hdr = hdr.map(|path| open(path, "--hdr")).transpose()?;
        if let (Some(csv), Some(hdr)) = (&csv, &hdr)
            && is_same(&csv.1, &hdr.1)?
        {
            bail!("--csv and --hdr name the same file, {}", csv.0.display());
        }
        for (path, file) in csv.iter().chain(&hdr) {
            truncate(file).with_context(|| csv_error_text(path))?;
        }
        Ok(Self {
            csv: csv.map(|(path, file)| (path, BufWriter::new(file))),
            hdr: hdr.map(|(path, file)| Hdr {
                path,
                file: Some(BufWriter::new(file)),
                log: None,
            }),
        })
    }

    /// Writes the headers at the start of the load.
    pub(crate) fn begin(&mut self, started: SystemTime) -> Result<()> {
        if let Some((path, out)) = &mut self.csv {
            writeln!(out, "{COLUMNS}").with_context(|| csv_error_text(path))?;
        }
        if let Some(hdr) = &mut self.hdr
            && let Some(file) = hdr.file.take()
        {
            let since_1970 = started
                .duration_since(SystemTime::UNIX_EPOCH)
                .unwrap_or_default();
            hdr.log = Some(
                HistogramLogWriter::new(file, since_1970.as_secs_f64())
                    .with_context(|| csv_error_text(&hdr.path))?,
            );
        }
        Ok(())
    }

    /// Writes a row.
    pub(crate) fn row(&mut self, row: &Row, gathered: &Interval) -> Result<()> {
        if let Some((path, out)) = &mut self.csv {
            writeln!(out, "{}", csv_line(row)).with_context(|| csv_error_text(path))?;
        }
        if let Some(hdr) = &mut self.hdr
            && let Some(log) = &mut hdr.log
        {
            let times = (row.start_s, row.seconds);
            log.interval("response_time", times, &gathered.times[TimeKind::Response])
                .and_then(|()| {
                    log.interval("service_time", times, &gathered.times[TimeKind::Service])
                })
                .with_context(|| csv_error_text(&hdr.path))?;
        }
        Ok(())
    }

    /// Flushes the files.
    pub(crate) fn end(&mut self) -> Result<()> {
        if let Some((path, out)) = &mut self.csv {
            out.flush().with_context(|| csv_error_text(path))?;
        }
        if let Some(hdr) = &mut self.hdr
            && let Some(log) = &mut hdr.log
        {
            log.flush().with_context(|| csv_error_text(&hdr.path))?;
        }
        Ok(())
    }
}

fn open(path: &Path, flag: &str) -> Result<(PathBuf, File)> {
    if path.as_os_str() == "-" {
        bail!("{flag} -: the result goes to the standard output; expected a file");
    }
    let file = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .with_context(|| csv_error_text(path))?;
    Ok((path.to_path_buf(), file))
}

/// Whether two paths are the same regular file; pipes and devices may be used twice.
fn is_same(file: &File, other: &File) -> Result<bool> {
    let (file, other) = (file.metadata()?, other.metadata()?);
    Ok(file.is_file() && (file.dev(), file.ino()) == (other.dev(), other.ino()))
}

fn truncate(file: &File) -> std::io::Result<()> {
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    Ok(())
}

fn csv_error_text(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

/// A row of the time series.
pub(crate) fn row(gathered: &Interval, phase: Phase) -> Row {
    let seconds = gathered.length.as_secs_f64();
    let per_s = |amount: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
    let counts = &gathered.counts;
    Row {
        start_s: gathered.start.as_secs_f64(),
        seconds,
        phase,
        due: counts.due,
        sent: counts.sent,
        succeeded: counts.succeeded,
        failed: counts.failed,
        skipped: counts.skipped,
        in_flight: counts.in_flight,
        connections_open: counts.connections_open,
        goodput_per_s: per_s(as_f64(counts.succeeded)),
        response_p50_us: quantile(&gathered.times[TimeKind::Response], 0.5),
        response_p90_us: quantile(&gathered.times[TimeKind::Response], 0.9),
        response_p99_us: quantile(&gathered.times[TimeKind::Response], 0.99),
        response_p99_9_us: quantile(&gathered.times[TimeKind::Response], 0.999),
        response_max_us: quantile(&gathered.times[TimeKind::Response], 1.0),
        service_p50_us: quantile(&gathered.times[TimeKind::Service], 0.5),
        service_p99_us: quantile(&gathered.times[TimeKind::Service], 0.99),
        bytes_received: counts.bytes_received,
        generator_utilization_percent: 100.0 * per_s(counts.engine_cpu_busiest.as_secs_f64()),
        generator_lag_us_p99: quantile(&gathered.times[TimeKind::Lag], 0.99).map_or(0.0, as_f64),
    }
}

fn csv_line(row: &Row) -> String {
    let phase = match row.phase {
        Phase::WarmUp => "warm_up",
        Phase::Measured => "measured",
        Phase::Finish => "finish",
    };
    let time = |us: Option<u64>| us.map(|us| us.to_string()).unwrap_or_default();
    let cells = [
        format!("{:.6}", row.start_s),
        format!("{:.6}", row.seconds),
        phase.to_owned(),
        row.due.to_string(),
        row.sent.to_string(),
        row.succeeded.to_string(),
        row.failed.to_string(),
        row.skipped.to_string(),
        row.in_flight.to_string(),
        row.connections_open.to_string(),
        format!("{:.3}", row.goodput_per_s),
        time(row.response_p50_us),
        time(row.response_p90_us),
        time(row.response_p99_us),
        time(row.response_p99_9_us),
        time(row.response_max_us),
        time(row.service_p50_us),
        time(row.service_p99_us),
        row.bytes_received.to_string(),
        format!("{:.2}", row.generator_utilization_percent),
        format!("{:.1}", row.generator_lag_us_p99),
    ];
    cells.join(",")
}
