//! A study file, key by key.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use waggle_spec::ExpectedVerdict;

use super::{Background, Name, Prepare, UseSystem};
use crate::{
    Level,
    at::{At, Key},
    parts::{
        delivery::Delivery,
        faults::Fault,
        load::{
            Load,
            agents::{Agents, runner::Runner},
        },
        network::Network,
        report::{best_and_worst::BestAndWorst, reference::Reference},
        scaling::Scaling,
        schedule::Schedule,
        search::Search,
    },
};

pub(crate) type Factors = IndexMap<String, Vec<Level>>;
pub(crate) type Rows = Vec<IndexMap<String, Level>>;

/// A study: a system, the load on it, the schedule and what is measured.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "waggle study")]
#[expect(
    dead_code,
    reason = "factors, cells and derived levels are read from the tree, for the places of their levels"
)]
pub(crate) struct Study {
    /// Name of the study; names the folder of its runs.
    #[schemars(required)]
    pub study: Option<Name>,
    /// The question the study answers, in a sentence; heads the report.
    #[schemars(required)]
    pub question: Option<String>,
    /// The system under study.
    #[schemars(required)]
    pub system: Key<UseSystem>,
    /// What varies: each factor with its levels. Every combination of levels is a cell. A factor is put to use as
    /// ${factor}, or by having the name of one of the system's parameters.
    #[schemars(extend("x-waggle-keys" = "name"))]
    pub factors: Option<Factors>,
    /// The cells row by row; every row has the same keys. With `factors`, every row is combined with every combination of their
    /// levels. A row may also have `name`, a short name of the cell, and `expect_verdict`.
    #[schemars(length(min = 1))]
    pub cells: Option<Rows>,
    /// Levels that each cell computes from its others, e.g. `n: floor(${traffic} / (5 * 9 * ${concurrency}))`: numbers, + - * / %,
    /// parentheses, floor, ceil, round, min and max. They are put to use like factors, and are none.
    #[schemars(extend("x-waggle-keys" = "name"))]
    pub derived: Option<IndexMap<String, String>>,
    /// What the study asks about: paths of metrics, as in `thresholds`, e.g. `delivery.store.delay.p99`. The report's answer and
    /// the verdicts rest on them. By default goodput in closed load, the p99 of response time in open load and for users, and in a
    /// search what is searched for.
    #[schemars(length(min = 1))]
    pub asks: Key<Vec<At<String>>>,
    /// The verdict that every cell is expected to have, if not `valid`, e.g. `overloaded`. A row of `cells` can have its own.
    pub expect_verdict: Option<ExpectedVerdict>,
    /// What is done to the system after its functional check and before the warm-up: loads that fill it.
    pub prepare: Key<Prepare>,
    /// A network of its own for each trial, which can be slow, lossy or have other settings of the kernel.
    pub network: Key<Network>,
    /// The load on the system.
    #[schemars(required)]
    pub load: Key<Load>,
    /// Agents on other hosts that make the load, each with its share; without them it is made on this machine.
    pub agents: Key<Agents>,
    /// Where the run is driven from: a pod of a cluster; without it, this machine.
    pub runner: Key<Runner>,
    /// Loads that run beside the measured one, in the same trial; none by default.
    #[schemars(length(min = 1, max = 20))]
    pub background: Key<Vec<At<Background>>>,
    /// The phases of a trial, and how often each cell is tried.
    #[schemars(required)]
    pub schedule: Key<Schedule>,
    /// Faults: components that are killed and restarted, upgraded, or moved away from their nodes, in mid-trial.
    pub faults: Key<Vec<At<Fault>>>,
    /// Delivery accounting: accepted records are followed until a probe sees them.
    pub delivery: Key<Delivery>,
    /// Capacity search: the highest level of the load at which conditions hold, in every cell.
    pub search: Key<Search>,
    /// Reference results: figures from elsewhere, shown next to the study's own.
    pub reference: Key<Reference>,
    /// The best and the worst trial of each cell by a list of metrics, shown next to the estimates.
    pub best_and_worst: Key<BestAndWorst>,
    /// What is asked of the curves over a factor whose levels are numbers: where they cross bounds, and how two levels differ.
    pub scaling: Key<Scaling>,
    /// Conditions that must hold in every cell, e.g. `delivery.missing == 0`.
    pub thresholds: Key<Vec<At<String>>>,
    /// Decides the order of trials and every other random choice; by default each run has a new one, and notes it.
    #[schemars(range(min = 0))]
    pub seed: Option<i64>,
}
