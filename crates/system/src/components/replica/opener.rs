//! How the process beside a replica is reached: whoever starts replicas elsewhere says it.

use std::{fmt, pin::Pin};

use tokio::io::{AsyncRead, AsyncWrite};

/// A connection to the process beside a replica.
pub struct Streams {
    pub reader: Box<dyn AsyncRead + Send + Unpin>,
    pub writer: Box<dyn AsyncWrite + Send + Unpin>,
}

/// How the place of a replica is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PodState {
    /// It is worth another try; why there was no connection, if that is known.
    Unknown(Option<String>),
    /// The replica is gone with it, and why.
    Lost(String),
}

/// What a connection is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Errand {
    /// Orders and reports of the process beside the replica.
    Join,
    /// What is in the folder of this replica, which has ended.
    Pack(String),
    /// What is to be in the folder of this replica, which is not started yet.
    Unpack(String),
}

impl Errand {
    /// What `waggle __replica` is told, for the folder of a place.
    #[must_use]
    pub fn words<'a>(&'a self, folder: &'a str) -> Vec<&'a str> {
        match self {
            Self::Join => vec!["join", folder],
            Self::Pack(replica) => vec!["pack", folder, replica],
            Self::Unpack(replica) => vec!["unpack", folder, replica],
        }
    }
}

/// Opens connections to the process beside one replica.
pub trait Opener: Send + Sync + fmt::Debug {
    /// One that cannot be opened ends at once.
    fn open(&self, errand: &Errand) -> Streams;

    /// Looks at the place after a connection has ended.
    fn look(&self) -> Pin<Box<dyn Future<Output = PodState> + Send + '_>>;
}
