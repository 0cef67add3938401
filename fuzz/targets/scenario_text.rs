//! Templates are read or refused with a valid position; a jar accepts any cookie and writes nothing that would end a header.
//!
//! Lines: the first is a template, the second a path, the rest are `Set-Cookie` lines.
#![no_main]

use libfuzzer_sys::fuzz_target;
use waggle_load::{Jar, Template};

fuzz_target!(|bytes: &[u8]| {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let first = lines.next().unwrap_or_default();
    if let Ok(text) = std::str::from_utf8(first) {
        match Template::parse(text) {
            Ok(template) => {
                for name in template.variables() {
                    assert!(text.contains(name));
                }
            }
            Err(error) => assert!(text.is_char_boundary(error.at) && error.at < text.len()),
        }
        let literal = Template::literal(text);
        assert_eq!(literal.variables().count(), 0);
    }
    let path = lines.next().unwrap_or_default();
    let mut jar = Jar::default();
    for (now, line) in (0..).zip(lines) {
        jar.set(line, &["shop.example.org"], path, now);
        let mut out = Vec::new();
        let said = jar.write(path, true, now, &mut out);
        assert_eq!(said, !out.is_empty());
        assert!(!out.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)));
    }
});
