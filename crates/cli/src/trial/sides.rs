//! The trials that run now: one, or the two of a duet, which run at the same time. The live view, the lines and the export follow
//! each by its events.

use waggle_runner::Event;

/// Which of the trials that run now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The only one, or the baseline of a duet.
    First,
    /// The changed version of a duet.
    Partner,
}

impl Side {
    /// The side that an event is of, and the event itself. The ends of both trials are events of the first side.
    pub(crate) fn split(event: &Event) -> (Self, &Event) {
        match event {
            Event::Partner(event) => (Self::Partner, event),
            event => (Self::First, event),
        }
    }
}

/// A value for each trial that runs now.
#[derive(Debug, Clone)]
pub(crate) struct Sides<T> {
    first: Option<T>,
    partner: Option<T>,
}

impl<T> Default for Sides<T> {
    fn default() -> Self {
        Self {
            first: None,
            partner: None,
        }
    }
}

impl<T> Sides<T> {
    /// A trial begins.
    pub(crate) fn start(&mut self, side: Side, value: T) {
        match side {
            Side::First => (self.first, self.partner) = (Some(value), None),
            Side::Partner => self.partner = Some(value),
        }
    }

    /// The trial, or both, are over.
    pub(crate) fn end(&mut self) {
        (self.first, self.partner) = (None, None);
    }

    pub(crate) fn main_trial(&self) -> Option<&T> {
        self.first.as_ref()
    }

    pub(crate) fn partner(&self) -> Option<&T> {
        self.partner.as_ref()
    }

    pub(crate) fn side_mut(&mut self, side: Side) -> Option<&mut T> {
        match side {
            Side::First => self.first.as_mut(),
            Side::Partner => self.partner.as_mut(),
        }
    }

    /// The first one, then its partner.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(&self.partner)
    }
}
