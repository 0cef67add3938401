//! One job run by several generators: its division, the messages, the generator's side and the merge.
//!
//! A generator runs a share of the job's workers, exactly as if all workers were threads of one process: keys, seeds, connections,
//! rows of feeds and due instants follow from the job and the number of the worker alone. Where a generator runs is unknown here:
//! a [`Link`] is a stream of bytes in each direction.

mod collect;
mod link;
mod message;
mod replace;
mod serve;
mod share;

pub use collect::{Generators, StopGenerators};
pub use link::{GeneratorsError, Link};
pub use replace::ReplaceInGenerators;
pub use serve::{ServeError, serve};
pub use share::{Share, shares};
