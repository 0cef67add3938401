//! What the factors do: effects, curves with their laws and crossings, and designs that are no complete grid.

mod charts;
mod curves;
mod designs;
mod effects;
mod growth;
mod laws;
