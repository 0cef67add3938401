//! Acknowledged records are not lost by crashes, network faults and full disks: real servers under load.

#[cfg(test)]
mod disks;
#[cfg(test)]
mod kills;
#[cfg(test)]
mod network;
