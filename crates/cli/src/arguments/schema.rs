//! Arguments of `waggle schema`.

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct Schema {
    /// The file or result
    pub(crate) of: SchemaOf,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum SchemaOf {
    Study,
    System,
    /// The object that `waggle load --json` prints
    Load,
    Scenario,
    /// The object that `waggle load --search … --json` prints
    Search,
    /// `report.json` of a run
    Report,
    /// The object that `waggle compare --json` writes
    Compare,
    /// The object that `waggle history --json` writes
    History,
}
