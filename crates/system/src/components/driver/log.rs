//! Waggle's own lines in a component's log, between two lives.

use std::{fs::File, io::Write, path::Path};

/// Writes a line of waggle's own. Errors, such as a full disk, are ignored.
pub(in crate::components) fn remark(log: &Path, text: &str) {
    let file = File::options().create(true).append(true).open(log);
    file.and_then(|mut file| file.write_all(format!("\n[waggle {text}]\n").as_bytes()))
        .ok();
}
