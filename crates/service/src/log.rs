//! Log lines on stderr: never one per request.

use std::io::Write;

/// A failure after which the server continues.
pub fn warn(text: std::fmt::Arguments<'_>) {
    line("warning", text);
}

/// Information for the operator.
pub fn note(text: std::fmt::Arguments<'_>) {
    line("note", text);
}

/// Why the program ends.
pub fn error(text: std::fmt::Arguments<'_>) {
    line("error", text);
}

fn line(level: &str, text: std::fmt::Arguments<'_>) {
    // A closed stderr cannot be reported anywhere.
    let _ = writeln!(std::io::stderr().lock(), "{level}: {text}");
}
