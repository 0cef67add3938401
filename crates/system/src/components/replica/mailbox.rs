//! Numbered messages over connections that may break. Each side keeps what the other has not confirmed, and sends it again over the
//! next connection; what came already is dropped. Pure: lines in, lines out.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// A line between the two sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope<B> {
    /// Of the message; the first one has 1. `None`: it only confirms.
    #[serde(skip_serializing_if = "Option::is_none", default = "Option::default")]
    number: Option<u64>,
    /// The last message that has come from the other side.
    confirmed: u64,
    #[serde(skip_serializing_if = "Option::is_none", default = "Option::default")]
    body: Option<B>,
}

/// Why a line from the other side cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum MailError {
    #[error("a message cannot be read: {0}")]
    Unreadable(String),
    #[error("message {0} came, and {1} was due")]
    Missing(u64, u64),
}

/// One side's messages.
#[derive(Debug, Default)]
pub(super) struct Mailbox {
    last_sent: u64,
    received: u64,
    /// Number and line, the oldest first.
    unconfirmed: VecDeque<(u64, String)>,
}

impl Mailbox {
    /// The line of a new message, with its end.
    pub(super) fn post(&mut self, body: &impl Serialize) -> String {
        self.last_sent += 1;
        let line = line(&Envelope {
            number: Some(self.last_sent),
            confirmed: self.received,
            body: Some(body),
        });
        self.unconfirmed.push_back((self.last_sent, line.clone()));
        line
    }

    /// A line that confirms what has come.
    pub(super) fn confirmation(&self) -> String {
        line(&Envelope::<()> {
            number: None,
            confirmed: self.received,
            body: None,
        })
    }

    /// The message of a line; `None`: it came already, or the line only confirms.
    pub(super) fn accept<B: DeserializeOwned>(
        &mut self,
        line: &str,
    ) -> Result<Option<B>, MailError> {
        let envelope: Envelope<B> =
            serde_json::from_str(line).map_err(|why| MailError::Unreadable(why.to_string()))?;
        self.confirm(envelope.confirmed);
        let Some(number) = envelope.number else {
            return Ok(None);
        };
        if number <= self.received {
            return Ok(None);
        }
        if number > self.received + 1 {
            return Err(MailError::Missing(number, self.received + 1));
        }
        self.received = number;
        Ok(envelope.body)
    }

    /// The last message that has come.
    pub(super) fn last_received(&self) -> u64 {
        self.received
    }

    /// What is to be sent again to a side that has received so many messages.
    pub(super) fn resume(&mut self, confirmed: u64) -> Vec<String> {
        self.confirm(confirmed);
        let lines = self.unconfirmed.iter();
        lines.map(|(_, line)| line.clone()).collect()
    }

    /// Bytes that are not confirmed.
    pub(super) fn unconfirmed_bytes(&self) -> usize {
        self.unconfirmed.iter().map(|(_, line)| line.len()).sum()
    }

    fn confirm(&mut self, confirmed: u64) {
        while self
            .unconfirmed
            .front()
            .is_some_and(|(number, _)| *number <= confirmed)
        {
            self.unconfirmed.pop_front();
        }
    }
}

fn line(value: &impl Serialize) -> String {
    let mut line = serde_json::to_string(value).expect("plain values have a form in JSON");
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Delivers lines until the connection breaks after `bytes`; returns the messages.
    fn deliver(lines: &[String], lost_from: usize, into: &mut Mailbox) -> Vec<u32> {
        let mut messages = Vec::new();
        for line in &lines[..lost_from.min(lines.len())] {
            messages.extend(into.accept::<u32>(line.trim_end()).unwrap());
        }
        messages
    }

    #[test]
    fn every_message_arrives_once_and_in_order_however_connections_break() {
        for lost_from in 0..=6 {
            let (mut here, mut there) = (Mailbox::default(), Mailbox::default());
            let lines: Vec<String> = (0..5_u32).map(|body| here.post(&body)).collect();
            let mut arrived = deliver(&lines, lost_from, &mut there);
            // A second connection breaks as well, after one line.
            let again = here.resume(there.last_received());
            arrived.extend(deliver(&again, 1, &mut there));
            let again = here.resume(there.last_received());
            arrived.extend(deliver(&again, again.len(), &mut there));
            assert_eq!(arrived, [0, 1, 2, 3, 4], "{lost_from}");
            // The same lines once more change nothing.
            assert!(deliver(&lines, lines.len(), &mut there).is_empty());
            here.accept::<u32>(there.confirmation().trim_end()).unwrap();
            assert_eq!(here.unconfirmed_bytes(), 0);
        }
    }

    #[test]
    fn a_gap_and_a_foreign_line_are_errors() {
        let (mut here, mut there) = (Mailbox::default(), Mailbox::default());
        here.post(&1_u32);
        let second = here.post(&2_u32);
        let missing = there.accept::<u32>(second.trim_end()).unwrap_err();
        assert_eq!(missing, MailError::Missing(2, 1));
        let unreadable = there.accept::<u32>("hello").unwrap_err();
        assert!(matches!(unreadable, MailError::Unreadable(_)));
    }
}
