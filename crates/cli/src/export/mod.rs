//! Exports the metrics of a run while it runs: `--metrics-listen` for Prometheus, `--otlp` by push. One thread does both. It
//! reads the sums that the thread of the events makes of the intervals, so that neither costs the load generator anything per
//! request, and a scrape waits for no trial.

mod buckets;
mod catalogue;
mod cells;
mod loads;
mod now;
mod otlp;
mod prometheus;
mod push;
#[cfg(test)]
mod tests;
mod totals;

use std::{
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result, anyhow};
use tokio::sync::{mpsc::WeakSender, watch};
use waggle_runner::Event;
use waggle_service::admin;

use self::{
    otlp::Instants,
    push::{HEADERS_VARIABLE, Receiver},
    totals::{Pushes, Totals},
};
use crate::{
    arguments::ExportFlags,
    inputs::study::Loaded,
    process::{interrupts::Interrupts, priority::out_of_the_way},
};

/// How long the values of a finished run can be scraped, if no scrape comes before that; also the limit on the last pushes.
const LINGER_MAX: Duration = Duration::from_secs(15);
/// From one push to the next.
const PUSH_INTERVAL: Duration = Duration::from_secs(5);

/// What is exported, and where: checked, and the port is taken.
#[derive(Debug)]
pub(crate) struct Export {
    listener: Option<TcpListener>,
    receiver: Option<Receiver>,
    totals: Arc<Mutex<Totals>>,
}

/// A run that is exported.
#[derive(Debug)]
pub(crate) struct Exporter {
    totals: Arc<Mutex<Totals>>,
    stage: watch::Sender<Stage>,
    /// Ends with the pushes.
    thread: JoinHandle<Option<Pushes>>,
    receiver_url: Option<String>,
    serves: bool,
}

/// Adds the events of a run to the metrics.
#[derive(Debug)]
pub(crate) struct Feed {
    totals: Arc<Mutex<Totals>>,
    run_folder: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Running,
    /// The values are final: the last push, and until the next scrape.
    Closing,
    /// No scrape is waited for.
    Ending,
}

impl Export {
    /// Takes the port and checks the URL; `None` if nothing is to be exported.
    ///
    /// # Errors
    /// The address cannot be used, or the URL or the headers are not valid.
    pub(crate) fn open(
        flags: &ExportFlags,
        loaded: &Loaded,
        folder: &Path,
    ) -> Result<Option<Self>> {
        if flags.metrics_listen.is_none() && flags.otlp.is_none() {
            return Ok(None);
        }
        let headers = match std::env::var(HEADERS_VARIABLE) {
            Ok(text) => Some(text),
            Err(std::env::VarError::NotPresent) => None,
            Err(std::env::VarError::NotUnicode(_)) => {
                return Err(anyhow!("{HEADERS_VARIABLE} is not UTF-8"));
            }
        };
        let receiver = flags.otlp.as_deref();
        let receiver = receiver.map(|url| Receiver::new(url, headers.as_deref()));
        let receiver = receiver.transpose()?;
        let listener = flags.metrics_listen.map(listen).transpose()?;
        let mut totals = Totals::new(&loaded.study, &loaded.system, folder);
        if receiver.is_some() {
            totals.set_pushes(Pushes::default());
        }
        Ok(Some(Self {
            listener,
            receiver,
            totals: Arc::new(Mutex::new(totals)),
        }))
    }

    /// The line that says where the page of metrics is.
    pub(crate) fn page_line(&self) -> Option<String> {
        let address = self.listener.as_ref()?.local_addr().ok()?;
        Some(format!("metrics: http://{address}/metrics"))
    }

    /// What is said of metrics that others can read; `None`: only this machine can.
    pub(crate) fn exposure(&self) -> Option<String> {
        let address = self.listener.as_ref()?.local_addr().ok()?;
        let is_open = !address.ip().to_canonical().is_loopback();
        is_open.then(|| {
            format!(
                "warning: everybody who reaches {address} can read the metrics, for there is no authentication; \
                 --metrics-listen 127.0.0.1:{} is for this machine alone",
                address.port()
            )
        })
    }

    /// Starts the thread. Its first problem is a warning in the events.
    ///
    /// # Errors
    /// The system has no room for a thread or for polling.
    pub(crate) fn start(self, events: WeakSender<Event>) -> Result<Exporter> {
        let (stage, stages) = watch::channel(Stage::Running);
        let receiver_url = self.receiver.as_ref().map(|receiver| receiver.url.clone());
        let serves = self.listener.is_some();
        let task = Task {
            totals: Arc::clone(&self.totals),
            stages,
            events,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot start the runtime of the exporter")?;
        let thread = std::thread::Builder::new()
            .name("exporter".to_owned())
            .spawn(move || {
                out_of_the_way(&[]);
                runtime.block_on(task.run(self.listener, self.receiver))
            })
            .context("cannot start the thread of the exporter")?;
        Ok(Exporter {
            totals: self.totals,
            stage,
            thread,
            receiver_url,
            serves,
        })
    }
}

/// A port that is bound, so that a port in use is noticed before anything starts.
fn listen(address: SocketAddr) -> Result<TcpListener> {
    let listener = TcpListener::bind(address);
    let listener =
        listener.with_context(|| format!("--metrics-listen: cannot listen on {address}"));
    let listener = listener?;
    listener
        .set_nonblocking(true)
        .context("--metrics-listen: cannot poll the socket")?;
    Ok(listener)
}

impl Exporter {
    /// What adds the events.
    pub(crate) fn feed(&self, run_folder: &Path) -> Feed {
        Feed {
            totals: Arc::clone(&self.totals),
            run_folder: run_folder.to_path_buf(),
        }
    }

