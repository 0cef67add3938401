//! The input of a frame: the data, and the state of the view.

use std::time::Duration;

use super::palette::Palette;
use crate::{
    live::{board::StudyBoard, history::TimeRange, view_model::ViewModel},
    trial::sides::Side,
};

/// A page of the view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::live) enum Page {
    #[default]
    Overview,
    Times,
    Details,
    /// The cells of a study; without a study, the overview.
    Cells,
}

/// Everything that a frame depends on.
#[derive(Debug, Clone, Copy)]
pub(in crate::live) struct Frame<'a> {
    pub(in crate::live) study: Option<&'a StudyBoard>,
    /// The trial of the side that is shown.
    pub(in crate::live) model: &'a ViewModel,
    /// Both trials of a duet.
    pub(in crate::live) duet: Option<[&'a ViewModel; 2]>,
    /// Which of them is shown.
    pub(in crate::live) side: Side,
    /// Time since the start of the view.
    pub(in crate::live) elapsed: Duration,
    pub(in crate::live) page: Page,
    pub(in crate::live) range: TimeRange,
    pub(in crate::live) palette: Palette,
    pub(in crate::live) is_paused: bool,
    /// Number of requests to end.
    pub(in crate::live) asked_to_end: u32,
    /// What is shown goes on without the view.
    pub(in crate::live) may_leave: bool,
    pub(in crate::live) with_help: bool,
}
