//! The two timers among a worker's events: a periodic tick, so that a wait needs no timeout, and an alarm at the instant when the
//! next request falls due.
//!
//! The timeout of the wait would not do: in the form that every kernel has it counts whole milliseconds, and in any form the
//! kernel arms and disarms it with each wait, although most waits end with an answer and the instant stays the same.

use rustix::{
    event::epoll::{self, EventData, EventFlags},
    fd::OwnedFd,
    io::Errno,
    time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags},
};

use crate::machine::clock::{Clock, timespec};

/// Event numbers of the timers; connections are numbered from 0.
const TICK: u64 = u64::MAX;
const ALARM: u64 = u64::MAX - 1;

#[derive(Debug)]
pub(super) struct Timers {
    tick: OwnedFd,
    alarm: OwnedFd,
    /// When the alarm rings, or has rung.
    rings_at: u64,
}

impl Timers {
    /// Starts the tick, one per `tick_ns`.
    pub(super) fn new(epoll: &OwnedFd, tick_ns: u64) -> Result<Self, Errno> {
        let tick = timer(epoll, TICK)?;
        let period = Itimerspec {
            it_interval: timespec(tick_ns),
            it_value: timespec(tick_ns),
        };
        rustix::time::timerfd_settime(&tick, TimerfdTimerFlags::empty(), &period)?;
        Ok(Self {
            tick,
            alarm: timer(epoll, ALARM)?,
            rings_at: u64::MAX,
        })
    }

    /// Sets the alarm to `instant`; one system call per instant, for any number of waits.
    #[inline]
    pub(super) fn ring_at(&mut self, instant: u64, clock: &Clock) {
        if instant == self.rings_at {
            return;
        }
        self.rings_at = instant;
        let once = Itimerspec {
            it_interval: timespec(0),
            it_value: timespec(clock.monotonic(instant)),
        };
        // It fails only for an invalid time. Its events need not be read: setting it resets it.
        let _ = rustix::time::timerfd_settime(&self.alarm, TimerfdTimerFlags::ABSTIME, &once);
    }

    /// Handles the event of a timer: whether it was the tick.
    pub(super) fn has_ticked(&self, number: u64) -> bool {
        if number == TICK {
            // It must be read to be reset; the value does not matter.
            let _ = rustix::io::read(&self.tick, &mut [0; 8]);
        }
        number == TICK
    }
}

fn timer(epoll: &OwnedFd, number: u64) -> Result<OwnedFd, Errno> {
    let timer = rustix::time::timerfd_create(
        TimerfdClockId::Monotonic,
        TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
    )?;
    epoll::add(
        epoll,
        &timer,
        EventData::new_u64(number),
        EventFlags::IN | EventFlags::ET,
    )?;
    Ok(timer)
}
