//! One job run by several generators: the messages, the generator's side and the merge.
//!
//! A generator runs a share of the job's workers, exactly as if all workers were threads of one process: keys, seeds,
//! connections, rows of feeds and due instants follow from the job and the number of the worker alone. Where a generator runs is
//! unknown here: a [`Link`](link::Link) is a stream of bytes in each direction.
//!
//! In reading order: `message`, `link`, `collect` (who starts and merges), `serve` (the generator), `replacement`.

pub(crate) mod collect;
pub(crate) mod link;
mod message;
pub(crate) mod replacement;
pub(crate) mod serve;
#[cfg(test)]
mod simulation;
