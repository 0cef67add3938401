//! Arithmetic on samples: means and squares, the distribution of Student, the limit of Holm, random numbers of a seed.
//!
//! In reading order: `sample`, `student`, `holm`, `random`.

pub(crate) mod holm;
pub(crate) mod random;
pub(crate) mod sample;
pub(crate) mod student;
