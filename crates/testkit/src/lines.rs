//! Waits for lines of a child's output, with a timeout.

use std::{
    io::{BufRead, BufReader, Read},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
};

use crate::wait::DEADLINE;

/// The lines of a stream, read by their own thread, so that a child that hangs fails its test instead of blocking it.
#[derive(Debug)]
pub struct Lines {
    lines: mpsc::Receiver<String>,
    read: String,
}

impl Lines {
    /// Reads the stream to its end, even if this is dropped earlier: a child must not block on a full pipe.
    pub fn new(stream: impl Read + Send + 'static) -> Self {
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                // The receiver may be gone; the child can still write.
                let _ = sender.send(line);
            }
        });
        Self {
            lines,
            read: String::new(),
        }
    }

    /// The next line with this text; panics with all that was read if the stream ends first, or if nothing is written within
    /// [`DEADLINE`].
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) -> String {
        loop {
            match self.lines.recv_timeout(DEADLINE) {
                Ok(line) => {
                    self.read.push_str(&line);
                    self.read.push('\n');
                    if line.contains(text) {
                        return line;
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("it ended before it wrote {text:?}:\n{}", self.read)
                }
                Err(RecvTimeoutError::Timeout) => {
                    panic!("nothing for {DEADLINE:?} before {text:?}:\n{}", self.read)
                }
            }
        }
    }

    /// All lines so far.
    pub fn text(&self) -> &str {
        &self.read
    }
}

#[cfg(test)]
mod tests {
    use super::Lines;

    #[test]
    fn lines_are_read_up_to_the_one_awaited() {
        let mut lines = Lines::new(&b"up\nready at 1\nready at 2\n"[..]);
        assert_eq!(lines.wait_for("ready"), "ready at 1");
        assert_eq!(lines.text(), "up\nready at 1\n");
        assert_eq!(lines.wait_for("ready"), "ready at 2");
    }

    #[test]
    #[should_panic(expected = "it ended before it wrote \"ready\":\nup\n")]
    fn a_stream_that_ends_is_shown() {
        Lines::new(&b"up\n"[..]).wait_for("ready");
    }
}
