//! A connection as the two blocking streams that a generator's link is made of.

use std::io::{self, Read, Write};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadHalf, WriteHalf, split},
    runtime::Handle,
};
use tokio_util::io::SyncIoBridge;

/// Both directions of a stream, for threads outside of the runtime, which must be driven as long as they are used.
pub(crate) fn blocking_halves<S: AsyncRead + AsyncWrite>(
    stream: S,
    runtime: &Handle,
) -> (BlockingReader<S>, BlockingWriter<S>) {
    let (reader, writer) = split(stream);
    (
        BlockingReader(SyncIoBridge::new_with_handle(reader, runtime.clone())),
        BlockingWriter(SyncIoBridge::new_with_handle(writer, runtime.clone())),
    )
}

pub(crate) struct BlockingReader<S>(SyncIoBridge<ReadHalf<S>>);

impl<S: AsyncRead + AsyncWrite> Read for BlockingReader<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer) {
            // The other end is gone without a word of farewell, which is for the messages above to judge.
            Err(problem) if problem.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
            read => read,
        }
    }
}

/// Ends its direction when it is dropped.
pub(crate) struct BlockingWriter<S: AsyncRead + AsyncWrite>(SyncIoBridge<WriteHalf<S>>);

impl<S: AsyncRead + AsyncWrite> Write for BlockingWriter<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl<S: AsyncRead + AsyncWrite> Drop for BlockingWriter<S> {
    fn drop(&mut self) {
        // A thread of a runtime may not wait for another one; its stream ends with both halves.
        if Handle::try_current().is_err() {
            self.0.shutdown().ok();
        }
    }
}
