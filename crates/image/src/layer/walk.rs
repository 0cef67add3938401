//! A folder of this machine, taken into a tree.

use std::{
    fs,
    os::unix::fs::{FileTypeExt, PermissionsExt},
    path::{Component, Path, PathBuf},
};

use super::tree::{Content, Entry, Tree};
use crate::error::ImageError;

/// Most entries of an image.
const ENTRIES_MAX: usize = 1_000_000;
/// Folders within each other.
const DEPTH_MAX: usize = 64;

/// What is done with a link that leads out of the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutsideLink {
    /// It is refused by its name.
    Refused,
    /// The file to which it leads is taken at its place; a folder is refused.
    FileTaken,
    /// It is kept as an absolute link, and the caller gets it.
    Listed,
}

/// A link that leads out of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkOut {
    pub link: PathBuf,
    /// As an absolute path.
    pub target: PathBuf,
}

/// A folder, and what of it is taken.
pub struct Walk<'a> {
    pub folder: &'a Path,
    /// Where it is in the image.
    pub place: &'a str,
    pub outside: OutsideLink,
    /// Whether an entry is left out, by its path in the folder.
    pub is_left_out: &'a dyn Fn(&Path) -> bool,
}

impl Walk<'_> {
    /// Takes the folder, and returns the links that lead out of it.
    ///
    /// # Errors
    /// Something is no file, folder or link; a link leads outside and is refused; something cannot be read.
    pub fn take(&self, tree: &mut Tree) -> Result<Vec<LinkOut>, ImageError> {
        let root = fs::canonicalize(self.folder);
        let root = root.map_err(ImageError::file("find", self.folder))?;
        let mut taken = Taken {
            walk: self,
            root,
            outside: Vec::new(),
            entries: 0,
        };
        taken.level(tree, Path::new(""), 0)?;
        Ok(taken.outside)
    }
}

struct Taken<'a> {
    walk: &'a Walk<'a>,
    /// Without links.
    root: PathBuf,
    outside: Vec<LinkOut>,
    entries: usize,
}

impl Taken<'_> {
    fn level(&mut self, tree: &mut Tree, below: &Path, depth: usize) -> Result<(), ImageError> {
        let folder = self.root.join(below);
        let limit = |limit, path: &Path| ImageError::TooLarge {
            limit,
            path: path.to_path_buf(),
        };
        if depth > DEPTH_MAX {
            return Err(limit("64 folders within each other", &folder));
        }
        tree.add(&self.place(below)?, Entry::Folder { mode: 0o755 })?;
        let entries = fs::read_dir(&folder).map_err(ImageError::file("read", &folder))?;
        for entry in entries {
            let entry = entry.map_err(ImageError::file("read", &folder))?;
            let name = below.join(entry.file_name());
            if (self.walk.is_left_out)(&name) {
                continue;
            }
            self.entries += 1;
            if self.entries > ENTRIES_MAX {
                return Err(limit("a million entries", &entry.path()));
            }
            let kind = entry.file_type();
            let kind = kind.map_err(ImageError::file("read", entry.path()))?;
            if kind.is_dir() {
                self.level(tree, &name, depth + 1)?;
            } else if kind.is_symlink() {
                self.link(tree, &name)?;
            } else if kind.is_file() {
                tree.add(&self.place(&name)?, file(&entry.path())?)?;
            } else {
                let what = kind_name(kind);
                let path = entry.path();
                return Err(ImageError::Kind { path, what });
            }
        }
        Ok(())
    }

    fn link(&mut self, tree: &mut Tree, name: &Path) -> Result<(), ImageError> {
        let (path, place) = (self.root.join(name), self.place(name)?);
        let target = fs::read_link(&path).map_err(ImageError::file("read", &path))?;
        let whole = whole_target(&path, &target);
        if whole.starts_with(&self.root) && target.is_relative() {
            return tree.add(&place, Entry::Link(text(&target)?));
        }
        if let Ok(inner) = whole.strip_prefix(&self.root) {
            let target = format!("/{}", self.place(inner)?.trim_start_matches('/'));
            return tree.add(&place, Entry::Link(target));
        }
        let refusal = || ImageError::Outside {
            path: path.clone(),
            target: target.clone(),
        };
        match self.walk.outside {
            OutsideLink::Refused => Err(refusal()),
            OutsideLink::FileTaken => {
                let real = fs::canonicalize(&path).map_err(ImageError::file("follow", &path))?;
                match real.is_file() {
                    true => tree.add(&place, file(&real)?),
                    false => Err(refusal()),
                }
            }
            OutsideLink::Listed => {
                tree.add(&place, Entry::Link(text(&whole)?))?;
                self.outside.push(LinkOut {
                    link: path,
                    target: whole,
                });
                Ok(())
            }
        }
    }

    fn place(&self, name: &Path) -> Result<String, ImageError> {
        let place = self.walk.place.trim_end_matches('/');
        Ok(match name.as_os_str().is_empty() {
            true => place.to_owned(),
            false => format!("{place}/{}", text(name)?),
        })
    }
}

