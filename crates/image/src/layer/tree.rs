//! What a layer has at which place. Places are as Debian has them since it merged `/bin` and `/lib` into `/usr`.

use std::{collections::BTreeMap, path::PathBuf};

use crate::error::ImageError;

/// Links that are followed from one place before it is taken for a circle.
const LINKS_MAX: usize = 40;
/// Folders at the top that are links to those of the same name in `/usr`.
const MERGED: [&str; 4] = ["bin", "lib", "lib64", "sbin"];

/// What a file consists of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    Bytes(Vec<u8>),
    /// A file of this machine.
    File(PathBuf),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    Folder {
        mode: u32,
    },
    File {
        content: Content,
        is_executable: bool,
    },
    /// With the text of the link.
    Link(String),
}

/// Files, folders and links by their places, without a slash in front. Folders above them exist without being named.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    entries: BTreeMap<String, Entry>,
}

impl Tree {
    /// A tree with the links of a merged `/usr`.
    #[must_use]
    pub fn merged_usr() -> Self {
        let links = MERGED.map(|name| (name.to_owned(), Entry::Link(format!("usr/{name}"))));
        Self {
            entries: BTreeMap::from(links),
        }
    }

    /// Puts something at a place.
    ///
    /// # Errors
    /// Something else is there already, or there is no such place.
    pub fn add(&mut self, place: &str, entry: Entry) -> Result<(), ImageError> {
        let place = normal(place)?;
        if MERGED.contains(&place.as_str()) {
            return Ok(());
        }
        match self.entries.get(&place) {
            None => {}
            Some(known) if *known == entry => return Ok(()),
            // Packages have folders in common, a few with other rights.
            Some(Entry::Folder { .. }) if matches!(entry, Entry::Folder { .. }) => return Ok(()),
            Some(_) => return Err(ImageError::Twice { path: place }),
        }
        self.entries.insert(place, entry);
        Ok(())
    }

    /// Puts a text at a place.
    ///
    /// # Errors
    /// As of [`Self::add`].
    pub fn add_text(&mut self, place: &str, text: impl Into<String>) -> Result<(), ImageError> {
        let content = Content::Bytes(text.into().into_bytes());
        self.add(
            place,
            Entry::File {
                content,
                is_executable: false,
            },
        )
    }

    /// Takes all of another tree.
    ///
    /// # Errors
    /// As of [`Self::add`].
    pub fn join(&mut self, other: Self) -> Result<(), ImageError> {
        for (place, entry) in other.entries {
            self.add(&place, entry)?;
        }
        Ok(())
    }

    #[must_use]
    pub fn get(&self, place: &str) -> Option<&Entry> {
        self.entries.get(place)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Places and what is there, sorted.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries
            .iter()
            .map(|(place, entry)| (place.as_str(), entry))
    }
}

/// A place without a slash in front and without `.`; below `/usr` where Debian has merged it.
pub(crate) fn normal(place: &str) -> Result<String, ImageError> {
    let parts: Vec<&str> = place
        .split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .collect();
    let is_refused = |part: &&str| *part == ".." || part.contains('\0');
    if parts.is_empty() || parts.iter().any(is_refused) {
        return Err(ImageError::Place {
            path: place.to_owned(),
        });
    }
    let joined = parts.join("/");
    Ok(match parts.len() > 1 && MERGED.contains(&parts[0]) {
        true => format!("usr/{joined}"),
        false => joined,
    })
}

/// The file or folder to which a place leads in layers of which the last one covers those before it.
pub(crate) fn resolve(trees: &[&Tree], place: &str) -> Option<String> {
    let mut rest: Vec<String> = parts(place);
    rest.reverse();
    let mut whole: Vec<String> = Vec::new();
    let mut links = 0;
    while let Some(part) = rest.pop() {
        if part == ".." {
            whole.pop();
            continue;
        }
        whole.push(part);
        let here = whole.join("/");
        let entry = trees.iter().rev().find_map(|tree| tree.get(&here));
        if let Some(Entry::Link(target)) = entry {
            links += 1;
            if links > LINKS_MAX {
                return None;
            }
            whole.pop();
            if target.starts_with('/') {
                whole.clear();
            }
            rest.extend(parts(target).into_iter().rev());
        }
    }
    let place = whole.join("/");
    let below = format!("{place}/");
    let is_there = |tree: &&Tree| {
        tree.entries.contains_key(&place)
            || (tree.entries.range(below.clone()..).next())
                .is_some_and(|(next, _)| next.starts_with(&below))
    };
    trees.iter().any(is_there).then_some(place)
}

fn parts(place: &str) -> Vec<String> {
    let parts = place
        .split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .map(str::to_owned);
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::{Entry, Tree, normal, resolve};

    #[test]
    fn places_are_those_of_a_merged_usr() {
        let check = |place: &str, expected: &str| assert_eq!(normal(place).unwrap(), expected);
        check("/bin/sh", "usr/bin/sh");
        check("./lib/x/y.so", "usr/lib/x/y.so");
        check("usr/bin/sh", "usr/bin/sh");
        check("/library//a/./b", "library/a/b");
        for place in ["", "/", "a/../b", "..", "./."] {
            assert!(normal(place).is_err(), "{place}");
        }
    }

    #[test]
    fn a_place_has_one_thing() {
        let mut tree = Tree::default();
        tree.add_text("a/b", "1").unwrap();
        tree.add_text("/a/b", "1").unwrap();
        let error = tree.add_text("a/b", "2").unwrap_err().to_string();
        assert_eq!(error, "the image would have two different things at /a/b");
    }

    #[test]
    fn links_are_followed_through_layers() {
        let mut lower = Tree::merged_usr();
        lower.add_text("usr/lib/x/z.so.1.2", "").unwrap();
        let mut upper = Tree::default();
        let link = |target: &str| Entry::Link(target.to_owned());
        upper.add("lib/x/z.so.1", link("z.so.1.2")).unwrap();
        upper.add("opt/z", link("/lib/x/z.so.1")).unwrap();
        upper.add("opt/up", link("../lib/x")).unwrap();
        upper.add("opt/circle", link("circle")).unwrap();
        let layers = [&lower, &upper];
        let check = |place: &str, expected: Option<&str>| {
            assert_eq!(resolve(&layers, place).as_deref(), expected, "{place}");
        };
        check("opt/z", Some("usr/lib/x/z.so.1.2"));
        check("/opt/up/z.so.1", Some("usr/lib/x/z.so.1.2"));
        check("opt/up", Some("usr/lib/x"));
        check("opt/circle", None);
        check("opt/none", None);
    }
}
