//! The lowest layer: what programs find in each Debian, and users.

use std::path::Path;

use super::pinned::{list_digest, packages, unpack};
use crate::{
    error::ImageError,
    layer::{Content, Entry, Layer, Tree},
};

/// The C library, what GCC adds to it, certificate authorities, time zones, names of protocols.
const PACKAGES: [&str; 7] = [
    "base-files",
    "netbase",
    "ca-certificates",
    "gcc-12-base",
    "libc6",
    "libgcc-s1",
    "tzdata",
];
/// A shell and the programs that scripts use.
const SHELL: &str = "busybox-static";
/// Programs of that.
const SHELL_PROGRAM: &str = "usr/bin/busybox";
/// Where certificate authorities are as files, and where programs look for them.
const AUTHORITIES: &str = "usr/share/ca-certificates/mozilla/";
const AUTHORITIES_FILE: &str = "etc/ssl/certs/ca-certificates.crt";
/// The folder of the user `nonroot`.
const HOME: &str = "home/nonroot";
const GROUPS: &str = "root:x:0:\nnogroup:x:65534:\nnonroot:x:65532:\n";
/// Commands of busybox that scripts of systems may use. Those that change users, mounts or networks are left out.
const COMMANDS: &str = include_str!("commands.txt");

/// The base of an image, made of Debian's packages, which are kept in a folder.
///
/// # Errors
/// A package cannot be had, or has another digest.
pub async fn base_layer(has_shell: bool, cache: &Path) -> Result<Layer, ImageError> {
    let mut names = PACKAGES.to_vec();
    names.extend(has_shell.then_some(SHELL));
    let packages = packages(&names, cache).await?;
    let mut tree = Tree::merged_usr();
    for package in &packages {
        unpack(package, &mut tree).await?;
    }
    let authorities = authorities(&tree);
    tree.add_text(AUTHORITIES_FILE, authorities)?;
    for (place, text) in [
        ("etc/passwd", users()),
        ("etc/group", GROUPS.to_owned()),
        ("etc/nsswitch.conf", "hosts: files dns\n".to_owned()),
    ] {
        tree.add_text(place, text)?;
    }
    for (place, mode) in [
        ("dev", 0o755),
        (HOME, 0o755),
        ("proc", 0o755),
        ("run", 0o755),
        ("sys", 0o755),
        ("tmp", 0o1777),
        ("var/tmp", 0o1777),
    ] {
        tree.add(place, Entry::Folder { mode })?;
    }
    if has_shell {
        for command in COMMANDS.split_whitespace() {
            let place = format!("usr/bin/{command}");
            if tree.get(&place).is_none() {
                tree.add(&place, Entry::Link(format!("/{SHELL_PROGRAM}")))?;
            }
        }
    }
    let names: Vec<&str> = packages
        .iter()
        .map(|package| package.name.trim_end_matches(".deb"))
        .collect();
    Ok(Layer {
        tree,
        source: format!(
            "Debian's packages by their digests (list {}): {}",
            &list_digest()[..8],
            names.join(" ")
        ),
    })
}

/// The users as a passwd file.
fn users() -> String {
    format!(
        "root:x:0:0:root:/nonexistent:/sbin/nologin\n\
         nobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin\n\
         nonroot:x:65532:65532:nonroot:/{HOME}:/sbin/nologin\n"
    )
}

/// All certificate authorities in one file, as `update-ca-certificates` makes it.
fn authorities(tree: &Tree) -> String {
    let files = tree
        .iter()
        .filter(|(place, _)| place.starts_with(AUTHORITIES));
    let texts = files.filter_map(|(_, entry)| match entry {
        Entry::File {
            content: Content::Bytes(bytes),
            ..
        } => Some(String::from_utf8_lossy(bytes).trim_end().to_owned() + "\n"),
        _ => None,
    });
    texts.collect()
}
