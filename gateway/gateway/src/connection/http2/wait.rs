//! What the connection waits for: its socket, the log, the router, its timeouts.

use std::{
    future::Future,
    pin::{Pin, pin},
    task::{Context, Poll},
    time::Instant,
};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};

use waggle_wire::http2::error::{ConnectionError, ErrorCode};

use super::state::{Http2, Intake};
use crate::connection::{
    due::Outcome,
    ending::{Ended, INPUT_BYTES, OUT_PAUSE_BYTES},
    stream::HALF_CLOSED,
};

impl<S: AsyncRead + AsyncWrite + Unpin> Http2<'_, S> {
    /// Ready after progress; an error ends the connection at once.
    pub(super) fn wait(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Ended>> {
        if self.parts.entered.is_none() {
            let waker = context.waker().clone();
            *self.parts.entered = Some(self.parts.worker.enter(waker));
        }
        let mut moved = self.is_to_drain();
        moved |= self.stopped_short && self.has_room();
        moved |= self.write(context)?;
        moved |= self.read(context)?;
        moved |= self.see_log(context);
        moved |= self.see_topics(context);
        moved |= self.see_work(context);
        moved |= self.see_timer(context)?;
        if moved {
            Poll::Ready(Ok(()))
        } else {
            Poll::Pending
        }
    }

    fn write(&mut self, context: &mut Context<'_>) -> Result<bool, Ended> {
        let mut moved = false;
        while self.sent < self.out.len() {
            let socket = Pin::new(&mut *self.parts.socket);
            match socket.poll_write(context, &self.out[self.sent..]) {
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
            match Pin::new(&mut *self.parts.socket).poll_flush(context) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(_)) => return Err(Ended),
                Poll::Pending => {
                    self.stuck_since.get_or_insert_with(Instant::now);
                    return Ok(moved);
                }
            }
            self.stuck_since = None;
            self.sent = 0;
            self.held.clear();
            self.out.clear();
            if self.out.capacity() > 2 * OUT_PAUSE_BYTES {
                self.out = Vec::new();
            }
        }
        Ok(moved)
    }

    fn read(&mut self, context: &mut Context<'_>) -> Result<bool, Ended> {
        let is_open = matches!(self.intake, Intake::Open | Intake::Draining);
        if self.stopped_short || !is_open || !self.has_room() {
            return Ok(false);
        }
        if self.input.capacity() - self.input.len() < INPUT_BYTES / 4 {
            self.input.reserve(INPUT_BYTES);
        }
        match pin!(self.parts.socket.read_buf(&mut self.input)).poll(context) {
            Poll::Ready(Ok(0)) => {
                self.intake = Intake::Ended;
                self.ended_since = Some(Instant::now());
                Ok(true)
            }
            Poll::Ready(Ok(_)) => Ok(true),
            Poll::Ready(Err(_)) => Err(Ended),
            Poll::Pending => Ok(false),
        }
    }

    /// Whether the outcome of a request is known; if not, this task is woken when one is.
    fn see_log(&mut self, context: &mut Context<'_>) -> bool {
        for cycle in self.new_cycles.drain(..) {
            cycle.wake_later(context.waker());
        }
        let backend = &self.parts.worker.shared.backend;
        let mut due = self.due.iter();
        due.any(|(_, due)| !matches!(due.outcome(backend), Outcome::Pending))
    }

    /// Whether the lookup of a topic has ended.
    fn see_topics(&mut self, context: &mut Context<'_>) -> bool {
        let backend = &self.parts.worker.shared.backend;
        let mut moved = false;
        for request in &mut self.without_topic {
            request.is_known = !backend.is_looking_up(&request.topic, context.waker());
            moved |= request.is_known;
        }
        moved
    }

    /// Whether a call is answered or a part of an answer is read.
    fn see_work(&mut self, context: &mut Context<'_>) -> bool {
        let mut moved = false;
        while let Poll::Ready(Some(ended)) = self.work.poll_join_next_with_id(context) {
            self.take_work(ended);
            moved = true;
        }
        moved
    }

    /// Enforces the timeouts.
    fn see_timer(&mut self, context: &mut Context<'_>) -> Result<bool, Ended> {
        let mut moved = false;
        loop {
            let Some(deadline) = self.deadline() else {
                return Ok(moved);
            };
            if deadline < self.timer_at {
                self.set_timer(deadline);
            }
            if self.timer.as_mut().poll(context).is_pending() {
                return Ok(moved);
            }
            let now = Instant::now();
            if now >= deadline {
                self.enforce(now)?;
                moved = true;
            }
            if self.intake == Intake::Closing {
                return Ok(moved);
            }
            // The timer was set before the last progress.
            let next = self.deadline();
            self.set_timer(next.unwrap_or(now + self.parts.worker.shared.settings.idle_timeout));
        }
    }

    fn set_timer(&mut self, instant: Instant) {
        self.timer_at = instant;
        self.timer.as_mut().reset(instant.into());
    }

    /// The earliest end of a time.
    fn deadline(&self) -> Option<Instant> {
        let settings = &self.parts.worker.shared.settings;
        if let Some(since) = self.stuck_since {
            return Some(since + settings.write_timeout);
        }
        if !matches!(self.intake, Intake::Open | Intake::Draining) {
            let has_reads = self.workers.iter().any(|worker| worker.is_read);
            let of_reads = self.ended_since.filter(|_| has_reads);
            let of_reads = of_reads.map(|since| since + HALF_CLOSED);
            let stalled = self
                .sending
                .iter()
                .filter_map(|sending| sending.stalled_since);
            let stalled = stalled.map(|since| since + settings.write_timeout);
            return stalled.chain(of_reads).min();
        }
        let bodies = self.bodies.iter();
        let bodies = bodies.map(|body| body.since + settings.body_timeout);
        let stalled = self
            .sending
            .iter()
            .filter_map(|sending| sending.stalled_since);
        let stalled = stalled.map(|since| since + settings.write_timeout);
        let of_streams = bodies.chain(stalled).min();
        let of_frame = self.is_frame_missing();
        let of_frame = of_frame.then(|| self.frame_since + settings.head_timeout);
        let is_idle = self.server.open_streams() == 0 && !self.has_answers_to_give();
        let of_connection = is_idle.then(|| self.quiet_since + settings.idle_timeout);
        let of_settings = self.acknowledgement_deadline();
        let all = [of_streams, of_frame, of_connection, of_settings];
        all.into_iter().flatten().min()
    }

    /// Until when the client has to acknowledge the settings (RFC 9113, section 6.5.3).
    fn acknowledgement_deadline(&self) -> Option<Instant> {
        let timeout = self.parts.worker.shared.settings.head_timeout;
        (!self.server.is_acknowledged()).then(|| self.began + timeout)
    }

    /// Whether a part of a frame has arrived; those of bodies have their own time.
    fn is_frame_missing(&self) -> bool {
        self.bodies.is_empty() && !self.stopped_short && !self.server.is_between()
    }

    /// Ends what has had its time.
    fn enforce(&mut self, now: Instant) -> Result<(), Ended> {
        let settings = &self.parts.worker.shared.settings;
        let (head_timeout, idle_timeout) = (settings.head_timeout, settings.idle_timeout);
        if self.stuck_since.is_some() {
            return Err(Ended);
        }
        if self
            .ended_since
            .is_some_and(|since| now >= since + HALF_CLOSED)
        {
            self.stop_reads(None);
        }
        self.judge_bodies(now);
        self.judge_windows(now);
        let is_reading = matches!(self.intake, Intake::Open | Intake::Draining);
        let deadline = self.acknowledgement_deadline();
        if is_reading && deadline.is_some_and(|deadline| now >= deadline) {
            self.now = now;
            self.fail(ConnectionError {
                code: ErrorCode::SETTINGS_TIMEOUT,
                problem: "the settings are not acknowledged",
            });
            return Ok(());
        }
        let is_late = self.is_frame_missing() && now >= self.frame_since + head_timeout;
        let is_idle = self.server.open_streams() == 0 && !self.has_answers_to_give();
        if is_late || (is_idle && now >= self.quiet_since + idle_timeout) {
            self.server.drain(&mut self.out);
            self.intake = Intake::Closing;
        }
        Ok(())
    }
}
