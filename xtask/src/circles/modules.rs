//! The modules of a crate with the names in them, and which file defines a path.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::{Attribute, Ident, Item, Meta, UseTree};

/// Texts by the paths of their files.
pub(crate) type Sources = BTreeMap<String, String>;

/// A module in the tree.
pub(crate) type ModuleId = usize;

/// The modules below one root file. Those of tests are left out.
pub(crate) struct Tree {
    pub(crate) modules: Vec<Module>,
}

pub(crate) struct Module {
    pub(crate) file: String,
    parent: Option<ModuleId>,
    names: BTreeMap<String, Name>,
    /// Paths of glob imports.
    globs: Vec<Vec<String>>,
    /// Its items, without submodules in files and without tests.
    pub(crate) items: Vec<Item>,
}

enum Name {
    /// Defined here.
    Item,
    Module(ModuleId),
    /// Imported by `use`.
    Path(Vec<String>),
}

/// What a path means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    Module(ModuleId),
    /// Something that this module defines.
    Item(ModuleId),
}

/// Names that are being resolved, each in its module, so that a cycle ends.
type Pending = BTreeSet<(ModuleId, String)>;

impl Tree {
    /// The tree below a root file.
    pub(crate) fn read(root: &str, sources: &Sources) -> Result<Self, syn::Error> {
        let mut tree = Self {
            modules: Vec::new(),
        };
        let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
        let module_path = ModulePath {
            file: root,
            folder,
            parent: None,
        };
        let items = parse(root, sources)?;
        tree.add(module_path, items, sources)?;
        Ok(tree)
    }

    fn add(
        &mut self,
        module_path: ModulePath<'_>,
        items: Vec<Item>,
        sources: &Sources,
    ) -> Result<ModuleId, syn::Error> {
        let id = self.modules.len();
        self.modules.push(Module {
            file: module_path.file.to_owned(),
            parent: module_path.parent,
            names: BTreeMap::new(),
            globs: Vec::new(),
            items: Vec::new(),
        });
        for item in items {
            if is_test(attributes(&item)) {
                continue;
            }
            match item {
                Item::Mod(module) => {
                    let name = module.ident.to_string();
                    if let Some(child) = self.add_child(id, module_path, module, sources)? {
                        self.modules[id].names.insert(name, Name::Module(child));
                    }
                    continue;
                }
                Item::Use(ref import) => {
                    for taken in flatten(&import.tree) {
                        match taken.name {
                            Some(name) => {
                                let path = Name::Path(taken.path);
                                self.modules[id].names.insert(name, path);
                            }
                            None => self.modules[id].globs.push(taken.path),
                        }
                    }
                }
                ref other => {
                    if let Some(name) = defined_name(other) {
                        let names = &mut self.modules[id].names;
                        names.entry(name.to_string()).or_insert(Name::Item);
                    }
                }
            }
            self.modules[id].items.push(item);
        }
        Ok(id)
    }

    /// The module that `mod` declares; nothing if its file does not exist, which the compiler would refuse.
    fn add_child(
        &mut self,
        parent: ModuleId,
        module_path: ModulePath<'_>,
        module: syn::ItemMod,
        sources: &Sources,
    ) -> Result<Option<ModuleId>, syn::Error> {
        let folder = match module_path.folder {
            "" => module.ident.to_string(),
            folder => format!("{folder}/{}", module.ident),
        };
        if let Some((_, items)) = module.content {
            let module_path = ModulePath {
                file: module_path.file,
                folder: &folder,
                parent: Some(parent),
            };
            return self.add(module_path, items, sources).map(Some);
        }
        let files = [format!("{folder}.rs"), format!("{folder}/mod.rs")];
        let Some(file) = files.iter().find(|file| sources.contains_key(*file)) else {
            return Ok(None);
        };
        let module_path = ModulePath {
            file,
            folder: &folder,
            parent: Some(parent),
        };
        let items = parse(file, sources)?;
        self.add(module_path, items, sources).map(Some)
    }

    /// What a path means in a module; nothing if it leads out of the crate.
    pub(crate) fn resolve(&self, from: ModuleId, path: &[String]) -> Option<Meaning> {
        self.resolve_in(from, path, &mut Pending::new())
    }

