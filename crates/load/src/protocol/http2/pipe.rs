//! The socket of `h2`: two buffers in memory, which the worker fills and empties.

use std::{
    cell::RefCell,
    io,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// `h2` may write this much ahead of the socket; then it waits.
pub(super) const OUTBOUND_MAX: usize = 64 * 1024;
/// This many received bytes may wait for `h2`, which stops reading while its output has no room; then nothing more is read from
/// the socket.
const UNREAD_MAX: usize = 1024 * 1024;

/// Both ends see the same buffers.
#[derive(Debug, Clone, Default)]
pub(super) struct Pipe(Rc<RefCell<Buffers>>);

#[derive(Debug, Default)]
struct Buffers {
    inbound: Vec<u8>,
    /// How much of `inbound` has been read.
    read: usize,
    is_end: bool,
    outbound: Vec<u8>,
}

impl Pipe {
    /// Adds received bytes.
    pub(super) fn push(&self, bytes: &[u8]) {
        let mut buffers = self.0.borrow_mut();
        let read = std::mem::take(&mut buffers.read);
        // All of it in practice, because a poll reads until nothing is left.
        buffers.inbound.drain(..read);
        buffers.inbound.extend_from_slice(bytes);
    }

    /// Whether the limit of unread bytes is reached.
    pub(super) fn is_stuffed(&self) -> bool {
        let buffers = self.0.borrow();
        buffers.inbound.len() - buffers.read >= UNREAD_MAX
    }

    /// No more bytes will arrive.
    pub(super) fn end(&self) {
        self.0.borrow_mut().is_end = true;
    }

    /// Appends the output to `out`; returns its length.
    pub(super) fn take(&self, out: &mut Vec<u8>) -> usize {
        let mut buffers = self.0.borrow_mut();
        let length = buffers.outbound.len();
        out.append(&mut buffers.outbound);
        length
    }

    /// Whether `h2` may be waiting for room to write.
    pub(super) fn is_full(&self) -> bool {
        self.0.borrow().outbound.len() >= OUTBOUND_MAX
    }
}

impl AsyncRead for Pipe {
    fn poll_read(
        self: Pin<&mut Self>,
        _context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut buffers = self.0.borrow_mut();
        let rest = &buffers.inbound[buffers.read..];
        if rest.is_empty() {
            // No waker is kept: the connection is polled after each push.
            return if buffers.is_end {
                Poll::Ready(Ok(()))
            } else {
                Poll::Pending
            };
        }
        let length = rest.len().min(into.remaining());
        into.put_slice(&rest[..length]);
        buffers.read += length;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(
        self: Pin<&mut Self>,
        _context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut buffers = self.0.borrow_mut();
        let room = OUTBOUND_MAX.saturating_sub(buffers.outbound.len());
        let length = bytes.len().min(room);
        if length == 0 && !bytes.is_empty() {
            // As above: the connection is polled after each take.
            return Poll::Pending;
        }
        buffers.outbound.extend_from_slice(&bytes[..length]);
        Poll::Ready(Ok(length))
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
