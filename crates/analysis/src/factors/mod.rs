//! What factors do to outcomes: effects, rankings, curves and laws, level against level.
//!
//! In reading order: `levels`, `layout`, `reference`, `best_and_worst`, `effects`, `level_comparison`, `level_ratios`, `ranking`, `together`,
//! `shown`, `laws`, `growth`, `curves`.

pub(crate) mod best_and_worst;
pub(crate) mod curves;
pub mod effects;
pub(crate) mod growth;
pub(crate) mod laws;
pub(crate) mod layout;
pub(crate) mod level_comparison;
pub(crate) mod level_ratios;
pub(crate) mod levels;
pub(crate) mod ranking;
pub(crate) mod reference;
pub(crate) mod shown;
pub(crate) mod together;
