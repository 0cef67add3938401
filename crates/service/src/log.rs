//! What operators read on stderr: one line each, never per request.

use std::io::Write;

/// Something went wrong and the server goes on.
pub fn warn(text: std::fmt::Arguments<'_>) {
    line("warning", text);
}

/// Something an operator wants to know.
pub fn note(text: std::fmt::Arguments<'_>) {
    line("note", text);
}

/// Why the program ends.
pub fn error(text: std::fmt::Arguments<'_>) {
    line("error", text);
}

fn line(level: &str, text: std::fmt::Arguments<'_>) {
    // There is no other place to report that stderr is gone.
    let _ = writeln!(std::io::stderr().lock(), "{level}: {text}");
}
