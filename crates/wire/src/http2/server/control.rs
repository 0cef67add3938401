//! Frames that are neither requests nor bodies: settings, windows, resets, signs of life.

use super::{
    Event,
    state::{Next, State},
};
use crate::http2::{
    error::{ConnectionError, ErrorCode, broken},
    frame::{self, ACK, Head, Kind, Setting, WINDOW_MAX},
};

impl State {
    pub(super) fn take_frame<'input>(
        &mut self,
        head: Head,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Next<'input> {
        match head.kind {
            Kind::SETTINGS => self.take_settings(head, payload, out)?,
            Kind::PING => {
                let payload = frame::ping(head, payload)?;
                self.note_idle_frame()?;
                if !head.has_flag(ACK) {
                    frame::put_ping_ack(out, payload);
                }
            }
            Kind::WINDOW_UPDATE => return self.take_window_update(head, payload, out),
            Kind::RST_STREAM => return self.take_reset(head, payload),
            Kind::PRIORITY => {
                self.note_idle_frame()?;
                if let Some(code) = frame::check_priority(head, payload)? {
                    return self.fail_stream(head.stream, code, out);
                }
            }
            Kind::GOAWAY => {
                // The client opens no streams any more; its open ones are served.
                frame::go_away(head, payload)?;
                self.note_idle_frame()?;
            }
            Kind::PUSH_PROMISE => {
                return Err(broken(
                    ErrorCode::PROTOCOL_ERROR,
                    "a client sends PUSH_PROMISE",
                ));
            }
            _ => self.note_idle_frame()?,
        }
        Ok(None)
    }

    fn take_settings(
        &mut self,
        head: Head,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), ConnectionError> {
        let settings = frame::settings(head, payload)?;
        self.note_idle_frame()?;
        if head.has_flag(ACK) {
            self.is_acknowledged = true;
            return Ok(());
        }
        for setting in settings {
            match setting {
                Setting::HeaderTableSize(size) => self.encoder.limit_table(size as usize),
                Setting::InitialWindowSize(size) => {
                    let size = i64::from(size);
                    self.streams.move_send_windows(size - self.initial_window)?;
                    self.initial_window = size;
                }
                // Nothing is pushed, answers are few and their heads small, and frames have the least size that all take.
                Setting::EnablePush(_)
                | Setting::MaxConcurrentStreams(_)
                | Setting::MaxFrameSize(_)
                | Setting::MaxHeaderListSize(_) => {}
            }
        }
        frame::put_settings_ack(out);
        Ok(())
    }

    fn take_window_update<'input>(
        &mut self,
        head: Head,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Next<'input> {
        let increment = i64::from(frame::window_update(payload)?);
        self.note_idle_frame()?;
        if head.stream == 0 {
            self.send_window += increment;
            return match increment {
                0 => Err(broken(
                    ErrorCode::PROTOCOL_ERROR,
                    "a WINDOW_UPDATE of the connection by 0",
                )),
                _ if self.send_window > WINDOW_MAX => Err(broken(
                    ErrorCode::FLOW_CONTROL_ERROR,
                    "the window of the connection gets larger than 2^31-1",
                )),
                _ => Ok(None),
            };
        }
        let Some(stream) = self.streams.find(head.stream) else {
            // One that is over may have crossed its end on the way.
            self.check_gone(head.stream, "WINDOW_UPDATE on an idle stream")?;
            return Ok(None);
        };
        stream.send_window += increment;
        let code = match increment {
            0 => ErrorCode::PROTOCOL_ERROR,
            _ if stream.send_window > WINDOW_MAX => ErrorCode::FLOW_CONTROL_ERROR,
            _ => return Ok(None),
        };
        self.fail_stream(head.stream, code, out)
    }

    fn take_reset<'input>(&mut self, head: Head, payload: &[u8]) -> Next<'input> {
        frame::rst_stream(head, payload)?;
        if self.streams.close(head.stream).is_none() {
            self.check_gone(head.stream, "RST_STREAM on an idle stream")?;
            self.note_idle_frame()?;
            return Ok(None);
        }
        self.note_reset()?;
        Ok(Some(Event::Reset {
            stream: head.stream,
        }))
    }
}
