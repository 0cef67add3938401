//! The tokens of one system that is up: the newest is sent, and all of them are hidden.

use std::{cell::RefCell, fmt, rc::Rc, time::Duration};

use tokio::time::Instant;

/// A token is renewed when this share of its time is over, in fifths.
const RENEWED_AFTER_FIFTHS: u32 = 4;

/// A token of OAuth 2. Its value is shown nowhere.
#[derive(Clone)]
pub struct Token {
    pub value: String,
    /// When it was asked for.
    pub asked: Instant,
    /// `None`: the server does not say.
    pub lasts: Option<Duration>,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token")
            .field("lasts", &self.lasts)
            .finish_non_exhaustive()
    }
}

impl Token {
    /// When another one is needed; `None`: never.
    pub fn renew_at(&self) -> Option<Instant> {
        self.lasts
            .map(|time| self.asked + time / 5 * RENEWED_AFTER_FIFTHS)
    }

    /// `None`: never.
    pub fn ends_at(&self) -> Option<Instant> {
        self.lasts.map(|time| self.asked + time)
    }
}

/// The tokens so far. Clones share them, so that each request is sent with the newest one.
#[derive(Clone, Default)]
pub struct Tokens(Rc<RefCell<Fetched>>);

#[derive(Default)]
struct Fetched {
    newest: Option<Token>,
    /// Each value once, the tokens among them.
    hidden: Vec<String>,
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").finish_non_exhaustive()
    }
}

impl Tokens {
    pub fn add(&self, token: Token) {
        self.hide(token.value.clone());
        self.0.borrow_mut().newest = Some(token);
    }

    /// Another one is needed before anything is sent: the server that gave it was started anew.
    pub fn forget_newest(&self) {
        self.0.borrow_mut().newest = None;
    }

    /// Hides another value that was sent for a token.
    pub fn hide(&self, value: String) {
        let hidden = &mut self.0.borrow_mut().hidden;
        if !hidden.contains(&value) {
            hidden.push(value);
        }
    }

    /// `None`: none was fetched.
    pub fn newest(&self) -> Option<Token> {
        self.0.borrow().newest.clone()
    }

    /// All that were ever fetched, and what was sent for them.
    pub fn hidden_values(&self) -> Vec<String> {
        self.0.borrow().hidden.clone()
    }
}
