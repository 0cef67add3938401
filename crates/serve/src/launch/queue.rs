//! One run that is started from here, and one that waits for it. The runs are processes of their own, started on the thread that calls
//! [`Queue::work`]: they inherit its priority, and not the low one of the server.

use std::{
    collections::VecDeque,
    fs,
    io::{self, Read},
    os::fd::OwnedFd,
    path::PathBuf,
    process::{Child, ExitStatus},
    sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError},
    thread,
};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::order::Order;
use crate::reason::Reason;

/// Runs that wait.
const WAITING_MAX: usize = 1;
/// Runs that have ended and are still shown.
const ENDED_MAX: usize = 10;
/// The last bytes of what a run printed.
const OUTPUT_MAX_BYTES: usize = 64 << 10;

/// The folder of the run that a process writes to; `None`: not yet.
pub(crate) type Locate = fn(u32) -> Option<PathBuf>;

/// The runs that are started from here.
#[derive(Debug)]
pub struct Queue {
    locate: Locate,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Order>,
    /// From when a run is taken until it has ended; it is running a little later.
    is_working: bool,
    running: Option<Running>,
    ended: VecDeque<EndedRun>,
    is_closed: bool,
}

#[derive(Debug)]
struct Running {
    order: Order,
    pid: u32,
    process: Option<OwnedFd>,
    stops: u32,
    output: Arc<Output>,
}

/// What a run prints, and where it is.
#[derive(Debug, Default)]
struct Output {
    bytes: Mutex<VecDeque<u8>>,
    run: OnceLock<PathBuf>,
}

/// A run that has ended.
#[derive(Debug, Clone)]
pub(crate) struct EndedRun {
    pub(crate) order: Order,
    /// `exit code 0`.
    pub(crate) how: String,
    pub(crate) output: String,
    /// The folder of its run.
    pub(crate) run: Option<PathBuf>,
}

/// The queue, as a page shows it.
#[derive(Debug, Clone, Default)]
pub(crate) struct QueueView {
    pub(crate) running: Option<RunningOrder>,
    pub(crate) waiting: Vec<Order>,
    /// The latest first.
    pub(crate) ended: Vec<EndedRun>,
}

#[derive(Debug, Clone)]
pub(crate) struct RunningOrder {
    pub(crate) order: Order,
    pub(crate) pid: u32,
    pub(crate) stops: u32,
    pub(crate) output: String,
}

