//! The supervisor: a small process between waggle and each component, so that no component outlives waggle.
//!
//! It is the same program as waggle, started with a hidden subcommand. It starts the component in its own process group, limits
//! the size of its log, and reads orders from standard input. Only waggle holds the other end of that: when it is closed, for any
//! reason, the supervisor kills the whole group. For the reasons against a parent-death signal see
//! `docs/design/0005-process-supervision.md`.

use std::{
    collections::VecDeque,
    fs::{self, File},
    io::{self, PipeReader, Read, Seek, SeekFrom, Write},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::Path,
    process::{Child, Command, ExitCode, ExitStatus, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Receiver},
    },
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use crate::{components::limits::Group, host::cpus};

/// Asks the component to end.
pub const ORDER_STOP: u8 = b'T';
/// Kills the component and all of its group.
pub const ORDER_KILL: u8 = b'K';
/// First word of the line with the component's process id.
pub const STARTED: &str = "started";
/// First word of the line with the reason if it was not started.
pub const NOT_STARTED: &str = "failed";
/// First word of the line with how it ended.
pub const ENDED: &str = "ended";
/// First word of a line with the number of processes that the kernel killed because of a limit on memory; before the end.
pub const OOM_KILLS: &str = "out-of-memory";
/// The rest of that line for a component that was killed.
pub const BY_KILL: &str = "by signal 9";

/// Bytes of a log that are kept from its beginning.
const LOG_HEAD_MAX_BYTES: u64 = 8 * 1024 * 1024;
/// Bytes of a longer log that are kept from its end.
const LOG_TAIL_MAX_BYTES: usize = 256 * 1024;
/// How long to wait for the log's last bytes after the component has ended.
const LOG_END_AT_MOST: Duration = Duration::from_secs(1);
/// How often to search for processes that left the group, and kill them.
const STRAYS_ROUNDS_MAX: u32 = 20;
const EXIT_NOT_STARTED: u8 = 127;
/// The text in a log in place of bytes that were left out: before and after their number.
const LEFT_OUT: [&str; 2] = ["\n[waggle left out ", " bytes here]\n"];

/// Runs a component until it ends or waggle is gone. `arguments`: the log file, the CPUs it may use (`1,3` or nothing), its cgroup
/// (JSON or nothing), the command. Prints its process id and its end on standard output, one line each.
#[must_use]
pub fn supervise(arguments: &[String]) -> ExitCode {
    match start(arguments) {
        Ok(Started {
            child,
            log_ended,
            group,
        }) => {
            report(&format!("{STARTED} {}", child.id()));
            let text = match attend(child) {
                Ok(status) => describe(status),
                Err(problem) => format!("in a way that is not known: {problem}"),
            };
            if let Some(group) = group {
                // The counter goes with the group.
                report(&format!("{OOM_KILLS} {}", group.oom_kills()));
                group.remove();
            }
            // A log that stays open belongs to a process that cannot be killed; it must not block the rest.
            log_ended.recv_timeout(LOG_END_AT_MOST).ok();
            report(&format!("{ENDED} {text}"));
            ExitCode::SUCCESS
        }
        Err(problem) => {
            report(&format!("{NOT_STARTED} {problem}"));
            ExitCode::from(EXIT_NOT_STARTED)
        }
    }
}

/// An error is ignored: waggle may have ended.
fn report(line: &str) {
    let mut out = io::stdout();
    writeln!(out, "{line}").and_then(|()| out.flush()).ok();
}

/// A component that was started.
struct Started {
    child: Child,
    log_ended: Receiver<()>,
    /// `None`: it has no cgroup of its own.
    group: Option<Group>,
}

fn start(arguments: &[String]) -> io::Result<Started> {
    let [log, cpus, group, program, rest @ ..] = arguments else {
        return Err(io::Error::other(
            "a log file, CPUs, a cgroup and a command are needed",
        ));
    };
    let group = Group::from_argument(group)?;
    // Processes that outlive their parent become children of this one, so they can be found and killed.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    cpus::pin_this_thread(&cpus::parse(cpus))?;
    let (reader, writer) = io::pipe()?;
    let log = Log::open(Path::new(log))?;
    let mut command = Command::new(program);
    command
        .args(rest)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer);
    let mut spawn = || {
        let spawned = command.spawn();
        spawned.map_err(|problem| io::Error::other(format!("cannot start {program}: {problem}")))
    };
    // This process has one thread only, so all of it enters the group and leaves it again.
    let child = match &group {
        Some(group) => group.start_in(spawn)?,
        None => spawn()?,
    };
    let (ended, log_ended) = mpsc::channel();
    thread::Builder::new()
        .name("log".to_owned())
        .spawn(move || {
            log.keep(reader);
            ended.send(()).ok();
        })?;
    Ok(Started {
        child,
        log_ended,
        group,
    })
}

