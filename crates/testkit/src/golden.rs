//! Pages of the documentation that are written from the code.

use std::path::Path;

/// Compares a page in the project's `docs` with what the code says. With `UPDATE_GOLDEN` set it is written first.
#[track_caller]
pub fn check_page(name: &str, text: &str) {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let path = docs.join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).expect("the page can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == text,
        "docs/{name} is not what the code says; `cargo xtask reference` rewrites it"
    );
}
