//! Shared libraries of programs: added, or missing by name.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use waggle_image::complete_libraries;

use crate::layer;

/// A small program of every Linux, in which a text is replaced by another one of the same length.
fn program(folder: &Path, from: &[u8], to: &[u8]) {
    assert_eq!(from.len(), to.len());
    let mut bytes = fs::read("/bin/true").unwrap();
    let mut start = 0;
    while let Some(place) = bytes[start..]
        .windows(from.len())
        .position(|part| part == from)
    {
        start += place;
        bytes[start..start + to.len()].copy_from_slice(to);
        start += to.len();
    }
    fs::write(folder.join("run"), bytes).unwrap();
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(folder.join("run"), executable).unwrap();
}

fn refusal(from: &[u8], to: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    program(folder.path(), from, to);
    let refused = complete_libraries(&[layer(folder.path(), "opt/a")]);
    refused.unwrap_err().to_string()
}

#[test]
fn libraries_are_added_from_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    program(folder.path(), b"x", b"x");
    let libraries = complete_libraries(&[layer(folder.path(), "opt/a")]).unwrap();
    let places: Vec<&str> = libraries.added.iter().map(|(place, _)| place).collect();
    let has = |name: &str| places.iter().any(|place| place.ends_with(name));
    assert!(has("/libc.so.6"), "{places:?}");
    assert!(
        places.iter().any(|place| place.contains("ld-linux")),
        "{places:?}"
    );
}

#[test]
fn a_missing_library_is_an_error_by_name() {
    let refused = refusal(b"libc.so.6", b"libq.so.6");
    assert!(
        refused.contains("/opt/a/run needs the shared library libq.so.6"),
        "{refused}"
    );
}

#[test]
fn a_newer_library_is_an_error_by_its_version() {
    let refused = refusal(b"GLIBC_2.34\0", b"GLIBC_9.34\0");
    assert!(
        refused.contains("needs GLIBC_9.34 of libc.so.6"),
        "{refused}"
    );
}

#[test]
fn a_program_for_another_architecture_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    program(folder.path(), b"x", b"x");
    let mut bytes = fs::read(folder.path().join("run")).unwrap();
    // e_machine: s390.
    bytes[18..20].copy_from_slice(&22_u16.to_le_bytes());
    fs::write(folder.path().join("run"), bytes).unwrap();
    let refused = complete_libraries(&[layer(folder.path(), "opt/a")]).unwrap_err();
    let refused = refused.to_string();
    assert!(
        refused.contains("/opt/a/run is a program for s390x"),
        "{refused}"
    );
}
