//! The laws against published coefficients and R, on simulated trials, and on data that has no law.

mod bounds;
mod breaks;
mod crossings;
mod degenerate;
mod published;
mod simulation;

use crate::{
    intervals::estimate::Scale,
    scaling_law::{Coefficient, Errors, LawSettings, LawTrial},
};

fn settings(errors: Errors, resamples: usize) -> LawSettings<'static> {
    LawSettings {
        errors,
        scale: Scale::default(),
        resamples,
        seed: 1,
        band_at: &[],
    }
}

fn trials(levels: &[f64], values: &[f64]) -> Vec<LawTrial> {
    let each = levels.len();
    assert_eq!(values.len() % each, 0);
    let levels = levels
        .iter()
        .flat_map(|level| std::iter::repeat_n(*level, values.len() / each));
    levels
        .zip(values)
        .map(|(level, value)| LawTrial::exact(level, *value))
        .collect()
}

fn ends(coefficient: &Coefficient) -> (f64, f64) {
    coefficient.estimate.interval.unwrap()
}
