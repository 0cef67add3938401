//! One run that is started from here, and one that waits for it. The runs are processes of their own, started on the thread that calls
//! [`Queue::work`]: they inherit its priority, and not the low one of the server.

use std::{
    collections::VecDeque,
    fmt, fs, io,
    path::PathBuf,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::order::Order;
use crate::reason::Reason;

/// Runs that wait.
const WAITING_MAX: usize = 1;
/// Runs that have ended and are still shown.
const ENDED_MAX: usize = 10;
/// How long to wait until the folder of a run is looked for: first, and at most. It has one when its study was read, or never.
const LOCATE_INTERVAL: Duration = Duration::from_millis(100);
const LOCATE_INTERVAL_MAX: Duration = Duration::from_secs(10);
/// Longest time between two looks at a run whose folder is known.
const WAIT_MAX: Duration = Duration::from_hours(1);

/// The folder of the run that a process writes to; `None`: not yet.
pub(crate) type Locate = fn(u32) -> Option<PathBuf>;

/// A run that was started. What started it sees to it that the run ends if this process is killed.
pub trait StartedRun: fmt::Debug + Send + Sync {
    /// The process of the run.
    fn pid(&self) -> u32;
    /// Asks it to stop, as by Ctrl-C.
    fn stop(&self);
    /// The end of what it has printed so far.
    fn output(&self) -> String;
    /// Waits for its end, so long at most. Returns how it ended: `with exit code 0`; `None`: it goes on.
    fn wait(&self, at_most: Duration) -> Option<String>;
}

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
    run: Arc<dyn StartedRun>,
    stops: u32,
}

