//! A program of this machine with all that belongs to it: the packages that it is of, or the folder that it has for itself.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::installed::Installed;
use crate::{
    error::ImageError,
    layer::{Entry, OutsideLink, Tree, Walk, file, interpreter},
};

/// Folders of programs that many share: what belongs to one of them is not known.
const SHARED: [&str; 3] = ["/", "/usr", "/usr/local"];
/// The same, below the user's home.
const SHARED_AT_HOME: [&str; 3] = ["", ".local", ".cargo"];
/// Where programs are found by their name.
const ON_PATH: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];
/// What of a folder of Python is of the machine's user, and what is made again.
const PACKAGES_OF_USER: &str = "site-packages";
const LEFT_OUT: [&str; 7] = [
    "__pycache__",
    "include",
    "jmods",
    "src.zip",
    "demo",
    "man",
    PACKAGES_OF_USER,
];

/// A program with what belongs to it.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) tree: Tree,
    /// Packages with their versions, or a folder.
    pub(super) sources: Vec<String>,
    /// Where it is, without links.
    pub(super) path: PathBuf,
    /// Nothing but the file and its libraries is known to belong to it.
    pub(super) is_alone: bool,
}

/// Takes a program along, at the same place.
///
/// # Errors
/// It is a script that is not of a package, or something of it cannot be read.
pub(super) async fn take_program(
    program: &Path,
    installed: Option<&Installed>,
) -> Result<Program, ImageError> {
    let real = fs::canonicalize(program).map_err(ImageError::file("find", program))?;
    let owner = match installed {
        Some(installed) => installed.owner(&real).await?,
        None => None,
    };
    let mut taken = match (owner, installed) {
        (Some(package), Some(installed)) => {
            let owned = installed.files(&package).await?;
            Program {
                tree: owned.tree,
                sources: owned.packages,
                path: real.clone(),
                is_alone: false,
            }
        }
        _ => take_unowned(program, &real)?,
    };
    link_to(&mut taken.tree, program, &real)?;
    Ok(taken)
}

fn take_unowned(program: &Path, real: &Path) -> Result<Program, ImageError> {
    let entry = file(real)?;
    let prefix = own_folder(real);
    if interpreter(&entry).is_some() && prefix.is_none_or(|prefix| is_shims(prefix, real)) {
        return Err(ImageError::NotTaken {
            program: program.to_path_buf(),
            why: "it is a script that is of no package, and what it starts is not known; put the program itself first on PATH"
                .to_owned(),
        });
    }
    let mut tree = Tree::default();
    let place = real.to_string_lossy();
    let Some(prefix) = prefix else {
        tree.add(&place, entry)?;
        return Ok(Program {
            tree,
            sources: vec![place.into_owned()],
            path: real.to_path_buf(),
            is_alone: true,
        });
    };
    let walk = Walk {
        folder: prefix,
        place: &prefix.to_string_lossy(),
        // Java links to the authorities that the machine trusts.
        outside: OutsideLink::FileTaken,
        is_left_out: &|name| LEFT_OUT.iter().any(|left_out| name.ends_with(left_out)),
    };
    walk.take(&mut tree)?;
    Ok(Program {
        tree,
        sources: vec![prefix.display().to_string()],
        path: real.to_path_buf(),
        is_alone: false,
    })
}

/// The folder above `bin` that a program has for itself and its libraries.
fn own_folder(real: &Path) -> Option<&Path> {
    let bin = real.parent()?;
    let folder = bin.parent()?;
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let is_home = |below: &&str| {
        home.as_ref()
            .is_some_and(|home| folder == home.join(below.trim_start_matches('/')))
    };
    let is_shared = SHARED.iter().any(|shared| folder == Path::new(shared))
        || SHARED_AT_HOME.iter().any(is_home);
    let has_libraries = ["lib", "share", "libexec"]
        .iter()
        .any(|name| folder.join(name).is_dir());
    (bin.ends_with("bin") && !is_shared && has_libraries).then_some(folder)
}

/// Whether a program is one of those by which a manager of versions chooses another.
fn is_shims(prefix: &Path, real: &Path) -> bool {
    prefix.join("shims").is_dir()
        || real
            .parent()
            .is_some_and(|folder| folder.ends_with("shims"))
}

/// Links at which the program is found by its name.
fn link_to(tree: &mut Tree, program: &Path, real: &Path) -> Result<(), ImageError> {
    let target = Entry::Link(real.to_string_lossy().into_owned());
    if program != real && tree.get(&super::place(program)?).is_none() {
        tree.add(&program.to_string_lossy(), target.clone())?;
    }
    let folder = program.parent().unwrap_or(Path::new("/"));
    let is_found = ON_PATH.iter().any(|known| folder == Path::new(known));
    if let (false, Some(name)) = (is_found, program.file_name()) {
        let place = format!("{}/{}", ON_PATH[0], name.to_string_lossy());
        tree.add(&place, target)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{PermissionsExt, symlink},
        path::Path,
    };

    use super::{own_folder, take_program};
    use crate::layer::{Content, Entry};

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.build().unwrap().block_on(future)
    }

    #[test]
    fn programs_have_a_folder_or_share_it() {
        let around = tempfile::tempdir().unwrap();
        let bin = around.path().join("tool/bin");
        fs::create_dir_all(&bin).unwrap();
        let program = bin.join("tool");
        assert_eq!(own_folder(&program), None);
        fs::create_dir(around.path().join("tool/lib")).unwrap();
        assert_eq!(
            own_folder(&program),
            Some(around.path().join("tool").as_path())
        );
        for shared in ["/usr/local/bin/x", "/usr/bin/x", "/bin/x"] {
            assert_eq!(own_folder(Path::new(shared)), None, "{shared}");
        }
    }

    #[test]
    fn a_script_alone_is_refused_and_a_folder_is_taken() {
        let around = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(around.path()).unwrap();
        let bin = root.join("tool/bin");
        fs::create_dir_all(&bin).unwrap();
        let program = bin.join("tool");
        fs::write(&program, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let refused = block_on(take_program(&program, None)).unwrap_err();
        assert!(refused.to_string().contains("bin/tool: it is a script"));
        fs::create_dir_all(root.join("tool/lib/__pycache__")).unwrap();
        fs::write(root.join("authorities"), "a\n").unwrap();
        symlink("../../authorities", root.join("tool/lib/authorities")).unwrap();
        let taken = block_on(take_program(&program, None)).unwrap();
        let place = program.to_string_lossy();
        assert!(taken.tree.get(place.trim_start_matches('/')).is_some());
        let target = Entry::Link(place.clone().into_owned());
        assert_eq!(taken.tree.get("usr/local/bin/tool"), Some(&target));
        let authorities = root.join("tool/lib/authorities");
        let authorities = authorities.to_str().unwrap().trim_start_matches('/');
        let content = Content::File(root.join("authorities"));
        let is_executable = false;
        let expected = Entry::File {
            content,
            is_executable,
        };
        assert_eq!(taken.tree.get(authorities), Some(&expected));
        let has_cache = taken
            .tree
            .iter()
            .any(|(place, _)| place.contains("__pycache__"));
        assert!(!has_cache);
    }
}
