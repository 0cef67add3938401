//! Whether all programs of an image find their shared libraries in it; those that are missing are added from this machine.
//!
//! A program without a library cannot start, so that is an error. A library that only some program may load (a driver, a module of
//! another architecture in a package of Node.js) is left alone if this machine lacks what it needs, too: it did not work here either.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use super::{
    facts::{Facts, facts},
    machine::{default_folders, library, triplet},
};
use crate::{
    error::ImageError,
    layer::{Content, Entry, Layer, Tree, file, normal, resolve},
};

/// A library that no program needs to start, and that lacks something itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftAlone {
    pub place: String,
    pub why: String,
}

/// What the search came to.
#[derive(Debug, Default)]
pub struct Libraries {
    /// Those that were missing, from this machine.
    pub added: Tree,
    pub left_alone: Vec<LeftAlone>,
}

/// Looks through all layers. What programs lack is returned, to become a layer.
///
/// # Errors
/// A program is for another architecture, lacks a library, or needs a newer one.
pub fn complete_libraries(layers: &[Layer]) -> Result<Libraries, ImageError> {
    let trees: Vec<&Tree> = layers.iter().map(|layer| &layer.tree).collect();
    let mut search = Search::new(trees);
    let mut programs = Vec::new();
    let mut others = Vec::new();
    for (layer, tree) in search.trees.clone().into_iter().enumerate() {
        for (place, entry) in tree.iter() {
            let Some(facts) = facts(entry) else { continue };
            let elf_file = Found {
                layer,
                place: place.to_owned(),
                facts,
            };
            let is_program = elf_file.facts.is_program && is_executable(entry);
            let list = if is_program {
                &mut programs
            } else {
                &mut others
            };
            list.push(elf_file);
        }
    }
    for program in &programs {
        let is = &program.facts.architecture;
        if is != std::env::consts::ARCH {
            return Err(ImageError::Architecture {
                program: program.place.clone(),
                is: is.clone(),
                expected: std::env::consts::ARCH.to_owned(),
            });
        }
        search.complete(program)?;
    }
    let mut left_alone = Vec::new();
    for other in &others {
        let why = match other.facts.architecture == std::env::consts::ARCH {
            true => search.complete(other).err().map(|why| why.to_string()),
            false => Some(format!("it is for {}", other.facts.architecture)),
        };
        let place = other.place.clone();
        left_alone.extend(why.map(|why| LeftAlone { place, why }));
    }
    Ok(Libraries {
        added: search.added,
        left_alone,
    })
}

fn is_executable(entry: &Entry) -> bool {
    matches!(
        entry,
        Entry::File {
            is_executable: true,
            ..
        }
    )
}

struct Found {
    layer: usize,
    place: String,
    facts: Facts,
}

/// The places of each name in a layer.
fn places_by_name(tree: &Tree) -> BTreeMap<&str, Vec<&str>> {
    let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (place, _) in tree.iter() {
        let name = place.rsplit('/').next().unwrap_or(place);
        places.entry(name).or_default().push(place);
    }
    places
}

struct Search<'a> {
    trees: Vec<&'a Tree>,
    /// The places of each name, in each layer.
    names: Vec<BTreeMap<&'a str, Vec<&'a str>>>,
    added: Tree,
    /// Places whose needs are met.
    complete: BTreeSet<String>,
}

impl<'a> Search<'a> {
    fn new(trees: Vec<&'a Tree>) -> Self {
        Self {
            names: trees.iter().map(|tree| places_by_name(tree)).collect(),
            trees,
            added: Tree::default(),
            complete: BTreeSet::new(),
        }
    }

