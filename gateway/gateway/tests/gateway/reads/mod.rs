//! Reads that take long or give much: pages of records, and clients that leave.

mod departures;
mod pages;