/// A run that has ended.
#[derive(Debug, Clone)]
pub(crate) struct EndedRun {
    pub(crate) order: Order,
    /// `ended with exit code 0`.
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
    pub fn work(&self, start: &mut dyn FnMut(&Order) -> io::Result<Box<dyn StartedRun>>) {
        while let Some(order) = self.next() {
            let ended = match start(&order) {
                Err(why) => EndedRun {
                    order,
                    how: format!("cannot be started: {why}"),
                    output: String::new(),
                    run: None,
                },
                Ok(run) => self.follow(order, run.into()),
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
            Some(running) if running.run.pid() == pid => {
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
                pid: running.run.pid(),
                stops: running.stops,
                output: running.run.output(),
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

    fn follow(&self, order: Order, run: Arc<dyn StartedRun>) -> EndedRun {
        let mut state = self.lock();
        state.running = Some(Running {
            order: order.clone(),
            run: Arc::clone(&run),
            stops: 0,
        });
        if state.is_closed {
            stop(&mut state);
        }
        drop(state);
        let (how, folder) = self.wait(&*run);
        let output = run.output();
        EndedRun {
            order,
            how: format!("ended {how}"),
            run: folder.or_else(|| reported_run(&output)),
            output,
        }
    }

    /// Waits for the end of a run, and looks for its folder meanwhile.
    fn wait(&self, run: &dyn StartedRun) -> (String, Option<PathBuf>) {
        let mut folder = None;
        let mut interval = LOCATE_INTERVAL;
        loop {
            if let Some(how) = run.wait(interval) {
                return (how, folder);
            }
            folder = folder.or_else(|| (self.locate)(run.pid()));
            interval = match folder {
                Some(_) => WAIT_MAX,
                None => (2 * interval).min(LOCATE_INTERVAL_MAX),
            };
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn stop(state: &mut State) {
    if let Some(running) = &mut state.running {
        running.stops += 1;
        running.run.stop();
    }
}

/// The folder of the report that a run has printed at its end, for one that was over before it was looked for.
fn reported_run(output: &str) -> Option<PathBuf> {
    let mut lines = output.lines().rev();
    let report = lines.find_map(|line| line.trim().strip_suffix("/report.html"))?;
    fs::canonicalize(report).ok()
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicU32, Ordering},
        thread,
        time::Instant,
    };

    use super::*;

    /// Nothing here takes longer, on any machine.
    const TEST_WAIT_MAX: Duration = Duration::from_mins(3);

    fn order(study: &str) -> Order {
        Order {
            study: study.to_owned(),
            ..Order::default()
        }
    }

    /// A run that goes on until it is stopped, or ends when its folder was looked for.
    #[derive(Debug)]
    struct FakeRun {
        pid: u32,
        waits: AtomicU32,
        has_ended: Mutex<bool>,
        ends: Condvar,
    }

    impl FakeRun {
        fn start(pid: u32, has_ended: bool) -> Box<dyn StartedRun> {
            Box::new(Self {
                pid,
                waits: AtomicU32::new(0),
                has_ended: Mutex::new(has_ended),
                ends: Condvar::new(),
            })
        }
    }

    impl StartedRun for FakeRun {
        fn pid(&self) -> u32 {
            self.pid
        }

        fn stop(&self) {
            *self.has_ended.lock().unwrap() = true;
            self.ends.notify_all();
        }

        fn output(&self) -> String {
            format!("output of {}", self.pid)
        }

        fn wait(&self, at_most: Duration) -> Option<String> {
            if self.waits.fetch_add(1, Ordering::Relaxed) == 0 {
                return None;
            }
            let has_ended = self.has_ended.lock().unwrap();
            let waited = self
                .ends
                .wait_timeout_while(has_ended, at_most, |ended| !*ended);
            let ended = *waited.unwrap().0;
            ended.then(|| format!("with exit code {}", self.pid))
        }
    }

    #[track_caller]
    fn wait_until(queue: &Queue, check: impl Fn(&QueueView) -> bool) {
        let begun = Instant::now();
        while !check(&queue.view()) {
            assert!(begun.elapsed() < TEST_WAIT_MAX, "{:?}", queue.view());
            thread::yield_now();
        }
    }

    #[test]
    fn one_runs_one_waits_and_a_further_one_is_refused() {
        let locate = |pid| (pid == 130).then(|| PathBuf::from("/runs/a"));
        let queue = Arc::new(Queue::new(locate));
        let worker = {
            let queue = Arc::clone(&queue);
            let mut start = |order: &Order| match &*order.study {
                "first" => Ok(FakeRun::start(130, false)),
                "second" => Ok(FakeRun::start(7, true)),
                _ => Err(io::Error::other("no such program")),
            };
            thread::spawn(move || queue.work(&mut start))
        };
        queue.add(order("first")).unwrap();
        wait_until(&queue, |view| view.running.is_some());
        queue.add(order("second")).unwrap();
        let refused = queue.add(order("third")).unwrap_err().0;
        assert!(
            refused.starts_with("a run goes on and another one waits"),
            "{refused}"
        );
        assert!(queue.stop(1).is_err());
        queue.stop(130).unwrap();
        wait_until(&queue, |view| view.ended.len() == 2);
        queue.add(order("fourth")).unwrap();
        wait_until(&queue, |view| view.ended.len() == 3);
        let ended = queue.view().ended;
        let facts = ended.iter().map(|ended| {
            let run = ended.run.as_ref().and_then(|run| run.to_str());
            (&*ended.how, &*ended.output, run)
        });
        let facts: Vec<_> = facts.collect();
        let expected = [
            ("cannot be started: no such program", "", None),
            ("ended with exit code 7", "output of 7", None),
            ("ended with exit code 130", "output of 130", Some("/runs/a")),
        ];
        assert_eq!(facts, expected);
        queue.close();
        worker.join().unwrap();
    }

    #[test]
    fn a_queue_that_is_closed_stops_its_run() {
        let queue = Arc::new(Queue::new(|_| None));
        let worker = {
            let queue = Arc::clone(&queue);
            let mut start = |_: &Order| Ok(FakeRun::start(12, false));
            thread::spawn(move || queue.work(&mut start))
        };
        queue.add(order("first")).unwrap();
        wait_until(&queue, |view| view.running.is_some());
        queue.close();
        worker.join().unwrap();
        let ended = queue.view().ended;
        assert_eq!(ended[0].how, "ended with exit code 12");
    }
}
