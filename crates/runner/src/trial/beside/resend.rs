//! A load under way, and what it sends with another token.

use waggle_load::What;
use waggle_system::components::driver::Failure;

use crate::load::load_run::{LoadRun, Replacer};

/// Makes what a load sends, with the newest token.
pub(in crate::trial) type Content<'a> = Box<dyn Fn() -> Result<What, Failure> + 'a>;

/// A load under way that is sent with the newest token.
pub(crate) struct Resend<'a> {
    replace: Replacer,
    content: Content<'a>,
}

impl<'a> Resend<'a> {
    pub(in crate::trial) fn new(run: &impl LoadRun, content: Content<'a>) -> Self {
        Self {
            replace: run.replacer(),
            content,
        }
    }

    /// Sends it with the newest token from now on.
    pub(in crate::trial) fn send_new_token(&self) -> Result<(), Failure> {
        let replaced = (self.replace)(&(self.content)()?);
        replaced.map_err(|why| {
            Failure::new(format!("the load cannot be sent with its new token: {why}"))
        })
    }
}
