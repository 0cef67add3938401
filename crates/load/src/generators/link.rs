//! The connection to one generator: a thread that writes orders, a thread that reads reports, and what can go wrong.

use std::{
    fmt,
    io::{self, BufReader, BufWriter, Read, Write},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, SyncSender},
    },
    thread,
    time::{Duration, Instant},
};

use super::message::{self, Order, Report, VERSION};
use crate::{
    control::validate::StartError,
    job::share::Share,
    recording::{outcome::Outcome, request_outcomes::RequestOutcomes},
    scenario::kept::Kept,
};

/// Orders that may wait.
const ORDERS_MAX: usize = 8;
/// Reports that may wait. If a generator is ahead of the others, its intervals wait in its own process.
const REPORTS_MAX: usize = 4;

/// The way to a generator, wherever it runs.
pub struct Link {
    /// What [`crate::serve`] reads there.
    pub orders: Box<dyn Write + Send>,
    /// What it writes there.
    pub reports: Box<dyn Read + Send>,
    /// Where it runs, if that is elsewhere: the name of an agent, such as `n2`.
    pub agent: Option<String>,
    /// How far the generator's monotonic clock is ahead of this one's; 0 on the same machine.
    pub clock_offset_ns: i64,
    /// How long a message and its answer take; 0 on the same machine.
    pub round_trip: Duration,
    /// How the generator ended, if it is known, such as `by signal 9`. Called once `reports` has ended too early. It is
    /// dropped when nothing more is expected of the generator, which must not outlive that.
    pub ending: Box<dyn FnMut() -> Option<String> + Send>,
}

impl fmt::Debug for Link {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = out.debug_struct("Link");
        shown.field("agent", &self.agent);
        shown.field("clock_offset_ns", &self.clock_offset_ns);
        shown.finish_non_exhaustive()
    }
}

/// One of the generators of a load, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NthGenerator {
    pub number: usize,
    pub of: usize,
    /// `None`: it is a process on this machine.
    pub agent: Option<String>,
}

impl fmt::Display for NthGenerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, total) = (self.number, self.of);
        match &self.agent {
            None => write!(f, "generator {number} of {total}"),
            Some(agent) => write!(f, "agent {number} of {total} ({agent})"),
        }
    }
}

/// Why a load of several generators did not start or did not end.
#[derive(Debug, thiserror::Error)]
pub enum GeneratorsError {
    #[error(transparent)]
    Job(#[from] StartError),
    #[error("cannot encode the job for the generators: {0}")]
    Encode(#[source] io::Error),
    #[error("cannot start a thread for a generator: {0}")]
    Thread(#[source] io::Error),
    #[error("the load has {shares} shares and {links} generators")]
    Shares { shares: usize, links: usize },
    #[error(
        "{generator} ended{} before its results were complete",
        how.as_ref().map_or_else(String::new, |how| format!(" {how}"))
    )]
    Ended {
        generator: NthGenerator,
        how: Option<String>,
    },
    #[error("{generator}: {why}")]
    Failed {
        generator: NthGenerator,
        why: String,
    },
    #[error("{generator} has sent nothing for {} s", after.as_secs())]
    Silent {
        generator: NthGenerator,
        after: Duration,
    },
    #[error("{0} has another job than was sent to it")]
    OtherJob(NthGenerator),
}

/// What a writer thread sends.
pub(super) enum Outgoing {
    Order(Order),
    /// A job that is encoded already.
    Bytes(Arc<Vec<u8>>),
    /// What is sent from now on, encoded already, with its order.
    Replace(Arc<Vec<u8>>),
}

/// What a reader thread found.
pub(super) enum Incoming {
    Report(Report),
    /// The stream has ended, by an error if there is one.
    Ended(Option<io::Error>),
}

/// A generator that is connected.
pub(super) struct Connected {
    pub(super) generator: NthGenerator,
    pub(super) clock_offset_ns: i64,
    pub(super) round_trip: Duration,
    pub(super) orders: SyncSender<Outgoing>,
    pub(super) reports: Receiver<Incoming>,
    /// Its stream has ended, or it has reported a failure: seen before the reports that wait are taken.
    pub(super) is_over: Arc<AtomicBool>,
    pub(super) heard: Instant,
    accounts: Vec<Account>,
    pub(super) kept: Vec<Kept>,
    pub(super) outcome: Option<Outcome>,
    ending: Box<dyn FnMut() -> Option<String> + Send>,
}

/// The request outcomes of a worker, as far as they have arrived.
struct Account {
    sent: u64,
    words: Vec<u64>,
}

impl fmt::Debug for Connected {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = out.debug_struct("Connected");
        shown.field("generator", &self.generator);
        shown.finish_non_exhaustive()
    }
}

impl Connected {
    /// Starts the threads of a link.
    pub(super) fn new(link: Link, number: usize, total: usize) -> Result<Self, GeneratorsError> {
        let (orders, to_send) = mpsc::sync_channel(ORDERS_MAX);
        let (sender, reports) = mpsc::sync_channel(REPORTS_MAX);
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let (writer, reader) = (link.orders, link.reports);
        spawn(format!("orders-{number}"), move || {
            send_orders(writer, &to_send)
        })?;
        spawn(format!("reports-{number}"), move || {
            read_reports(reader, &sender, &over);
        })?;
        Ok(Self {
            generator: NthGenerator {
                number,
                of: total,
                agent: link.agent,
            },
            clock_offset_ns: link.clock_offset_ns,
            round_trip: link.round_trip,
            orders,
            reports,
            is_over,
            heard: Instant::now(),
            accounts: Vec::new(),
            kept: Vec::new(),
            outcome: None,
            ending: link.ending,
        })
    }