    fn resolve_in(
        &self,
        from: ModuleId,
        path: &[String],
        pending: &mut Pending,
    ) -> Option<Meaning> {
        let (first, mut rest) = path.split_first()?;
        let mut scope = match first.as_str() {
            "crate" => 0,
            "self" => from,
            "super" => self.modules[from].parent?,
            name => match self.lookup(from, name, pending)? {
                Meaning::Module(module) => module,
                item @ Meaning::Item(_) => return Some(item),
            },
        };
        while let Some((name, more)) = rest.split_first() {
            if name == "super" {
                scope = self.modules[scope].parent?;
            } else {
                match self.lookup(scope, name, pending) {
                    Some(Meaning::Module(module)) => scope = module,
                    Some(item) => return Some(item),
                    // Defined by a macro there.
                    None => return Some(Meaning::Item(scope)),
                }
            }
            rest = more;
        }
        Some(Meaning::Module(scope))
    }

    fn lookup(&self, module: ModuleId, name: &str, pending: &mut Pending) -> Option<Meaning> {
        let scope = &self.modules[module];
        let path = match scope.names.get(name) {
            Some(Name::Item) => return Some(Meaning::Item(module)),
            Some(Name::Module(child)) => return Some(Meaning::Module(*child)),
            // `use serde;` names a crate, not itself.
            Some(Name::Path(path)) if path[0] == name => return None,
            Some(Name::Path(path)) => Some(path),
            None => None,
        };
        let asked = (module, name.to_owned());
        if !pending.insert(asked.clone()) {
            return None;
        }
        let meaning = match path {
            Some(path) => self.resolve_in(module, path, pending),
            None => scope.globs.iter().find_map(|path| {
                match self.resolve_in(module, path, pending)? {
                    Meaning::Module(taken) => self.lookup(taken, name, pending),
                    Meaning::Item(_) => None,
                }
            }),
        };
        pending.remove(&asked);
        meaning
    }
}

/// The location of a module: its file, and the folder of its submodules.
#[derive(Clone, Copy)]
struct ModulePath<'a> {
    file: &'a str,
    folder: &'a str,
    parent: Option<ModuleId>,
}

fn parse(file: &str, sources: &Sources) -> Result<Vec<Item>, syn::Error> {
    let text = sources.get(file).map_or("", String::as_str);
    syn::parse_file(text)
        .map(|parsed| parsed.items)
        .map_err(|error| syn::Error::new(error.span(), format!("{file}: {error}")))
}

/// A name that `use` imports; without one it is a glob.
pub(crate) struct Taken {
    pub(crate) name: Option<String>,
    pub(crate) path: Vec<String>,
}

/// Each path of a `use` by itself.
pub(crate) fn flatten(tree: &UseTree) -> Vec<Taken> {
    let mut taken = Vec::new();
    flatten_below(Vec::new(), tree, &mut taken);
    taken
}

fn flatten_below(mut before: Vec<String>, tree: &UseTree, taken: &mut Vec<Taken>) {
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten_below(before, &path.tree, taken);
        }
        UseTree::Name(name) => taken.push(import(before, &name.ident, &name.ident)),
        UseTree::Rename(name) => taken.push(import(before, &name.ident, &name.rename)),
        UseTree::Glob(_) => taken.push(Taken {
            name: None,
            path: before,
        }),
        UseTree::Group(group) => {
            for tree in &group.items {
                flatten_below(before.clone(), tree, taken);
            }
        }
    }
}

fn import(mut path: Vec<String>, ident: &Ident, name: &Ident) -> Taken {
    // `use a::{self}` takes in a.
    if ident != "self" || path.is_empty() {
        path.push(ident.to_string());
    }
    let name = match name.to_string() {
        name if name == "self" => path[path.len() - 1].clone(),
        name => name,
    };
    Taken {
        name: Some(name),
        path,
    }
}

/// The name that an item defines.
fn defined_name(item: &Item) -> Option<&Ident> {
    match item {
        Item::Const(item) => Some(&item.ident),
        Item::Enum(item) => Some(&item.ident),
        Item::Fn(item) => Some(&item.sig.ident),
        Item::Macro(item) => item.ident.as_ref(),
        Item::Static(item) => Some(&item.ident),
        Item::Struct(item) => Some(&item.ident),
        Item::Trait(item) => Some(&item.ident),
        Item::Type(item) => Some(&item.ident),
        Item::Union(item) => Some(&item.ident),
        _ => None,
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// `#[cfg(test)]`, `#[cfg(all(test, …))]`, …: only compiled for tests, or for tests too.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if attribute.path().is_ident("cfg") => names_test(list.tokens.clone()),
        _ => false,
    })
}

fn names_test(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(name) => name == "test",
        TokenTree::Group(group) => names_test(group.stream()),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}
