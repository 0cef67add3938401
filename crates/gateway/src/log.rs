//! What operators read on stderr: one line each, never per request.

use std::io::Write;

/// Something went wrong and the gateway goes on.
pub(crate) fn warning(text: std::fmt::Arguments<'_>) {
    line("warning", text);
}

/// Something an operator wants to know.
pub(crate) fn note(text: std::fmt::Arguments<'_>) {
    line("note", text);
}

fn line(level: &str, text: std::fmt::Arguments<'_>) {
    // Nobody can be told that stderr is gone.
    let _ = writeln!(std::io::stderr().lock(), "{level}: {text}");
}
