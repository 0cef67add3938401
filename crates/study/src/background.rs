//! Loads that run beside the measured one.

use std::time::Duration;

use crate::{Cell, LoadModel, Request};

/// A load that begins before the warm-up of the measured load and ends with the measured phase.
#[derive(Debug, Clone, PartialEq)]
pub struct BackgroundLoad {
    /// What is sent; it has the load's name. It carries no records.
    pub request: Request,
    /// Name of the system's endpoint that receives it.
    pub endpoint: String,
    /// Closed or open; `None`: the load is absent in its cell.
    pub model: Option<LoadModel>,
}

impl BackgroundLoad {
    #[must_use]
    pub fn name(&self) -> &str {
        &self.request.name
    }
}

impl Cell {
    /// The background loads that run in this cell, each with its model.
    pub fn running_background(&self) -> impl Iterator<Item = (&BackgroundLoad, &LoadModel)> {
        let loads = self.background.iter();
        loads.filter_map(|load| Some((load, load.model.as_ref()?)))
    }

    /// The longest time that an answer is waited for after the load has stopped, those of background loads included.
    #[must_use]
    pub fn longest_timeout(&self) -> Duration {
        let background = self.running_background();
        let background = background.map(|(load, _)| load.request.timeout);
        background.fold(self.timeout(), Duration::max)
    }
}
