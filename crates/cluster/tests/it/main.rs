//! The crate against a real API server with etcd, which the tests start, and its manifests as golden files. There are no nodes and no
//! controllers: tests write the state of pods as a kubelet does, and finish deletions as controllers do.

#![allow(clippy::unwrap_used, reason = "tests")]

mod access;
mod claims;
mod drains;
mod manifests;
mod objects;
mod placement;
mod pods;
mod rights;
mod server;
mod workloads;