/// Waits for the component's end and takes orders meanwhile, then kills what it left behind.
fn attend(mut child: Child) -> io::Result<ExitStatus> {
    let group = Pid::from_child(&child);
    let gone = Arc::new(Mutex::new(false));
    let orders_gone = Arc::clone(&gone);
    thread::Builder::new()
        .name("orders".to_owned())
        .spawn(move || take_orders(group, &orders_gone))?;
    // Not reaped yet: as long as the first process is a zombie, the group's number is not reused.
    rustix::process::waitid(
        WaitId::Pid(group),
        WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
    )?;
    rustix::process::kill_process_group(group, Signal::KILL).ok();
    *gone.lock().unwrap_or_else(PoisonError::into_inner) = true;
    let status = child.wait()?;
    kill_strays();
    Ok(status)
}

fn take_orders(group: Pid, gone: &Mutex<bool>) {
    let mut input = io::stdin().lock();
    let mut order = [0];
    loop {
        let signal = match input.read(&mut order) {
            Ok(1) if order[0] == ORDER_STOP => Signal::TERM,
            Ok(1) if order[0] == ORDER_KILL => Signal::KILL,
            Ok(1) => continue,
            Err(problem) if problem.kind() == io::ErrorKind::Interrupted => continue,
            // The other end is closed: waggle has ended.
            Ok(_) | Err(_) => {
                send(group, gone, Signal::KILL);
                return;
            }
        };
        send(group, gone, signal);
    }
}

fn send(group: Pid, gone: &Mutex<bool>, signal: Signal) {
    let gone = gone.lock().unwrap_or_else(PoisonError::into_inner);
    if !*gone {
        rustix::process::kill_process_group(group, signal).ok();
    }
}

/// Kills processes that left the component's group and lost their parent, generation by generation.
fn kill_strays() {
    for _ in 0..STRAYS_ROUNDS_MAX {
        let strays = own_children();
        if strays.is_empty() {
            return;
        }
        for stray in strays {
            rustix::process::kill_process(stray, Signal::KILL).ok();
            rustix::process::waitpid(Some(stray), rustix::process::WaitOptions::empty()).ok();
        }
    }
}

fn own_children() -> Vec<Pid> {
    let Ok(threads) = fs::read_dir("/proc/self/task") else {
        return Vec::new();
    };
    threads
        .filter_map(Result::ok)
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok())
        .flat_map(|line| {
            line.split_whitespace()
                .filter_map(|pid| pid.parse().ok())
                .collect::<Vec<i32>>()
        })
        .filter_map(Pid::from_raw)
        .collect()
}

/// How a process ended: `with exit code 1`, `by signal 9`.
pub fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("with exit code {code}"),
        (None, Some(signal)) => format!("by signal {signal}"),
        (None, None) => "in a way that is not known".to_owned(),
    }
}

/// A log file of bounded size, over all lives of a replica: its beginning and its end are kept.
struct Log {
    file: File,
    head_left: u64,
    tail: VecDeque<u8>,
    left_out: u64,
}

impl Log {
    /// Continues the log of an earlier life of the same replica, which counts towards its limit.
    fn open(path: &Path) -> io::Result<Self> {
        let mut options = File::options();
        let file = options.create(true).append(true).read(true).open(path)?;
        let before = file.metadata()?.len();
        let mut log = Self {
            file,
            head_left: LOG_HEAD_MAX_BYTES.saturating_sub(before),
            tail: VecDeque::new(),
            left_out: 0,
        };
        log.take_up_tail()?;
        Ok(log)
    }

    /// The text that earlier lives left after the head is the start of this one's tail.
    fn take_up_tail(&mut self) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(LOG_HEAD_MAX_BYTES))?;
        let mut behind = Vec::new();
        // A tail and waggle's own lines, of which there are few.
        let at_most = 2 * LOG_TAIL_MAX_BYTES as u64;
        (&self.file).take(at_most).read_to_end(&mut behind)?;
        let (left_out, tail) = left_out_before(&behind);
        self.left_out = left_out;
        self.add_to_tail(tail);
        Ok(())
    }

    fn keep(mut self, mut from: PipeReader) {
        let mut buffer = [0; 16 * 1024];
        loop {
            match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(length) => self.add(&buffer[..length]),
                Err(problem) if problem.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        self.end().ok();
    }

    /// Writes the tail over that of an earlier life.
    fn end(&mut self) -> io::Result<()> {
        if self.file.metadata()?.len() > LOG_HEAD_MAX_BYTES {
            self.file.set_len(LOG_HEAD_MAX_BYTES)?;
        }
        if self.left_out > 0 {
            let [before, behind] = LEFT_OUT;
            write!(self.file, "{before}{}{behind}", self.left_out)?;
        }
        let (front, back) = self.tail.as_slices();
        self.file.write_all(front)?;
        self.file.write_all(back)
    }

    /// A full disk must not stop the component: bytes that cannot be written are dropped.
    fn add(&mut self, bytes: &[u8]) {
        let head = usize::try_from(self.head_left)
            .unwrap_or(usize::MAX)
            .min(bytes.len());
        self.file.write_all(&bytes[..head]).ok();
        self.head_left -= head as u64;
        self.add_to_tail(&bytes[head..]);
    }

    fn add_to_tail(&mut self, bytes: &[u8]) {
        self.tail.extend(bytes);
        let excess = self.tail.len().saturating_sub(LOG_TAIL_MAX_BYTES);
        self.tail.drain(..excess);
        self.left_out += excess as u64;
    }
}