    /// Meets what a program or library needs, with what that needs in turn.
    fn complete(&mut self, start: &Found) -> Result<(), ImageError> {
        // What a library of this machine would bring is only kept if it is whole.
        let mut added = Vec::new();
        let mut waiting = vec![(start.place.clone(), start.facts.clone())];
        let mut seen = BTreeSet::new();
        while let Some((place, facts)) = waiting.pop() {
            if self.complete.contains(&place) || !seen.insert(place.clone()) {
                continue;
            }
            let loader = facts.loader.iter().map(|loader| (loader, true));
            let needed = facts.needed.iter().map(|name| (name, false));
            for (name, is_loader) in loader.chain(needed) {
                let there = match is_loader {
                    true => self.resolve(name),
                    false => self.library_in_image(start.layer, &place, &facts, name),
                };
                let (library, entry) = match there {
                    Some(there) => there,
                    None if is_loader => loader_of_machine(&start.place, name)?,
                    None => library_of_machine(&start.place, name)?,
                };
                let facts_of_library = super::facts(&entry).unwrap_or_default();
                if let Some(version) = missing_version(&facts, name, &facts_of_library) {
                    return Err(ImageError::SymbolVersion {
                        program: place,
                        library: name.clone(),
                        version,
                        provider: library,
                    });
                }
                added.push((library.clone(), entry));
                waiting.push((library, facts_of_library));
            }
        }
        for (place, entry) in added {
            let is_there = |tree: &&Tree| tree.get(&place).is_some();
            if !self.trees.iter().any(is_there) {
                self.added.add(&place, entry)?;
            }
        }
        self.complete.extend(seen);
        Ok(())
    }

    /// What is at a place, behind links.
    fn resolve(&self, place: &str) -> Option<(String, Entry)> {
        let mut trees = self.trees.clone();
        trees.push(&self.added);
        let place = resolve(&trees, place)?;
        let entry = trees.iter().rev().find_map(|tree| tree.get(&place))?;
        Some((place, entry.clone()))
    }

    /// A library where the loader finds it: where the file says, in the loader's folders, or anywhere in the layer of the program that is
    /// started, whose scripts say where, or whose other libraries load it.
    fn library_in_image(
        &self,
        layer: usize,
        place: &str,
        facts: &Facts,
        name: &str,
    ) -> Option<(String, Entry)> {
        if name.contains('/') {
            return self.resolve(name);
        }
        let folder = place.rsplit_once('/').map_or("", |(folder, _)| folder);
        let origin = format!("/{folder}");
        let said = facts.search.iter().map(|text| {
            text.replace("${ORIGIN}", &origin)
                .replace("$ORIGIN", &origin)
        });
        let known = default_folders();
        let known = known.iter().map(|folder| folder.display().to_string());
        let mut folders = said.chain(known);
        let at_place = folders.find_map(|folder| self.resolve(&format!("{folder}/{name}")));
        at_place.or_else(|| {
            let mut places = self.names[layer].get(name)?.iter();
            places.find_map(|place| self.resolve(place))
        })
    }
}

/// The program that loads libraries, at the place that programs say.
fn loader_of_machine(program: &str, name: &str) -> Result<(String, Entry), ImageError> {
    let entry = file(Path::new(name)).map_err(|_| ImageError::Library {
        program: program.to_owned(),
        library: name.to_owned(),
    })?;
    Ok((normal(name)?, entry))
}

fn library_of_machine(program: &str, name: &str) -> Result<(String, Entry), ImageError> {
    let place = format!("usr/lib/{}/{name}", triplet());
    let missing = || ImageError::Library {
        program: program.to_owned(),
        library: name.to_owned(),
    };
    if name.contains('/') {
        return Err(missing());
    }
    let file = library(name).ok_or_else(missing)?;
    let entry = Entry::File {
        content: Content::File(file),
        is_executable: false,
    };
    Ok((place, entry))
}

/// A version of symbols that is asked of a library, and that it has not. One that has no versions is not asked.
fn missing_version(facts: &Facts, name: &str, library: &Facts) -> Option<String> {
    if library.versions.is_empty() {
        return None;
    }
    let mut versions = facts.needed_versions.iter();
    let missing =
        versions.find(|(asked, version)| asked == name && !library.versions.contains(version));
    missing.map(|(_, version)| version.clone())
}