    /// Sends the job. A generator that is gone shows that by its reports.
    pub(super) fn send_job(&self, share: Share, job: &Arc<Vec<u8>>) {
        let hello = Order::Hello {
            version: VERSION.to_owned(),
        };
        self.orders.try_send(Outgoing::Order(hello)).ok();
        self.orders
            .try_send(Outgoing::Order(Order::Job(share)))
            .ok();
        self.orders.try_send(Outgoing::Bytes(Arc::clone(job))).ok();
    }

    /// The next report within `wait`; `None` if there was none.
    pub(super) fn next(&mut self, wait: Duration) -> Result<Option<Report>, GeneratorsError> {
        match self.reports.recv_timeout(wait) {
            Ok(Incoming::Report(report)) => {
                self.heard = Instant::now();
                Ok(Some(report))
            }
            Ok(Incoming::Ended(problem)) => Err(self.end_error(problem)),
            Err(mpsc::RecvTimeoutError::Disconnected) => Err(self.end_error(None)),
            Err(mpsc::RecvTimeoutError::Timeout) => Ok(None),
        }
    }

    /// Takes a report that is no interval.
    pub(super) fn take(&mut self, report: Report) -> Result<(), GeneratorsError> {
        match report {
            Report::Alive => Ok(()),
            Report::Outcomes {
                worker,
                sent,
                words,
            } => self.take_account(worker, sent, words),
            Report::Kept(kept) => {
                self.kept = kept;
                Ok(())
            }
            Report::End(outcome) => {
                let mut outcome = *outcome;
                for account in std::mem::take(&mut self.accounts) {
                    let account = RequestOutcomes::from_words(account.words, account.sent);
                    let why = "request outcomes are missing";
                    let account = account.ok_or_else(|| self.failure(why.to_owned()))?;
                    outcome.request_outcomes.push(account);
                }
                self.outcome = Some(outcome);
                Ok(())
            }
            Report::Failed(why) => Err(self.failure(why)),
            Report::Ready { .. } | Report::Interval(_) => {
                Err(self.failure("a report came out of its turn".to_owned()))
            }
        }
    }

    fn take_account(
        &mut self,
        worker: usize,
        sent: u64,
        words: Vec<u64>,
    ) -> Result<(), GeneratorsError> {
        if worker == self.accounts.len() {
            self.accounts.push(Account { sent, words });
            return Ok(());
        }
        let is_last = worker + 1 == self.accounts.len();
        match self.accounts.last_mut() {
            Some(account) if is_last => {
                account.words.extend(words);
                Ok(())
            }
            _ => Err(self.failure(format!("the request outcomes of worker {worker} came late"))),
        }
    }

    pub(super) fn failure(&self, why: String) -> GeneratorsError {
        GeneratorsError::Failed {
            generator: self.generator.clone(),
            why,
        }
    }

    fn end_error(&mut self, problem: Option<io::Error>) -> GeneratorsError {
        let how = (self.ending)().or_else(|| problem.map(|problem| problem.to_string()));
        GeneratorsError::Ended {
            generator: self.generator.clone(),
            how,
        }
    }
}

fn spawn(name: String, run: impl FnOnce() + Send + 'static) -> Result<(), GeneratorsError> {
    let thread = thread::Builder::new().name(name).spawn(run);
    thread.map(drop).map_err(GeneratorsError::Thread)
}

/// Writes orders until there will be no more; a generator that is gone shows that by its reports.
fn send_orders(to: Box<dyn Write + Send>, orders: &Receiver<Outgoing>) {
    let mut to = BufWriter::new(to);
    while let Ok(order) = orders.recv() {
        let written = match order {
            Outgoing::Order(order) => message::write(&mut to, &order),
            Outgoing::Bytes(bytes) => message::write_frame(&mut to, &bytes),
            Outgoing::Replace(bytes) => message::write(&mut to, &Order::Replace)
                .and_then(|()| message::write_frame(&mut to, &bytes)),
        };
        if written.is_err() {
            return;
        }
    }
}

/// Reads reports until the last one.
fn read_reports(from: Box<dyn Read + Send>, to: &SyncSender<Incoming>, is_over: &AtomicBool) {
    let mut from = BufReader::new(from);
    loop {
        let event = match message::read(&mut from) {
            Ok(Some(report)) => Incoming::Report(report),
            Ok(None) => Incoming::Ended(None),
            Err(problem) => Incoming::Ended(Some(problem)),
        };
        let is_last = matches!(
            &event,
            Incoming::Ended(_) | Incoming::Report(Report::End(_) | Report::Failed(_))
        );
        if is_last {
            is_over.store(true, Ordering::Relaxed);
        }
        if to.send(event).is_err() || is_last {
            return;
        }
    }
}
