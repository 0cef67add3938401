//! Memory that a client takes of what all clients share: of bodies and of answers.
//!
//! A client is who is known by name, on all of its connections and from all addresses, else an address. Whole requests that arrive
//! at once are not counted here, so that they cost no more than the counters that all clients share.

use super::{floods::FLOOD_MAX, share::Share};
use crate::settings::Settings;

/// What one client has taken.
#[derive(Debug)]
pub(crate) struct Memory {
    /// Bytes of bodies of which a part is missing.
    pub(crate) in_flight: Share,
    /// Bytes of answers that it has not read.
    pub(crate) answers: Share,
}

/// The most that one client may take in bytes, and do in vain.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClientMax {
    in_flight: usize,
    answers: usize,
    pub(super) floods: u64,
}

impl Memory {
    pub(super) fn new(max: ClientMax) -> Self {
        Self {
            in_flight: Share::new(max.in_flight),
            answers: Share::new(max.answers),
        }
    }
}

impl ClientMax {
    /// What the flags say; half of all without them.
    pub(crate) fn new(settings: &Settings) -> Self {
        Self::with_defaults(
            settings,
            Self {
                in_flight: settings.in_flight_max_bytes.div_ceil(2),
                answers: settings.answers_max_bytes.div_ceil(2),
                floods: FLOOD_MAX,
            },
        )
    }

    /// The same of clients on this host, which may be a proxy: without flags there is no limit.
    pub(super) fn of_this_host(settings: &Settings) -> Self {
        Self::with_defaults(settings, Self::UNLIMITED)
    }

    pub(super) const UNLIMITED: Self = Self {
        in_flight: usize::MAX,
        answers: usize::MAX,
        floods: u64::MAX,
    };

    fn with_defaults(settings: &Settings, defaults: Self) -> Self {
        let client = &settings.client;
        let in_flight = client.client_in_flight_max_bytes;
        let answers = client.client_answers_max_bytes;
        Self {
            in_flight: in_flight.unwrap_or(defaults.in_flight),
            answers: answers.unwrap_or(defaults.answers),
            floods: client.client_flood_max.unwrap_or(defaults.floods),
        }
    }
}
