//! Agents that are started by ssh: one process of ssh for each host, as long as the run lives.

use std::{
    io::{self, BufRead, BufReader, Write},
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use tokio::time::sleep;
use waggle_agents::JoinFile;
use waggle_system::components::supervise::describe;

/// Lines of ssh and of the agent that are kept, the last ones.
const LINES_MAX: usize = 5;
/// Longest line that is kept.
const LINE_MAX_BYTES: u64 = 500;
/// How often it is looked whether ssh has ended.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);
/// How long ssh may take to end after its agent, which was told that the run is over.
const END_TIMEOUT: Duration = Duration::from_secs(5);
const END_INTERVAL: Duration = Duration::from_millis(20);

/// No password is asked for, and a connection that says nothing for half a minute is over.
const OPTIONS: [&str; 4] = [
    "BatchMode=yes",
    "ExitOnForwardFailure=yes",
    "ServerAliveInterval=10",
    "ServerAliveCountMax=3",
];

/// Why ssh was not started.
#[derive(Debug, thiserror::Error)]
#[error("cannot start ssh to {host}: {problem}")]
pub(super) struct SshError {
    host: String,
    problem: io::Error,
}

/// The processes of ssh; they end when this is dropped.
#[derive(Debug, Default)]
pub(super) struct SshAgents(Vec<SshAgent>);

#[derive(Debug)]
struct SshAgent {
    host: String,
    process: Mutex<Child>,
    /// The last lines that it wrote.
    lines: Arc<Mutex<Vec<String>>>,
}

impl SshAgents {
    /// Starts an agent on each host. `port`: it is reached by a port that ssh forwards from there.
    pub(super) fn start(
        hosts: &[String],
        program: &str,
        join: &JoinFile,
        port: Option<u16>,
    ) -> Result<Self, SshError> {
        let mut agents = Vec::with_capacity(hosts.len());
        for (number, host) in (1_u32..).zip(hosts) {
            agents.push(start_on(host, program, number, join, port)?);
        }
        Ok(Self(agents))
    }

    /// Returns when one of them has ended, with the reasons of all that have.
    pub(super) async fn failure(&self) -> String {
        while self.0.iter().all(|agent| agent.status().is_none()) {
            sleep(LOOK_INTERVAL).await;
        }
        // Their last words are on their way, and what ended one ends others.
        sleep(LOOK_INTERVAL).await;
        let ended = (1..).zip(&self.0);
        let ended = ended.filter_map(|(number, agent)| agent.end_text(number, self.0.len()));
        ended.collect::<Vec<_>>().join("; ")
    }

    /// What they have said; `None`: nothing.
    pub(super) fn words(&self) -> Option<String> {
        let said = self.0.iter().filter_map(|agent| {
            let words = agent.last_words();
            (!words.is_empty()).then(|| format!("{}{words}", agent.host))
        });
        let said: Vec<String> = said.collect();
        (!said.is_empty()).then(|| said.join("; "))
    }
}

impl SshAgent {
    /// How ssh ended; `None`: it has not.
    fn status(&self) -> Option<String> {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        process.try_wait().ok()?.map(describe)
    }

    /// `agent 2 of 3: ssh to load-2 ended with exit code 255: no route to host`; `None`: it has not ended.
    fn end_text(&self, number: usize, total: usize) -> Option<String> {
        let (status, last) = (self.status()?, self.last_words());
        let host = &self.host;
        Some(format!(
            "agent {number} of {total}: ssh to {host} ended {status}{last}"
        ))
    }

    fn last_words(&self) -> String {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        match lines.is_empty() {
            true => String::new(),
            false => format!(": {}", lines.join("; ")),
        }
    }
}

fn start_on(
    host: &str,
    program: &str,
    number: u32,
    join: &JoinFile,
    port: Option<u16>,
) -> Result<SshAgent, SshError> {
    let mut command = Command::new("ssh");
    for option in OPTIONS {
        command.args(["-o", option]);
    }
    if let Some(port) = port {
        command
            .arg("-R")
            .arg(format!("127.0.0.1:{port}:127.0.0.1:{port}"));
    }
    // A shell splits what follows the host: the program is quoted, and the rest has no special letters.
    let remote = format!("{} agent --join - --number {number}", shell_word(program));
    command
        .args(["--", host, &remote])
        // An interrupt from the terminal is waggle's to handle.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let failed = |problem| SshError {
        host: host.to_owned(),
        problem,
    };
    let mut process = command.spawn().map_err(failed)?;
    let lines = Arc::new(Mutex::new(Vec::new()));
    let outputs = process.stdout.take().zip(process.stderr.take());
    let (output, errors) = outputs.expect("both were asked to be pipes");
    keep_lines(output, Arc::clone(&lines));
    keep_lines(errors, Arc::clone(&lines));
    let mut input = process.stdin.take().expect("it was asked to be a pipe");
    // In a thread, because ssh reads it only when it is connected; it is shorter than a pipe, all the same. Input ends with it.
    let text = join.text();
    thread::spawn(move || input.write_all(text.as_bytes()).ok());
    Ok(SshAgent {
        host: host.to_owned(),
        process: Mutex::new(process),
        lines,
    })
}

/// A word of a shell.
fn shell_word(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Keeps the last lines of an output, in a thread that ends with it.
fn keep_lines(from: impl io::Read + Send + 'static, lines: Arc<Mutex<Vec<String>>>) {
    thread::spawn(move || read_lines(BufReader::new(from), &lines));
}

fn read_lines(mut from: impl BufRead, lines: &Mutex<Vec<String>>) {
    let mut line = Vec::new();
    // A longer line comes in pieces.
    while let Ok(1..) = io::Read::take(&mut from, LINE_MAX_BYTES).read_until(b'\n', &mut line) {
        let text = String::from_utf8_lossy(&line).trim().to_owned();
        line.clear();
        let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
        if !text.is_empty() {
            lines.push(text);
        }
        if lines.len() > LINES_MAX {
            lines.remove(0);
        }
    }
}

impl Drop for SshAgents {
    fn drop(&mut self) {
        let deadline = Instant::now() + END_TIMEOUT;
        for agent in &self.0 {
            while agent.status().is_none() && Instant::now() < deadline {
                thread::sleep(END_INTERVAL);
            }
            let mut process = agent.process.lock().unwrap_or_else(PoisonError::into_inner);
            process.kill().ok();
            process.wait().ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::shell_word;

    #[test]
    fn a_program_is_one_word() {
        assert_eq!(shell_word("/opt/my tools/waggle"), "'/opt/my tools/waggle'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
    }
}
