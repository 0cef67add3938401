//! What a supervisor is told while its command runs, and what it does when nobody is left to tell it anything.

use std::{
    io::{self, Read},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group};

use super::{
    ORDER_HIDE, ORDER_INTERRUPT, ORDER_KILL, ORDER_STOP,
    redaction::{Redaction, read_message},
};

/// The command's process group, which is signalled until its first process is reaped: then its number may be another one's.
#[derive(Debug, Clone)]
pub(super) struct CommandGroup {
    group: Pid,
    is_gone: Arc<Mutex<bool>>,
}

impl CommandGroup {
    pub(super) fn new(group: Pid) -> Self {
        Self {
            group,
            is_gone: Arc::default(),
        }
    }

    pub(super) fn send(&self, signal: Signal) {
        let is_gone = self.is_gone.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_gone {
            kill_process_group(self.group, signal).ok();
        }
    }

    /// Kills what is left of it; no signal is sent to it any more.
    pub(super) fn end(&self) {
        self.send(Signal::KILL);
        *self.is_gone.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }
}

/// Takes the orders for one command.
#[derive(Debug)]
pub(super) struct Orders {
    pub(super) command: CommandGroup,
    pub(super) redaction: Arc<Mutex<Redaction>>,
    /// How long it may take to end when it was interrupted; `None`: it is killed when the orders end.
    pub(super) interrupt_timeout: Option<Duration>,
    pub(super) is_interrupted: bool,
}

impl Orders {
    /// Until the other end is closed.
    pub(super) fn take(mut self) {
        let mut input = io::stdin();
        let mut order = [0];
        loop {
            match input.read(&mut order) {
                Ok(1) => match order[0] {
                    ORDER_STOP => self.command.send(Signal::TERM),
                    ORDER_KILL => self.command.send(Signal::KILL),
                    ORDER_INTERRUPT => self.interrupt(),
                    // The rest of the orders cannot be read either.
                    ORDER_HIDE if take_hidden(&self.redaction).is_err() => return self.end(),
                    _ => {}
                },
                Err(problem) if problem.kind() == io::ErrorKind::Interrupted => {}
                // waggle has ended.
                Ok(_) | Err(_) => return self.end(),
            }
        }
    }

    fn end(mut self) {
        match self.interrupt_timeout {
            None => self.command.send(Signal::KILL),
            Some(_) if self.is_interrupted => {}
            Some(_) => self.interrupt(),
        }
    }

    /// As Ctrl-C does. From the first time on it has its time to end.
    fn interrupt(&mut self) {
        self.command.send(Signal::INT);
        if let Some(timeout) = self.interrupt_timeout
            && !self.is_interrupted
        {
            self.is_interrupted = true;
            self.kill_after(timeout);
        }
    }

    fn kill_after(&self, timeout: Duration) {
        let command = self.command.clone();
        let kill = move || {
            thread::sleep(timeout);
            command.send(Signal::KILL);
        };
        let limit = thread::Builder::new().name("limit".to_owned());
        if limit.spawn(kill).is_err() {
            // Without a limit it may go on for ever.
            self.command.send(Signal::KILL);
        }
    }
}

/// Reads the texts that may not be in the log.
pub(super) fn take_hidden(redaction: &Mutex<Redaction>) -> io::Result<()> {
    let hidden = read_message(&mut io::stdin().lock())?;
    let mut redaction = redaction.lock().unwrap_or_else(PoisonError::into_inner);
    redaction.hide(hidden);
    Ok(())
}
