//! The files of its crate from which a file imports: by `use`, and by paths in code, macros and attributes.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::{Item, ItemUse, Macro, MetaList, Path, Visibility, visit::Visit};

use super::{
    Circle,
    modules::{Meaning, ModuleId, Tree, flatten},
};

/// Each file of the tree with the files that it imports from.
pub(crate) fn imports(tree: &Tree) -> Circle {
    let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (id, module) in tree.modules.iter().enumerate() {
        let mut visitor = Paths {
            tree,
            module: id,
            imported: imports.remove(&module.file).unwrap_or_default(),
        };
        for item in &module.items {
            visitor.visit_item(item);
        }
        let mut imported = visitor.imported;
        imported.remove(&module.file);
        imports.insert(module.file.clone(), imported);
    }
    imports
}

/// Collects the files to which the paths of a module lead.
struct Paths<'a> {
    tree: &'a Tree,
    module: ModuleId,
    imported: BTreeSet<String>,
}

impl Paths<'_> {
    /// The module itself is no import: the items used from it are.
    fn note(&mut self, path: &[String]) {
        if let Some(Meaning::Item(module)) = self.tree.resolve(self.module, path) {
            self.imported.insert(self.tree.modules[module].file.clone());
        }
    }

    /// Paths in tokens that are not parsed: in macros and attributes.
    fn note_tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        // Colons since the last name of the path.
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.note(&std::mem::take(&mut path));
                    }
                    path.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Punct(sign) if sign.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => {
                    self.note(&std::mem::take(&mut path));
                    self.note_tokens(group.stream());
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {
                    self.note(&std::mem::take(&mut path));
                }
            }
        }
        self.note(&path);
    }
}

impl<'a> Visit<'a> for Paths<'_> {
    fn visit_item(&mut self, item: &'a Item) {
        // Inner modules have their own paths.
        if !matches!(item, Item::Mod(_)) {
            syn::visit::visit_item(self, item);
        }
    }

    /// A re-export is no import: its users import from the file that defines the name.
    fn visit_item_use(&mut self, item: &'a ItemUse) {
        if matches!(item.vis, Visibility::Inherited) {
            for taken in flatten(&item.tree) {
                self.note(&taken.path);
            }
        }
    }

    fn visit_path(&mut self, path: &'a Path) {
        let names: Vec<String> = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        self.note(&names);
        syn::visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'a Macro) {
        self.note_tokens(call.tokens.clone());
        syn::visit::visit_macro(self, call);
    }

    fn visit_meta_list(&mut self, list: &'a MetaList) {
        self.note_tokens(list.tokens.clone());
        syn::visit::visit_meta_list(self, list);
    }
}
