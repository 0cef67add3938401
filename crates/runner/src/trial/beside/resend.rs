//! Loads under way, and what they send with another token.

use std::{cell::RefCell, rc::Rc};

use waggle_load::What;
use waggle_system::components::driver::Failure;

use crate::load::load_run::{LoadRun, Replacer};

/// Makes what a load sends, with the newest token.
pub(in crate::trial) type Content<'a> = Box<dyn Fn() -> Result<What, Failure> + 'a>;

/// Loads under way that are sent with the newest token.
#[derive(Clone, Default)]
pub(in crate::trial) struct Resends<'a>(Rc<RefCell<Vec<Resend<'a>>>>);

struct Resend<'a> {
    replace: Replacer,
    content: Content<'a>,
}

impl<'a> Resends<'a> {
    pub(in crate::trial) fn add(&self, run: &impl LoadRun, content: Content<'a>) {
        self.0.borrow_mut().push(Resend {
            replace: run.replacer(),
            content,
        });
    }

    /// Sends all of them with the newest token from now on.
    pub(in crate::trial) fn send_new_token(&self) -> Result<(), Failure> {
        for resend in self.0.borrow().iter() {
            let replaced = (resend.replace)(&(resend.content)()?);
            replaced.map_err(|why| {
                Failure::new(format!("the load cannot be sent with its new token: {why}"))
            })?;
        }
        Ok(())
    }
}
