//! What a thread writes to the standard output, kept for others who get it too.

use std::cell::RefCell;

/// More is cut.
const MAX_BYTES: usize = 1 << 20;

thread_local! {
    static KEPT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Calls `task`, and returns what it wrote on this thread, before lines were broken for a terminal.
pub(crate) fn keep<T>(task: impl FnOnce() -> T) -> (T, String) {
    KEPT.set(Some(String::new()));
    let result = task();
    (result, KEPT.take().unwrap_or_default())
}

pub(super) fn note(text: &str) {
    KEPT.with_borrow_mut(|kept| {
        if let Some(kept) = kept
            && kept.len() + text.len() <= MAX_BYTES
        {
            kept.push_str(text);
        }
    });
}