    /// The run has ended: pushes once more, and serves the last values until they have been scraped, for [`LINGER_MAX`] at most.
    /// After an interrupt it waits for no scrape. `print` gets lines of progress.
    pub(crate) fn finish(self, interrupts: &Interrupts, print: impl Fn(&str)) {
        self.stage.send_replace(Stage::Closing);
        if self.serves && interrupts.count() == 0 {
            print(&format!(
                "waiting for a scrape of the last metrics, for {} s at most",
                LINGER_MAX.as_secs()
            ));
        }
        let stage = self.stage.clone();
        interrupts.follow(move || {
            stage.send_replace(Stage::Ending);
        });
        let pushes = self.thread.join().ok().flatten();
        if let Some(Pushes { accepted, failed }) = pushes.filter(|pushes| pushes.failed > 0) {
            let (all, url) = (accepted + failed, self.receiver_url.unwrap_or_default());
            print(&format!(
                "warning: {failed} of {all} pushes of metrics to {url} failed"
            ));
        }
    }
}

impl Feed {
    /// Adds an event. The account of a finished trial is read from disk, as the report does.
    pub(crate) fn apply(&self, event: &Event) {
        let trial = match event {
            Event::TrialEnded { key, .. } => waggle_results::trial_info(&self.run_folder, *key)
                .ok()
                .flatten(),
            _ => None,
        };
        let mut totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        totals.apply(event);
        if let Some(trial) = trial
            && let Some(ledger) = &trial.ledger
        {
            totals.add_account(trial.key.cell, ledger);
        }
    }
}

/// The work of the thread.
#[derive(Debug, Clone)]
struct Task {
    totals: Arc<Mutex<Totals>>,
    stages: watch::Receiver<Stage>,
    events: WeakSender<Event>,
}

impl Task {
    /// Serves and pushes until the end.
    async fn run(
        self,
        listener: Option<TcpListener>,
        receiver: Option<Receiver>,
    ) -> Option<Pushes> {
        let pushes = Mutex::new(receiver.as_ref().map(|_| Pushes::default()));
        let work = async {
            tokio::join!(self.serve(listener), self.push_all(receiver, &pushes));
        };
        let ending = async {
            self.wait_for(Stage::Closing).await;
            tokio::time::sleep(LINGER_MAX).await;
        };
        tokio::select! {
            () = work => {}
            () = ending => {}
        }
        pushes.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Also returns if the sender is gone.
    async fn wait_for(&self, stage: Stage) {
        let mut stages = self.stages.clone();
        let _ = stages.wait_for(|now| *now >= stage).await;
    }

    async fn serve(&self, listener: Option<TcpListener>) {
        let Some(listener) = listener else {
            return;
        };
        let listener = match tokio::net::TcpListener::from_std(listener) {
            Ok(listener) => listener,
            Err(problem) => {
                self.warn(format!("metrics are not served: {problem}"));
                return;
            }
        };
        let (scraped, mut is_scraped) = watch::channel(false);
        let (totals, stages) = (Arc::clone(&self.totals), self.stages.clone());
        let scraped = Arc::new(scraped);
        let render = move || page(&totals, &stages, &scraped);
        let last_scrape = async move {
            tokio::select! {
                _ = is_scraped.wait_for(|is_scraped| *is_scraped) => {}
                () = self.wait_for(Stage::Ending) => {}
            }
        };
        admin::serve_until(listener, admin::metrics_router(render), last_scrape).await;
    }

    /// Pushes from time to time, and once at the end. Sums grow from the start of the process, so a push that fails needs no
    /// queue: the next one has all of it.
    async fn push_all(&self, receiver: Option<Receiver>, pushes: &Mutex<Option<Pushes>>) {
        let Some(receiver) = receiver else {
            return;
        };
        let start_ns = unix_ns();
        let mut all = Pushes::default();
        loop {
            let is_last = tokio::select! {
                () = tokio::time::sleep(PUSH_INTERVAL) => false,
                () = self.wait_for(Stage::Closing) => true,
            };
            let now_ns = unix_ns();
            let body = otlp::body(&families(&self.totals), Instants { start_ns, now_ns });
            match receiver.push(body.to_string()).await {
                Ok(()) => all.accepted += 1,
                Err(why) => {
                    all.failed += 1;
                    if all.failed == 1 {
                        self.warn(format!(
                            "metrics were not pushed to {}: {why:#}",
                            receiver.url
                        ));
                    }
                }
            }
            *pushes.lock().unwrap_or_else(PoisonError::into_inner) = Some(all);
            let mut totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
            totals.set_pushes(all);
            drop(totals);
            if is_last {
                return;
            }
        }
    }

    /// Shows a warning as one of the run, as long as that goes on.
    fn warn(&self, text: String) {
        if let Some(events) = self.events.upgrade() {
            let _ = events.try_send(Event::Warning(text));
        }
    }
}

/// What a scrape gets; notes whether its values are the last ones.
fn page(
    totals: &Mutex<Totals>,
    stages: &watch::Receiver<Stage>,
    scraped: &watch::Sender<bool>,
) -> String {
    // Before the values are read: what is rendered then is final.
    let is_final = *stages.borrow() >= Stage::Closing;
    let families = families(totals);
    if is_final {
        scraped.send_replace(true);
    }
    prometheus::page(families)
}

fn families(totals: &Mutex<Totals>) -> Vec<catalogue::Family> {
    let totals = totals.lock().unwrap_or_else(PoisonError::into_inner);
    totals.families()
}

fn unix_ns() -> u128 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |since| since.as_nanos())
}
