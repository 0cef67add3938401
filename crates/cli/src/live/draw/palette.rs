//! Colours and weights of text.
//!
//! Only the sixteen colours of terminal themes, without black, white, yellow and blue: those are unreadable on either dark or
//! light backgrounds.

use ratatui::style::{Color, Modifier, Style};

/// Whether colours are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::live) enum Palette {
    Coloured,
    /// `NO_COLOR`: bold and dim only.
    Plain,
}

impl Palette {
    pub(super) fn colour(self, colour: Color) -> Style {
        match self {
            Self::Coloured => Style::new().fg(colour),
            Self::Plain => Style::new(),
        }
    }
}

pub(super) const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
pub(super) const DIM: Style = Style::new().add_modifier(Modifier::DIM);
pub(super) const GOOD: Color = Color::Green;
pub(super) const BAD: Color = Color::Red;
pub(super) const RATE: Color = Color::Cyan;
/// Colours of p50, p90, p99 and the maximum, and of the samples up to them.
pub(super) const PERCENTILE_COLOURS: [Color; 4] =
    [Color::Green, Color::Cyan, Color::Magenta, Color::Red];
