//! Frames that are no part of an answer.

use super::{Event, State, Why};
use crate::http2::{
    error::{ConnectionError, ErrorCode, broken},
    frame::{self, ACK, GoAway, Head, Kind, Setting, WINDOW_MAX},
};

impl State {
    /// Takes a frame without a part of an answer.
    pub(super) fn control(
        &mut self,
        head: Head,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Event<'static>>, ConnectionError> {
        if self.streams_max.is_none() && (head.kind != Kind::SETTINGS || head.has_flag(ACK)) {
            return Err(broken(
                ErrorCode::PROTOCOL_ERROR,
                "the first frame is not SETTINGS",
            ));
        }
        match head.kind {
            Kind::WINDOW_UPDATE => return self.window_update(head, payload, out),
            Kind::SETTINGS => return self.settings(head, payload, out),
            Kind::RST_STREAM => return self.reset(head, payload),
            Kind::GOAWAY => return self.go_away(frame::go_away(head, payload)?),
            Kind::PUSH_PROMISE => {
                return Err(broken(
                    ErrorCode::PROTOCOL_ERROR,
                    "PUSH_PROMISE, which this side does not allow",
                ));
            }
            Kind::PING => {
                let content = frame::ping(head, payload)?;
                if !head.has_flag(ACK) {
                    frame::put_ping_ack(out, content);
                }
            }
            Kind::PRIORITY => {
                frame::check_priority(head, payload)?;
            }
            _ => {}
        }
        self.flood.note()?;
        Ok(None)
    }

    fn settings(
        &mut self,
        head: Head,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Event<'static>>, ConnectionError> {
        let settings = frame::settings(head, payload)?;
        self.flood.note()?;
        if head.has_flag(ACK) {
            return Ok(None);
        }
        let is_first = self.streams_max.is_none();
        // A server without a limit allows any number.
        let mut streams_max = self.streams_max.unwrap_or(u32::MAX);
        for setting in settings {
            match setting {
                Setting::MaxConcurrentStreams(most) => streams_max = most,
                Setting::HeaderTableSize(size) => self.encoder.limit_table(size as usize),
                Setting::InitialWindowSize(size) => {
                    let more = i64::from(size) - self.initial_window;
                    self.initial_window = i64::from(size);
                    self.streams.widen_windows(more)?;
                }
                Setting::EnablePush(true) => {
                    return Err(broken(
                        ErrorCode::PROTOCOL_ERROR,
                        "a server enables its own push",
                    ));
                }
                Setting::EnablePush(false)
                | Setting::MaxFrameSize(_)
                | Setting::MaxHeaderListSize(_) => {}
            }
        }
        self.streams_max = Some(streams_max);
        frame::put_settings_ack(out);
        self.note_opened();
        Ok(is_first.then_some(Event::Ready))
    }

    fn window_update(
        &mut self,
        head: Head,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Event<'static>>, ConnectionError> {
        let increment = i64::from(frame::window_update(payload)?);
        self.flood.note()?;
        if head.stream == 0 {
            self.send_window += increment;
            if increment == 0 {
                return Err(broken(
                    ErrorCode::PROTOCOL_ERROR,
                    "WINDOW_UPDATE of the connection by 0",
                ));
            }
            if self.send_window > WINDOW_MAX {
                return Err(broken(
                    ErrorCode::FLOW_CONTROL_ERROR,
                    "the window of the connection exceeds 2^31-1",
                ));
            }
            self.note_opened();
            return Ok(None);
        }
        let Some(slot) = self.streams.slot_of(head.stream) else {
            self.check_number(head.stream)?;
            return Ok(None);
        };
        let request = &mut self.streams[slot];
        request.send_window += increment;
        if increment == 0 || request.send_window > WINDOW_MAX {
            let code = match increment {
                0 => ErrorCode::PROTOCOL_ERROR,
                _ => ErrorCode::FLOW_CONTROL_ERROR,
            };
            self.reset_stream(slot, code, out);
            let why = Why::Malformed("WINDOW_UPDATE of a stream by 0, or beyond 2^31-1");
            return Ok(Some(Event::Failed { slot, why }));
        }
        self.note_opened();
        Ok(None)
    }

    /// A window may let more of a body go. That is sent when the input is used up: sent at once, what each of many small updates lets go
    /// would be a frame of its own, and a server that updates its windows after each frame would get ever smaller ones.
    fn note_opened(&mut self) {
        if self.streams.let_go(self.send_window) {
            self.flood.reset();
            self.lets_go = true;
        }
    }

    /// Sends what the windows allow of all bodies that wait for them.
    #[cold]
    pub(super) fn send_bodies(&mut self, out: &mut Vec<u8>) {
        self.lets_go = false;
        self.streams.send_all(&mut self.send_window, out);
    }

    fn reset(
        &mut self,
        head: Head,
        payload: &[u8],
    ) -> Result<Option<Event<'static>>, ConnectionError> {
        let code = frame::rst_stream(head, payload)?;
        self.flood.note()?;
        let Some(slot) = self.streams.slot_of(head.stream) else {
            self.check_number(head.stream)?;
            return Ok(None);
        };
        self.streams.close(slot);
        let why = Why::Reset(code);
        Ok(Some(Event::Failed { slot, why }))
    }

    fn go_away(&mut self, away: GoAway) -> Result<Option<Event<'static>>, ConnectionError> {
        self.flood.note()?;
        if let Some(before) = self.going_away
            && away.last_stream > before.last_stream
        {
            return Err(broken(
                ErrorCode::PROTOCOL_ERROR,
                "a second GOAWAY allows more than the first one",
            ));
        }
        self.going_away = Some(away);
        Ok(self.next_unprocessed(0))
    }
}
