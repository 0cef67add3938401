//! What a supervisor is told, over its standard input.

use std::{io, os::fd::AsFd};

use tokio::{io::AsyncWriteExt, net::unix::pipe::Sender, process::ChildStdin};

use crate::components::supervise::{
    ORDER_HIDE,
    redaction::{HiddenText, MESSAGE_MAX_BYTES, to_message},
};

/// What a pipe holds besides a message that was made to fit.
const SPARE_BYTES: usize = 4 * 1024;

/// The input of a supervisor. If it is dropped, the supervisor kills the component.
#[derive(Debug)]
pub(super) struct Orders {
    pipe: Sender,
    /// What did not fit into the pipe; it is sent before the next order.
    unsent: Vec<u8>,
}

impl Orders {
    /// Begins with the texts that may not be in the log.
    pub(super) fn begin(input: ChildStdin, hidden: &[HiddenText]) -> io::Result<Self> {
        let mut orders = Self {
            pipe: Sender::from_owned_fd(input.into_owned_fd()?)?,
            unsent: Vec::new(),
        };
        orders.push(&message(hidden)?);
        Ok(orders)
    }

    /// From now on these texts may not be in the log.
    pub(super) fn hide(&mut self, hidden: &[HiddenText]) -> io::Result<()> {
        let message = message(hidden)?;
        self.push(&[&[ORDER_HIDE][..], &message].concat());
        Ok(())
    }

    /// Sends as much as the pipe takes.
    fn push(&mut self, bytes: &[u8]) {
        self.unsent.extend_from_slice(bytes);
        let size = self.unsent.len() + SPARE_BYTES;
        if rustix::pipe::fcntl_getpipe_size(self.pipe.as_fd()).is_ok_and(|now| now < size) {
            // A pipe that stays small takes the rest with the next order.
            rustix::pipe::fcntl_setpipe_size(self.pipe.as_fd(), size).ok();
        }
        while !self.unsent.is_empty() {
            // Without asking the runtime, which does not know yet that a new pipe has room.
            match rustix::io::write(self.pipe.as_fd(), &self.unsent) {
                Ok(length) => drop(self.unsent.drain(..length)),
                Err(_) => return,
            }
        }
    }

    /// Sends an order; an interruption loses none of what was to be sent before it. A supervisor that has ended needs none.
    pub(super) async fn send(&mut self, order: u8) {
        self.unsent.push(order);
        while !self.unsent.is_empty() {
            match self.pipe.write(&self.unsent).await {
                Ok(length) => drop(self.unsent.drain(..length)),
                Err(_) => return,
            }
        }
    }
}

/// The longest texts are left out if there is no room for all of them: they are removed at the end.
fn message(hidden: &[HiddenText]) -> io::Result<Vec<u8>> {
    let mut bytes = 0;
    let mut shortest: Vec<&HiddenText> = hidden.iter().collect();
    shortest.sort_by_key(|(text, _)| text.len());
    // Each character has six at most in JSON.
    let is_room = |(text, mark): &&HiddenText| {
        bytes += 6 * (text.len() + mark.len()) + 8;
        bytes < MESSAGE_MAX_BYTES
    };
    let hidden: Vec<HiddenText> = shortest.into_iter().take_while(is_room).cloned().collect();
    to_message(&hidden)
}
