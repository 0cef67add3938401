//! What a connection waits for: its socket, the commit, its timeouts.

use std::{
    future::Future,
    pin::{Pin, pin},
    rc::Rc,
    task::{Context, Poll},
    time::Instant,
};

use tokio::io::AsyncReadExt;

use super::{
    Answer, Connection, Due, INPUT_BYTES, Intake, OUT_PAUSE_BYTES, Phase, Stream,
    ending::{Ended, linger},
};
use crate::log::ticket::Fate;

impl<S: Stream> Connection<S> {
    /// Ready after progress; an error ends the connection at once.
    pub(super) fn wait(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Ended>> {
        if self.entered.is_none() {
            self.entered = Some(self.worker.enter(context.waker().clone()));
        }
        let has_written = self.write(context)? && self.waits_for_output();
        let can_go_on = self.stopped_short && self.has_room();
        let mut moved = has_written || can_go_on || self.is_to_end();
        // What has arrived is looked at before anything else is waited for.
        if self.read(context)? {
            return Poll::Ready(Ok(()));
        }
        moved |= self.see_log(context);
        moved |= self.see_topic(context);
        moved |= self.see_timer(context)?;
        if moved {
            Poll::Ready(Ok(()))
        } else {
            Poll::Pending
        }
    }

    /// Whether something is to be done when the output is sent.
    fn waits_for_output(&self) -> bool {
        !matches!(self.intake, Intake::Open) || self.rest.is_some() || self.stopped_short
    }

    fn write(&mut self, context: &mut Context<'_>) -> Result<bool, Ended> {
        let mut moved = false;
        while self.sent < self.out.len() {
            match Pin::new(&mut self.stream).poll_write(context, &self.out[self.sent..]) {
                Poll::Ready(Ok(0) | Err(_)) => return Err(Ended),
                Poll::Ready(Ok(count)) => self.sent += count,
                Poll::Pending => {
                    if moved || self.stuck_since.is_none() {
                        self.stuck_since = Some(Instant::now());
                    }
                    return Ok(moved);
                }
            }
            moved = true;
        }
        if self.sent > 0 {
            // An encrypted stream may hold a part back; a plain one has nothing to do here.
            match Pin::new(&mut self.stream).poll_flush(context) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(_)) => return Err(Ended),
                Poll::Pending => {
                    self.stuck_since.get_or_insert_with(Instant::now);
                    return Ok(moved);
                }
            }
            self.stuck_since = None;
            self.sent = 0;
            self.held = None;
            self.out.clear();
            if self.out.capacity() > OUT_PAUSE_BYTES {
                self.out = Vec::new();
            }
        }
        Ok(moved)
    }

    fn read(&mut self, context: &mut Context<'_>) -> Result<bool, Ended> {
        // Input that was received before comes first, or the end of the stream would cut it off.
        if self.stopped_short || !self.has_room() || !matches!(self.intake, Intake::Open) {
            return Ok(false);
        }
        if self.input.capacity() - self.input.len() < INPUT_BYTES / 4 {
            self.input.reserve(INPUT_BYTES);
        }
        match pin!(self.stream.read_buf(&mut self.input)).poll(context) {
            Poll::Ready(Ok(0)) => {
                self.intake = Intake::Closed;
                Ok(true)
            }
            Poll::Ready(Ok(_)) => Ok(true),
            Poll::Ready(Err(_)) => Err(Ended),
            Poll::Pending => Ok(false),
        }
    }

    /// Whether the first due answer is known; if not, this task is woken when it is.
    fn see_log(&mut self, context: &mut Context<'_>) -> bool {
        let Some(Due {
            answer: Answer::Log(cycle, share),
            ..
        }) = self.due.front()
        else {
            return false;
        };
        if cycle.fate(*share) != Fate::Pending {
            return true;
        }
        let known = self.woken_by.as_ref();
        if !known.is_some_and(|known| Rc::ptr_eq(known, cycle)) {
            cycle.wake_later(context.waker());
            self.woken_by = Some(Rc::clone(cycle));
        }
        false
    }

    /// Whether the lookup of the next request's topic has ended.
    fn see_topic(&mut self, context: &mut Context<'_>) -> bool {
        let Intake::Topic(name) = &self.intake else {
            return false;
        };
        if self
            .worker
            .shared
            .backend
            .is_looking_up(name, context.waker())
        {
            return false;
        }
        self.intake = Intake::Open;
        self.stopped_short = true;
        true
    }

    /// Enforces the timeouts.
    fn see_timer(&mut self, context: &mut Context<'_>) -> Result<bool, Ended> {
        let Some(mut deadline) = self.deadline() else {
            return Ok(false);
        };
        if deadline < self.timer_at {
            self.set_timer(deadline);
        }
        // Once it has this task's waker it need not be polled until it is over.
        if self.timer_is_armed && !self.timer.is_elapsed() {
            return Ok(false);
        }
        while self.timer.as_mut().poll(context).is_ready() {
            let now = Instant::now();
            if now >= deadline {
                if !self.body_arrives() {
                    return self.out_of_time();
                }
                self.received_before = self.received;
                self.phase_since = now;
                deadline = now + self.worker.shared.settings.body_timeout;
            }
            // The timer was set before the last progress.
            self.set_timer(deadline);
        }
        self.timer_is_armed = true;
        Ok(false)
    }

    fn set_timer(&mut self, instant: Instant) {
        (self.timer_at, self.timer_is_armed) = (instant, false);
        self.timer.as_mut().reset(instant.into());
    }

    fn deadline(&self) -> Option<Instant> {
        let settings = &self.worker.shared.settings;
        if let Some(since) = self.stuck_since {
            return Some(since + settings.write_timeout);
        }
        // The lookup of a topic has its own timeout.
        let waits_for_us = !self.due.is_empty() || matches!(self.intake, Intake::Topic(_));
        let allowed = if waits_for_us {
            return None;
        } else {
            match self.phase {
                Phase::Idle => settings.idle_timeout,
                Phase::Head => settings.head_timeout,
                Phase::Body => settings.body_timeout,
            }
        };
        Some(self.phase_since + allowed)
    }

    /// Whether enough of a body has arrived since its timeout began.
    fn body_arrives(&self) -> bool {
        let settings = &self.worker.shared.settings;
        let arrived = self.received.saturating_sub(self.received_before);
        let expected = settings.body_timeout.as_millis() * settings.body_min_rate as u128 / 1000;
        self.phase == Phase::Body
            && self.stuck_since.is_none()
            && settings.body_min_rate > 0
            && arrived as u128 >= expected.max(1)
    }

    fn out_of_time(&mut self) -> Result<bool, Ended> {
        if self.stuck_since.is_some()
            || self.timed_out
            || matches!(self.phase, Phase::Idle)
            || self.input.is_empty()
        {
            return Err(Ended);
        }
        self.timed_out = true;
        // What was answered is drained, so that this request is at the start.
        let problem = self.caller.caller.refuse_late();
        self.refuse(0, problem);
        Ok(true)
    }

    /// Ends the connection so that the client can read the last answer.
    pub(super) async fn linger(&mut self) {
        linger(&mut self.stream).await;
    }
}