/// The number of bytes left out according to the line at the start of `bytes`, and the rest after that line.
fn left_out_before(bytes: &[u8]) -> (u64, &[u8]) {
    read_left_out(bytes).unwrap_or((0, bytes))
}

fn read_left_out(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let rest = bytes.strip_prefix(LEFT_OUT[0].as_bytes())?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, rest) = rest.split_at(digits);
    let number = str::from_utf8(number).ok()?.parse().ok()?;
    Some((number, rest.strip_prefix(LEFT_OUT[1].as_bytes())?))
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write, path::Path, thread};

    use super::{LOG_HEAD_MAX_BYTES, LOG_TAIL_MAX_BYTES, Log};

    /// The content of a log file after lines of `line` up to `bytes`, then `last`.
    fn rotated_log(line: &str, bytes: usize, last: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        kept_in(&folder.path().join("log"), line, bytes, last)
    }

    /// The same in a file that may have content already.
    fn kept_in(path: &Path, line: &str, bytes: usize, last: &str) -> String {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let log = Log::open(path).unwrap();
        let keeper = thread::spawn(move || log.keep(reader));
        writer
            .write_all(line.repeat(bytes / line.len()).as_bytes())
            .unwrap();
        writer.write_all(last.as_bytes()).unwrap();
        drop(writer);
        keeper.join().unwrap();
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn a_log_within_the_limit_is_kept_whole() {
        assert_eq!(rotated_log("ab\n", 9, "end"), "ab\nab\nab\nend");
    }

    #[test]
    fn a_second_life_goes_on_in_the_log_of_the_first_and_within_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        kept_in(&path, "ab\n", 3, "end");
        let log = kept_in(&path, "cd\n", 3, "last");
        assert_eq!(log, "ab\nendcd\nlast");
        let head = usize::try_from(LOG_HEAD_MAX_BYTES).unwrap();
        let log = kept_in(&path, "0123456\n", head + LOG_TAIL_MAX_BYTES, "last words");
        assert!(log.starts_with("ab\nend") && log.ends_with("last words"));
        assert!(log.len() < head + LOG_TAIL_MAX_BYTES + 200, "{}", log.len());
        // This holds for any number of lives, and the numbers of left-out bytes are added up.
        let mut all = "ab\nendcd\nlast".len() + head + LOG_TAIL_MAX_BYTES + "last words".len();
        for life in 0..3 {
            let said = kept_in(&path, "abcdefg\n", LOG_TAIL_MAX_BYTES / 2, "x");
            all += LOG_TAIL_MAX_BYTES / 2 + 1;
            let left_out = all - head - LOG_TAIL_MAX_BYTES;
            let line = format!("\n[waggle left out {left_out} bytes here]\n");
            assert_eq!(said.len(), head + line.len() + LOG_TAIL_MAX_BYTES, "{life}");
            assert_eq!(said.matches("[waggle left out").count(), 1, "{life}");
            assert!(
                said[head..].starts_with(&line),
                "{life}: {}",
                &said[head..head + 60]
            );
            assert!(said.starts_with("ab\nend") && said.ends_with("abcdefg\nx"));
        }
        // A life without output leaves the log unchanged.
        let before = fs::read(&path).unwrap();
        assert_eq!(kept_in(&path, "-", 0, "").into_bytes(), before);
    }

    #[test]
    fn of_a_longer_log_the_beginning_and_the_end_are_kept() {
        let head = usize::try_from(LOG_HEAD_MAX_BYTES).unwrap();
        let log = rotated_log("0123456\n", head + 3 * LOG_TAIL_MAX_BYTES, "last words");
        assert!(log.starts_with("0123456\n") && log.ends_with("last words"));
        assert!(log.contains(&format!(
            "[waggle left out {} bytes here]",
            2 * LOG_TAIL_MAX_BYTES + 10
        )));
        assert!(log.len() < head + LOG_TAIL_MAX_BYTES + 100);
    }
}
