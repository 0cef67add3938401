//! What is acknowledged is not lost, whatever dies, is cut off or has no room: real servers under load.

#[cfg(test)]
mod disks;
#[cfg(test)]
mod kills;
#[cfg(test)]
mod network;
