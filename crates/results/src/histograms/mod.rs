//! Histograms by interval, as text that the tools of HdrHistogram read.

pub(crate) mod delays;
pub(crate) mod encoded_histogram;
pub(crate) mod hlog;
pub(crate) mod intermediate_probes;
