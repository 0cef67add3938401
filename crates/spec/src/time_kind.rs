//! The times that the load engine measures, and one value for each of them.

use std::{
    array,
    ops::{Index, IndexMut},
};

/// A time that the load engine measures of a request, a connection or a session. Those of a step come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeKind {
    /// done − due of succeeded requests.
    Response,
    /// done − sent of succeeded requests.
    Service,
    /// done − due of requests that failed with an answer or a timeout.
    Failed,
    /// Lag of the engine: sending instant − the instant at which sending was possible.
    Lag,
    /// From the beginning of an attempt to connect until the connection was established.
    Connect,
    /// From then on until TLS was established.
    Handshake,
    /// First byte − sent of succeeded answers that were inspected.
    FirstByte,
    /// From due until the end of their flow, of sessions that completed it, pauses included.
    Session,
}

/// Number of kinds.
const KINDS: usize = 8;
/// Number of those that a step has.
pub(crate) const STEP_KINDS: usize = 3;

impl TimeKind {
    /// All of them, in their order.
    pub const ALL: [Self; KINDS] = [
        Self::Response,
        Self::Service,
        Self::Failed,
        Self::Lag,
        Self::Connect,
        Self::Handshake,
        Self::FirstByte,
        Self::Session,
    ];

    /// As files and metrics name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Response => "response_time",
            Self::Service => "service_time",
            Self::Failed => "failed_time",
            Self::Lag => "lag",
            Self::Connect => "connect_time",
            Self::Handshake => "handshake_time",
            Self::FirstByte => "first_byte_time",
            Self::Session => "session_duration",
        }
    }

    /// Which loads have it.
    #[must_use]
    pub fn source(self) -> TimeSource {
        match self {
            Self::Response | Self::Service | Self::Failed | Self::Lag => TimeSource::Requests,
            Self::Connect | Self::Handshake => TimeSource::Connections,
            Self::FirstByte => TimeSource::InspectedAnswers,
            Self::Session => TimeSource::Sessions,
        }
    }

    /// Whether every load has it, of whatever tool.
    #[must_use]
    pub fn is_of_every_load(self) -> bool {
        self.source() == TimeSource::Requests
    }
}

/// What a time is measured of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeSource {
    /// Every load has them.
    Requests,
    /// Every load of the engine opens some.
    Connections,
    /// If a study asks for it.
    InspectedAnswers,
    /// Of a scenario.
    Sessions,
}

/// One value for each kind of time, or for the first `N` of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times<T, const N: usize = KINDS>([T; N]);

/// One value for each kind of time that a step has.
pub type StepTimes<T> = Times<T, STEP_KINDS>;

impl<T, const N: usize> Times<T, N> {
    /// The value of each kind.
    pub fn from_fn(mut value: impl FnMut(TimeKind) -> T) -> Self {
        Self(array::from_fn(|index| value(TimeKind::ALL[index])))
    }

    /// The value of each kind, up to the first error.
    ///
    /// # Errors
    /// The first one.
    pub fn try_from_fn<E>(mut value: impl FnMut(TimeKind) -> Result<T, E>) -> Result<Self, E> {
        let mut error = None;
        let values = Times::<_, N>::from_fn(|kind| match error {
            Some(_) => None,
            None => value(kind).map_err(|why| error = Some(why)).ok(),
        });
        match error {
            Some(why) => Err(why),
            None => Ok(Self(
                values.0.map(|value| value.expect("no error was noted")),
            )),
        }
    }

    /// The value of a kind; `None` if it is not among the first `N`.
    #[must_use]
    pub fn get(&self, kind: TimeKind) -> Option<&T> {
        self.0.get(kind as usize)
    }

    /// In the order of the kinds.
    pub fn iter(&self) -> impl Iterator<Item = (TimeKind, &T)> {
        TimeKind::ALL.into_iter().zip(&self.0)
    }

    /// The same, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (TimeKind, &mut T)> {
        TimeKind::ALL.into_iter().zip(&mut self.0)
    }

    /// Both values of each kind.
    pub fn zip_mut<'a, U>(
        &'a mut self,
        others: &'a Times<U, N>,
    ) -> impl Iterator<Item = (&'a mut T, &'a U)> {
        self.0.iter_mut().zip(&others.0)
    }
}

/// In the order of the kinds.
impl<T, const N: usize> From<[T; N]> for Times<T, N> {
    fn from(values: [T; N]) -> Self {
        Self(values)
    }
}

impl<T: Default, const N: usize> Default for Times<T, N> {
    fn default() -> Self {
        Self::from_fn(|_| T::default())
    }
}

impl<T, const N: usize> Index<TimeKind> for Times<T, N> {
    type Output = T;

    #[inline]
    fn index(&self, kind: TimeKind) -> &T {
        &self.0[kind as usize]
    }
}

impl<T, const N: usize> IndexMut<TimeKind> for Times<T, N> {
    #[inline]
    fn index_mut(&mut self, kind: TimeKind) -> &mut T {
        &mut self.0[kind as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_own_value() {
        let times: Times<&str> = Times::from_fn(TimeKind::name);
        for kind in TimeKind::ALL {
            assert_eq!(times[kind], kind.name());
        }
        let steps: StepTimes<&str> = Times::from_fn(TimeKind::name);
        assert_eq!(steps.iter().count(), STEP_KINDS);
        assert_eq!(steps[TimeKind::Failed], "failed_time");
    }

    #[test]
    fn first_error_is_returned() {
        let read = |kind: TimeKind| match kind.is_of_every_load() {
            true => Ok(kind),
            false => Err(kind),
        };
        assert_eq!(
            Times::<_>::try_from_fn(read),
            Err::<Times<_>, _>(TimeKind::Connect)
        );
        assert!(StepTimes::try_from_fn(read).is_ok());
    }
}
