//! What is drawn, and how it is looked at.

use std::time::Duration;

use super::palette::Ink;
use crate::live::{board::StudyBoard, history::Span, shown::Shown};

/// One of the views.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::live) enum Page {
    #[default]
    Overview,
    Times,
    Details,
    /// The cells of a study alone; without a study the same as the overview.
    Cells,
}

/// How the load is looked at.
#[derive(Debug, Clone, Copy)]
pub(in crate::live) struct Look<'a> {
    pub(in crate::live) study: Option<&'a StudyBoard>,
    pub(in crate::live) shown: &'a Shown,
    /// Since the start of the view.
    pub(in crate::live) elapsed: Duration,
    pub(in crate::live) page: Page,
    pub(in crate::live) span: Span,
    pub(in crate::live) ink: Ink,
    pub(in crate::live) is_paused: bool,
    /// How often the end was asked for.
    pub(in crate::live) asked_to_end: u32,
    pub(in crate::live) with_help: bool,
}
