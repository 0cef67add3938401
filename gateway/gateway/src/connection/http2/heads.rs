//! Heads of answers in HPACK.

use waggle_wire::http2::{
    hpack::{Encoder, Indexing},
    server::{Server, Then},
};

use crate::answers::answer::Canned;

/// The head of an answer.
pub(super) struct AnswerHead<'a> {
    pub(super) status: u16,
    pub(super) fields: &'a [(&'a str, &'a [u8])],
    /// Of the body; `None` if the status allows none or a field has it.
    pub(super) length: Option<usize>,
}

/// Heads of a connection. The date alone is in the client's table, so that it takes one byte for the rest of its second.
#[derive(Default)]
pub(super) struct Heads {
    /// The second of `no_content`.
    renewals: u64,
    /// The block of a 204, which is right as long as the second and the tables are the same.
    no_content: Vec<u8>,
}

impl Heads {
    /// The tables change.
    pub(super) fn forget(&mut self) {
        self.renewals = 0;
    }

    /// Appends an answer without content.
    pub(super) fn put_no_content(
        &mut self,
        server: &mut Server,
        stream: u32,
        canned: &Canned,
        out: &mut Vec<u8>,
    ) {
        if self.renewals == canned.renewals() && server.is_settled() {
            return server.answer(stream, &self.no_content, Then::End, out);
        }
        let head = AnswerHead {
            status: 204,
            fields: &[],
            length: None,
        };
        server.answer_with(stream, Then::End, out, |encoder, block| {
            put_fields(encoder, block, canned, &head);
            self.keep(encoder, canned, &head);
        });
    }

    /// Keeps the block of a 204 that follows another answer of this second, so that it refers to the table.
    fn keep(&mut self, encoder: &mut Encoder, canned: &Canned, head: &AnswerHead<'_>) {
        self.no_content.clear();
        put_fields(encoder, &mut self.no_content, canned, head);
        self.renewals = canned.renewals();
    }
}

pub(super) fn put_fields(
    encoder: &mut Encoder,
    block: &mut Vec<u8>,
    canned: &Canned,
    head: &AnswerHead<'_>,
) {
    let mut number = itoa::Buffer::new();
    let status = number.format(head.status).as_bytes();
    encoder.put(block, b":status", status, Indexing::Without);
    encoder.put(block, b"date", canned.date(), Indexing::Added);
    for (name, value) in head.fields {
        encoder.put(block, name.as_bytes(), value, Indexing::Without);
    }
    if let Some(length) = head.length {
        let length = number.format(length).as_bytes();
        encoder.put(block, b"content-length", length, Indexing::Without);
    }
}
