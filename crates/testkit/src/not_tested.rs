//! What a machine does not let a test check.

use std::io::Write;

/// Says that a part was not tested on this machine, and why. `cargo xtask test` collects these lines, and its end shows them.
///
/// It is for what no installation on this machine can change; what can be installed is installed, or fails.
pub fn not_tested(what: &str, why: &str) {
    let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
    // `eprintln!` is captured by the test harness, which shows it of failing tests alone. A line begins where it may follow another text.
    let line = format!("\n{what} was not tested: {why}\n");
    std::io::stderr()
        .write_all(line.as_bytes())
        .expect("stderr can be written");
}
