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
        Self::begin_in(Sender::from_owned_fd(input.into_owned_fd()?)?, hidden)
    }

    /// All of it is sent at once, for the component is not started before: of texts for which the pipe has no room, the longest are left
    /// out.
    fn begin_in(pipe: Sender, hidden: &[HiddenText]) -> io::Result<Self> {
        let mut first = message(hidden, MESSAGE_MAX_BYTES)?;
        let room = make_room(&pipe, first.len());
        if first.len() > room {
            first = message(hidden, room)?;
        }
        let mut orders = Self {
            pipe,
            unsent: Vec::new(),
        };
        orders.push(&first);
        Ok(orders)
    }

    /// From now on these texts may not be in the log.
    pub(super) fn hide(&mut self, hidden: &[HiddenText]) -> io::Result<()> {
        let message = message(hidden, MESSAGE_MAX_BYTES)?;
        self.push(&[&[ORDER_HIDE][..], &message].concat());
        Ok(())
    }

    /// Sends as much as the pipe takes.
    fn push(&mut self, bytes: &[u8]) {
        self.unsent.extend_from_slice(bytes);
        // A pipe that stays small takes the rest with the next order.
        make_room(&self.pipe, self.unsent.len());
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

/// Enlarges a pipe for so many bytes, as far as the user may; returns how many it takes.
fn make_room(pipe: &Sender, bytes: usize) -> usize {
    let size = || rustix::pipe::fcntl_getpipe_size(pipe.as_fd()).unwrap_or(0);
    if size() < bytes + SPARE_BYTES {
        rustix::pipe::fcntl_setpipe_size(pipe.as_fd(), bytes + SPARE_BYTES).ok();
    }
    size().saturating_sub(SPARE_BYTES)
}

/// The longest texts are left out if the message would be longer: they are removed at the end.
fn message(hidden: &[HiddenText], max_bytes: usize) -> io::Result<Vec<u8>> {
    let mut bytes = 0;
    let mut shortest: Vec<&HiddenText> = hidden.iter().collect();
    shortest.sort_by_key(|(text, _)| text.len());
    // Each character has six at most in JSON.
    let is_room = |(text, mark): &&HiddenText| {
        bytes += 6 * (text.len() + mark.len()) + 8;
        bytes < max_bytes
    };
    let hidden: Vec<HiddenText> = shortest.into_iter().take_while(is_room).cloned().collect();
    to_message(&hidden)
}

#[cfg(test)]
mod tests {
    use std::io;

    use tokio::net::unix::pipe::pipe;

    use super::{HiddenText, MESSAGE_MAX_BYTES, Orders, SPARE_BYTES, message};

    fn texts(count: usize) -> Vec<HiddenText> {
        let texts = (0..count).map(|number| (format!("{number:0>1000}"), "[x]".to_owned()));
        texts.collect()
    }

    #[tokio::test]
    async fn the_first_message_is_sent_whole_however_long_it_is() {
        for count in [0, 1, 100, 10_000] {
            let (sender, receiver) = pipe().unwrap();
            let orders = Orders::begin_in(sender, &texts(count)).unwrap();
            assert!(orders.unsent.is_empty(), "{count}");
            let mut bytes = Vec::new();
            receiver.readable().await.unwrap();
            let mut piece = vec![0; MESSAGE_MAX_BYTES];
            loop {
                match receiver.try_read(&mut piece) {
                    Ok(length) => bytes.extend_from_slice(&piece[..length]),
                    Err(why) if why.kind() == io::ErrorKind::WouldBlock => break,
                    Err(why) => panic!("{why}"),
                }
            }
            let length = u32::from_le_bytes(bytes[..4].try_into().unwrap());
            assert_eq!(bytes.len(), 4 + length as usize, "{count}");
        }
    }

    #[test]
    fn a_message_is_as_long_as_there_is_room() {
        let hidden = texts(100);
        assert!(message(&hidden, MESSAGE_MAX_BYTES).unwrap().len() > 100_000);
        for room in [10, SPARE_BYTES, 60 * 1024] {
            let length = message(&hidden, room).unwrap().len();
            assert!(length <= room, "{length} of {room}");
        }
    }
}