/// A file of this machine.
pub(crate) fn file(path: &Path) -> Result<Entry, ImageError> {
    let metadata = fs::metadata(path).map_err(ImageError::file("read", path))?;
    if !metadata.is_file() {
        let what = kind_name(metadata.file_type());
        let path = path.to_path_buf();
        return Err(ImageError::Kind { path, what });
    }
    Ok(Entry::File {
        content: Content::File(path.to_path_buf()),
        is_executable: metadata.permissions().mode() & 0o111 != 0,
    })
}

/// Where a link leads, without following further ones: `..` is resolved by name.
fn whole_target(link: &Path, target: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    let folder = link.parent().unwrap_or(Path::new("/"));
    for part in folder.join(target).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(whole.pop()),
            part => whole.push(part),
        }
    }
    whole
}

fn text(path: &Path) -> Result<String, ImageError> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| ImageError::Name {
        path: path.to_path_buf(),
    })
}

fn kind_name(kind: fs::FileType) -> &'static str {
    match kind {
        kind if kind.is_socket() => "a socket",
        kind if kind.is_fifo() => "a named pipe",
        kind if kind.is_block_device() || kind.is_char_device() => "a device",
        kind if kind.is_dir() => "a folder",
        _ => "no file",
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink, os::unix::net::UnixListener, path::Path};

    use super::{OutsideLink, Walk};
    use crate::layer::{Entry, Tree};

    fn take(folder: &Path, outside: OutsideLink) -> Result<(Tree, usize), String> {
        let mut tree = Tree::default();
        let walk = Walk {
            folder,
            place: "opt/a",
            outside,
            is_left_out: &|name| name.ends_with("left-out"),
        };
        let links = walk.take(&mut tree).map_err(|why| why.to_string())?;
        Ok((tree, links.len()))
    }

    #[test]
    fn links_stay_inside_or_are_refused_by_name() {
        let around = tempfile::tempdir().unwrap();
        let folder = around.path().join("a");
        fs::create_dir_all(folder.join("sub")).unwrap();
        fs::write(folder.join("sub/file"), "x").unwrap();
        fs::write(folder.join("left-out"), "x").unwrap();
        symlink("sub/file", folder.join("inside")).unwrap();
        symlink(folder.join("sub"), folder.join("absolute")).unwrap();
        let (tree, _) = take(&folder, OutsideLink::Refused).unwrap();
        let link = |place: &str| match tree.get(place) {
            Some(Entry::Link(target)) => target.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(link("opt/a/inside"), "sub/file");
        assert_eq!(link("opt/a/absolute"), "/opt/a/sub");
        assert!(tree.get("opt/a/left-out").is_none());
        fs::write(around.path().join("other"), "y").unwrap();
        symlink("../other", folder.join("out")).unwrap();
        let refused = take(&folder, OutsideLink::Refused).unwrap_err();
        assert!(refused.contains("a/out leads to ../other"), "{refused}");
        let (tree, _) = take(&folder, OutsideLink::FileTaken).unwrap();
        assert!(matches!(tree.get("opt/a/out"), Some(Entry::File { .. })));
        let (_, links) = take(&folder, OutsideLink::Listed).unwrap();
        assert_eq!(links, 1);
        symlink("..", folder.join("up")).unwrap();
        let refused = take(&folder, OutsideLink::FileTaken).unwrap_err();
        assert!(refused.contains("a/up leads to .."), "{refused}");
    }

    #[test]
    fn sockets_are_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let _listener = UnixListener::bind(folder.path().join("control")).unwrap();
        let refused = take(folder.path(), OutsideLink::Refused).unwrap_err();
        assert!(refused.contains("control is a socket"), "{refused}");
    }
}
