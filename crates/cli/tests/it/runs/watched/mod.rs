//! Runs that others watch while they go on: in another terminal, by a program that keeps metrics, in a browser.

mod attach;
mod live_metrics;
mod serve;
