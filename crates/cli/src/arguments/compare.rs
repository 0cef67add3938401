//! Flags of `waggle compare`, and of the comparison at the end of `waggle run`.

use std::path::PathBuf;

use clap::Args;
use waggle_analysis::compare::CompareSettings;

use crate::{arguments::parse, output::result_files::OutputFiles};

/// Ratios that differ by less are the same.
pub(crate) const DEFAULT_MARGIN: f64 = 0.05;

/// The comparison at the end of a run with two versions.
#[derive(Debug, Args)]
pub(crate) struct RunComparison {
    /// Compare with an earlier run of the study, or with a folder of them, at the end. What the machine did in between is part of
    /// the difference; --against excludes that
    #[arg(long, value_name = "RUN", conflicts_with = "against")]
    pub(crate) baseline: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) judgement: JudgementChoice,
    #[command(flatten)]
    pub(crate) files: OutputFiles,
}

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// The run to compare with, or a folder of runs
    #[arg(value_name = "A")]
    pub(crate) first: PathBuf,
    /// The run that is compared, or a folder of runs
    #[arg(value_name = "B")]
    pub(crate) second: PathBuf,
    #[command(flatten)]
    pub(crate) judgement: JudgementChoice,
    #[command(flatten)]
    pub(crate) files: OutputFiles,
}

/// What decides a comparison.
#[derive(Debug, Args)]
pub(crate) struct JudgementChoice {
    /// Of a comparison: ratios from 1 ÷ (1 + margin) to 1 + margin are the same: a share, such as 5% or 0.05 [default: 5%]
    #[arg(long, value_name = "SHARE", value_parser = parse::margin)]
    pub(crate) margin: Option<f64>,
    /// Of a comparison: a metric that decides, such as response_time.p99; may be repeated [default: what the study asks about]
    #[arg(long, value_name = "METRIC", value_parser = parse::metric_path)]
    pub(crate) metric: Vec<Vec<String>>,
}

impl JudgementChoice {
    pub(crate) fn settings(&self) -> CompareSettings {
        CompareSettings {
            margin: self.margin.unwrap_or(DEFAULT_MARGIN),
            metrics: self.metric.clone(),
        }
    }
}
