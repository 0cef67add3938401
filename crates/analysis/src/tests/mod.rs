//! Tests of whole reports, and the simulated run that tests of several rooms take.

mod simulated_reports;
pub(crate) mod simulated_run;
