//! A run as a stream of lines that other processes follow: what it is made of (`message`), what a late follower gets (`replay`), who
//! follows (`followers`), and the offer that a run makes of it (`offer`) at a socket in its folder (`socket`). `ended` keeps the end.
//!
//! Followers cost the run nothing that it waits for: a thread of low priority serves them, and one that is slow gets the state so far
//! again instead of what it missed (design 0104).

pub(super) mod ended;
mod followers;
pub(super) mod message;
pub(super) mod offer;
mod replay;
pub(super) mod socket;
#[cfg(test)]
mod tests;