impl Queue {
    /// Without a run.
    pub fn new(locate: fn(u32) -> Option<PathBuf>) -> Self {
        Self {
            locate,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Starts one run after the other until [`Queue::close`]; returns when the run that goes on then has ended.
    pub fn work(&self, start: &mut dyn FnMut(&Order) -> io::Result<Child>) {
        while let Some(order) = self.next() {
            let ended = match start(&order) {
                Err(why) => EndedRun {
                    order,
                    how: format!("cannot be started: {why}"),
                    output: String::new(),
                    run: None,
                },
                Ok(child) => self.run(order, child),
            };
            let mut state = self.lock();
            (state.running, state.is_working) = (None, false);
            state.ended.push_front(ended);
            state.ended.truncate(ENDED_MAX);
        }
    }

    /// No run is started any more. That which goes on is asked to stop, as by Ctrl-C; so it is again by a further call.
    pub fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        state.waiting.clear();
        stop(&mut state);
        self.changed.notify_all();
    }

    /// Adds a run.
    ///
    /// # Errors
    /// Others wait already.
    pub(crate) fn add(&self, order: Order) -> Result<(), Reason> {
        let mut state = self.lock();
        // One that finds nothing going on is taken at once.
        let most = WAITING_MAX + usize::from(!state.is_working);
        if state.waiting.len() >= most {
            return Err(Reason::new(
                "a run goes on and another one waits: expected that one of them ends or is stopped first",
            ));
        }
        state.waiting.push_back(order);
        self.changed.notify_all();
        Ok(())
    }

    /// Asks the run that goes on to stop, as by Ctrl-C.
    ///
    /// # Errors
    /// None does, or it is not the one of this process.
    pub(crate) fn stop(&self, pid: u32) -> Result<(), Reason> {
        let mut state = self.lock();
        match &state.running {
            Some(running) if running.pid == pid => {
                stop(&mut state);
                Ok(())
            }
            _ => Err(Reason(format!(
                "no run of process {pid} was started here, or it has ended"
            ))),
        }
    }

    /// Takes the run that waits from the queue.
    pub(crate) fn drop_waiting(&self) {
        self.lock().waiting.clear();
    }

    pub(crate) fn view(&self) -> QueueView {
        let state = self.lock();
        QueueView {
            running: state.running.as_ref().map(|running| RunningOrder {
                order: running.order.clone(),
                pid: running.pid,
                stops: running.stops,
                output: running.output.text(),
            }),
            waiting: state.waiting.iter().cloned().collect(),
            ended: state.ended.iter().cloned().collect(),
        }
    }

    fn next(&self) -> Option<Order> {
        let mut state = self.lock();
        loop {
            if state.is_closed {
                return None;
            }
            if let Some(order) = state.waiting.pop_front() {
                state.is_working = true;
                return Some(order);
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn run(&self, order: Order, mut child: Child) -> EndedRun {
        let pid = child.id();
        let output = Arc::<Output>::default();
        let reader = Reader {
            into: Arc::clone(&output),
            locate: self.locate,
            pid,
        };
        let readers = [
            child.stdout.take().map(|from| reader.clone().start(from)),
            child.stderr.take().map(|from| reader.start(from)),
        ];
        let raw = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let process = raw.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        let mut state = self.lock();
        state.running = Some(Running {
            order: order.clone(),
            pid,
            process,
            stops: 0,
            output: Arc::clone(&output),
        });
        if state.is_closed {
            stop(&mut state);
        }
        drop(state);
        let status = child.wait();
        for reader in readers.into_iter().flatten().flatten() {
            reader.join().ok();
        }
        let text = output.text();
        EndedRun {
            order,
            how: status.map_or_else(|why| why.to_string(), describe),
            run: output.run.get().cloned().or_else(|| reported_run(&text)),
            output: text,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn stop(state: &mut State) {
    if let Some(running) = &mut state.running {
        running.stops += 1;
        if let Some(process) = &running.process {
            // It may have ended meanwhile.
            pidfd_send_signal(process, Signal::INT).ok();
        }
    }
}

fn describe(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("exit code {code}"),
        None => status.to_string(),
    }
}

/// The folder of the report that a run has printed at its end, for one that was over before it was looked for.
fn reported_run(output: &str) -> Option<PathBuf> {
    let mut lines = output.lines().rev();
    let report = lines.find_map(|line| line.trim().strip_suffix("/report.html"))?;
    fs::canonicalize(report).ok()
}

/// Keeps the end of what comes.
#[derive(Clone)]
struct Reader {
    into: Arc<Output>,
    locate: Locate,
    pid: u32,
}

impl Reader {
    fn start(self, from: impl Read + Send + 'static) -> io::Result<thread::JoinHandle<()>> {
        let reading = thread::Builder::new().name("output".to_owned());
        reading.spawn(move || self.read(from))
    }

    fn read(&self, mut from: impl Read) {
        let mut bytes = [0; 4096];
        while let Ok(count) = from.read(&mut bytes)
            && count > 0
        {
            self.keep(&bytes[..count]);
        }
    }

    fn keep(&self, bytes: &[u8]) {
        let mut kept = self.into.lock();
        kept.extend(bytes);
        let more = kept.len().saturating_sub(OUTPUT_MAX_BYTES);
        kept.drain(..more);
        drop(kept);
        if self.into.run.get().is_none()
            && let Some(run) = (self.locate)(self.pid)
        {
            self.into.run.set(run).ok();
        }
    }
}

impl Output {
    fn lock(&self) -> MutexGuard<'_, VecDeque<u8>> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn text(&self) -> String {
        let bytes: Vec<u8> = self.lock().iter().copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        process::{Command, Stdio},
        time::{Duration, Instant},
    };

    use super::*;

    /// Nothing here takes longer, on any machine.
    const WAIT_MAX: Duration = Duration::from_mins(3);

    fn order(study: &str) -> Order {
        Order {
            study: study.to_owned(),
            ..Order::default()
        }
    }

    fn shell(script: &str) -> io::Result<Child> {
        // A shell cannot trap what was ignored when it started, as SIGINT is of a command in the background.
        let mut command = Command::new("env");
        command.args(["--default-signal=INT", "sh", "-c", script]);
        command.stdin(Stdio::null());
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
    }

    #[test]
    fn one_runs_one_waits_and_a_further_one_is_refused() {
        let queue = Arc::new(Queue::new(|_| None));
        let worker = {
            let queue = Arc::clone(&queue);
            // The first one ends when it is told to, as by Ctrl-C.
            let mut start = |order: &Order| match &*order.study {
                "first" => shell(
                    "trap 'echo stopped; exit 130' INT; echo up; while :; do sleep 0.05; done",
                ),
                _ => shell("echo done"),
            };
            thread::spawn(move || queue.work(&mut start))
        };
        queue.add(order("first")).unwrap();
        let until = |check: &dyn Fn(&QueueView) -> bool| {
            let begun = Instant::now();
            while !check(&queue.view()) {
                assert!(begun.elapsed() < WAIT_MAX, "{:?}", queue.view());
                thread::yield_now();
            }
        };
        let is_up = |running: &RunningOrder| running.output.contains("up");
        until(&|view| view.running.as_ref().is_some_and(is_up));
        queue.add(order("second")).unwrap();
        let refused = queue.add(order("third")).unwrap_err().0;
        assert!(
            refused.starts_with("a run goes on and another one waits"),
            "{refused}"
        );
        assert!(queue.stop(1).is_err());
        let pid = queue.view().running.unwrap().pid;
        queue.stop(pid).unwrap();
        until(&|view| view.ended.len() == 2);
        let ended = queue.view().ended;
        assert_eq!(
            (&*ended[1].how, &*ended[1].output),
            ("exit code 130", "up\nstopped\n")
        );
        assert_eq!(
            (&*ended[0].how, &*ended[0].output),
            ("exit code 0", "done\n")
        );
        queue.close();
        worker.join().unwrap();
    }
}
