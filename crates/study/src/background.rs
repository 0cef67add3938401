//! Loads that run beside the measured one.

use waggle_spec::LoadModel;

use crate::Request;

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
