//! The generator's side: reads a job, runs its share and sends back what it measures.

use std::{
    any::Any,
    io::{self, Read, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc::{self, Receiver, RecvTimeoutError, TryRecvError},
    thread,
    time::Duration,
};

use super::message::{self, Order, Report, VERSION, WORDS_MAX};
use crate::{
    engine::{Running, SetUp},
    job::{Job, What, share::Share},
    machine::clock::Clock,
    recording::{outcome::Outcome, request_outcomes::RequestOutcomes},
};

/// How long to wait for an interval before looking for orders.
const WAIT: Duration = Duration::from_millis(50);
/// Waits after which an [`Report::Alive`] is sent.
const WAITS_ALIVE: u32 = 20;
/// Orders that may wait here; more wait with the one who sends them.
const ORDERS_MAX: usize = 8;

/// Why a generator ended without its results.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The other side is gone.
    #[error("the one who collects has closed the connection")]
    Closed,
    #[error("cannot talk to the one who collects: {0}")]
    Io(#[from] io::Error),
    /// The other side knows it, too.
    #[error("{0}")]
    Failed(String),
}

/// Runs the share of a job that `input` brings, and writes what it measures to `output`. Returns when everything is written, or soon
/// after `input` is closed.
///
/// # Errors
/// The job cannot be run, or the other side is gone.
pub fn serve(input: impl Read + Send + 'static, mut output: impl Write) -> Result<(), ServeError> {
    let orders = read_orders(input)?;
    match catch_unwind(AssertUnwindSafe(|| run(&orders, &mut output))) {
        Ok(Err(ServeError::Failed(why))) => fail(&mut output, why),
        Ok(ended) => ended,
        Err(panic) => {
            let why = format!("the load engine panicked: {}", text_of(&*panic));
            fail(&mut output, why)
        }
    }
}

fn fail(output: &mut impl Write, why: String) -> Result<(), ServeError> {
    message::write(output, &Report::Failed(why.clone()))?;
    Err(ServeError::Failed(why))
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

/// An order as it arrives, a job and a replacement with their bytes.
enum Received {
    Order(Order),
    Job(Share, Vec<u8>),
    What(Vec<u8>),
}

/// Orders as they arrive; the channel closes with the stream.
fn read_orders(mut input: impl Read + Send + 'static) -> io::Result<Receiver<Received>> {
    let (sender, orders) = mpsc::sync_channel(ORDERS_MAX);
    thread::Builder::new()
        .name("orders".to_owned())
        .spawn(move || {
            while let Ok(Some(received)) = receive(&mut input) {
                if sender.send(received).is_err() {
                    return;
                }
            }
        })?;
    Ok(orders)
}

fn receive(input: &mut impl Read) -> io::Result<Option<Received>> {
    Ok(match message::read(input)? {
        Some(Order::Job(share)) => {
            message::read_frame(input)?.map(|bytes| Received::Job(share, bytes))
        }
        Some(Order::Replace) => message::read_frame(input)?.map(Received::What),
        other => other.map(Received::Order),
    })
}

fn run(orders: &Receiver<Received>, output: &mut impl Write) -> Result<(), ServeError> {
    let (share, job) = receive_job(orders)?;
    let set_up = SetUp::new(&job, share).map_err(|why| ServeError::Failed(why.to_string()))?;
    let digest = message::digest(&job)?;
    message::write(output, &Report::Ready { digest })?;
    let Some(clock) = wait_for_start(orders, output)? else {
        return Ok(());
    };
    let running = set_up.run(clock);
    hand_over(&running, orders, output)?;
    let (outcome, kept) = running.join_workers();
    message::write(output, &Report::Kept(kept))?;
    send_end(outcome, output)
}

fn receive_job(orders: &Receiver<Received>) -> Result<(Share, Job), ServeError> {
    let next = || orders.recv().map_err(|_| ServeError::Closed);
    match next()? {
        Received::Order(Order::Hello { version }) if version == VERSION => {}
        Received::Order(Order::Hello { version }) => {
            let why = format!("the generator is waggle {VERSION}, and the load is from {version}");
            return Err(ServeError::Failed(why));
        }
        other => return Err(turn_error(&other)),
    }
    let (share, bytes) = match next()? {
        Received::Job(share, bytes) => (share, bytes),
        other => return Err(turn_error(&other)),
    };
    let job: Job = message::decode(&bytes)
        .map_err(|why| ServeError::Failed(format!("cannot read the job: {why}")))?;
    let workers = job.sending_workers();
    if share.workers == 0 || share.end() > workers {
        let why = format!("{share:?} is no part of a job with {workers} workers");
        return Err(ServeError::Failed(why));
    }
    Ok((share, job))
}

fn turn_error(received: &Received) -> ServeError {
    let what = match received {
        Received::Order(Order::Hello { .. }) => "a greeting",
        Received::Order(Order::Job(_)) | Received::Job(..) => "a job",
        Received::Order(Order::Start(_)) => "the start",
        Received::Order(Order::Replace) | Received::What(_) => "a replacement",
        Received::Order(Order::Stop) => "the order to stop",
    };
    ServeError::Failed(format!("{what} came out of its turn"))
}

/// The clock of the run; `None`: there will be no run.
fn wait_for_start(
    orders: &Receiver<Received>,
    output: &mut impl Write,
) -> Result<Option<Clock>, ServeError> {
    loop {
        match orders.recv_timeout(WAIT * WAITS_ALIVE) {
            Ok(Received::Order(Order::Start(clock))) => return Ok(Some(clock)),
            Ok(Received::Order(Order::Stop)) => return Ok(None),
            Ok(other) => return Err(turn_error(&other)),
            Err(RecvTimeoutError::Timeout) => message::write(output, &Report::Alive)?,
            Err(RecvTimeoutError::Disconnected) => return Err(ServeError::Closed),
        }
    }
}

/// Sends every interval until the run has ended.
fn hand_over(
    running: &Running,
    orders: &Receiver<Received>,
    output: &mut impl Write,
) -> Result<(), ServeError> {
    let mut waits = 0;
    loop {
        match orders.try_recv() {
            Ok(Received::Order(Order::Stop)) => running.stop(),
            Ok(Received::What(bytes)) => replace(running, &bytes)?,
            Ok(other) => return Err(turn_error(&other)),
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => return Err(ServeError::Closed),
        }
        if let Some(interval) = running.next_interval(WAIT) {
            waits = 0;
            message::write(output, &Report::Interval(Box::new(interval)))?;
            continue;
        }
        if running.has_ended() {
            return Ok(());
        }
        waits += 1;
        if waits % WAITS_ALIVE == 0 {
            message::write(output, &Report::Alive)?;
        }
    }
}

fn replace(running: &Running, bytes: &[u8]) -> Result<(), ServeError> {
    let failed = |why: String| ServeError::Failed(format!("cannot replace what is sent: {why}"));
    let what: What = message::decode(bytes).map_err(|why| failed(why.to_string()))?;
    let replaced = running.replace(&what);
    replaced.map_err(|why| failed(why.to_string()))
}

fn send_end(mut outcome: Outcome, output: &mut impl Write) -> Result<(), ServeError> {
    let accounts = std::mem::take(&mut outcome.request_outcomes);
    for (worker, account) in accounts.iter().enumerate() {
        send_outcomes(worker, account, output)?;
    }
    Ok(message::write(output, &Report::End(Box::new(outcome)))?)
}

fn send_outcomes(
    worker: usize,
    account: &RequestOutcomes,
    output: &mut impl Write,
) -> Result<(), ServeError> {
    let sent = account.sent_count();
    let mut pieces = account.words().chunks(WORDS_MAX);
    // A worker that has sent nothing has an account, too.
    let mut next = Some(pieces.next().unwrap_or_default());
    while let Some(words) = next {
        let words = words.to_vec();
        message::write(
            output,
            &Report::Outcomes {
                worker,
                sent,
                words,
            },
        )?;
        next = pieces.next();
    }
    Ok(())
}
