//! Packages of Debian as trees. Their files come by apt-get, have to have a digest that this crate knows, and are kept in a folder that is
//! named after the list of digests.

use std::{
    ffi::OsStr,
    fs,
    io::Read,
    path::{Path, PathBuf},
    time::Duration,
};

use tar::{Archive, EntryType};

use super::commands::{Call, output};
use crate::{
    digest::sha256,
    error::ImageError,
    layer::{Content, Entry, Tree, normal},
};

/// The digests of Debian's packages.
const PINNED: &str = include_str!("packages.sha256");
/// With it, a package is taken that the list does not have: apt-get has checked its signature.
const ACCEPT_SIGNED: &str = "WAGGLE_ACCEPT_SIGNED";
const DOWNLOAD_AT_MOST: Duration = Duration::from_secs(300);
const UNPACK_AT_MOST: Duration = Duration::from_secs(60);
/// Most bytes of one file of a package.
const FILE_MAX_BYTES: u64 = 256 << 20;

/// A package that is there as a file.
pub(super) struct Package {
    /// `libc6_2.36-9+deb12u14_amd64.deb`.
    pub(super) name: String,
    file: PathBuf,
}

/// The files of packages, from the folder or from Debian.
pub(super) async fn packages(names: &[&str], cache: &Path) -> Result<Vec<Package>, ImageError> {
    let folder = cache.join(format!("debian-{}", &sha256(PINNED.as_bytes())[..8]));
    fs::create_dir_all(&folder).map_err(ImageError::file("create", &folder))?;
    let mut there = files(&folder)?;
    let missing: Vec<&str> = names
        .iter()
        .copied()
        .filter(|name| package(&there, name).is_none())
        .collect();
    if !missing.is_empty() {
        download(&missing, &folder).await?;
        there = files(&folder)?;
    }
    let mut packages = Vec::new();
    for name in names {
        let file = package(&there, name).ok_or_else(|| ImageError::Failed {
            program: "apt-get",
            said: format!("it brought no package {name}"),
        })?;
        check(&file, &text(&file), is_signed_accepted())?;
        packages.push(Package {
            name: text(&file),
            file,
        });
    }
    Ok(packages)
}

/// The digests that this crate has.
pub(super) fn list_digest() -> String {
    sha256(PINNED.as_bytes())
}

fn is_signed_accepted() -> bool {
    std::env::var_os(ACCEPT_SIGNED).is_some_and(|value| !value.is_empty())
}

/// The file of a package: that of the list first.
fn package(files: &[PathBuf], name: &str) -> Option<PathBuf> {
    let start = format!("{name}_");
    let mut files = files.iter().filter(|file| text(file).starts_with(&start));
    files.next().cloned()
}

fn text(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, ImageError> {
    let entries = fs::read_dir(folder).map_err(ImageError::file("read", folder))?;
    let mut files = Vec::new();
    for entry in entries {
        files.push(entry.map_err(ImageError::file("read", folder))?.path());
    }
    files.sort();
    Ok(files)
}

/// Brings packages into a folder, whole or not at all.
async fn download(names: &[&str], folder: &Path) -> Result<(), ImageError> {
    let work = tempfile::Builder::new()
        .prefix(".part.")
        .tempdir_in(folder)
        .map_err(ImageError::file("write", folder))?;
    if let Err(problem) = apt_get_download(names, work.path()).await {
        // Lists that are missing or old are brought up to date by one who may.
        if !matches!(problem, ImageError::Failed { .. }) || !is_root() {
            return Err(add_hint(problem));
        }
        let update = ["update", "--quiet", "--quiet"].map(OsStr::new);
        call_apt_get(&update, work.path()).await?;
        apt_get_download(names, work.path()).await?;
    }
    for file in files(work.path())? {
        check(&file, &text(&file), is_signed_accepted())?;
        let target = folder.join(text(&file));
        fs::rename(&file, &target).map_err(ImageError::file("move", &file))?;
    }
    Ok(())
}

fn is_root() -> bool {
    fs::metadata("/proc/self")
        .is_ok_and(|process| std::os::unix::fs::MetadataExt::uid(&process) == 0)
}

fn add_hint(problem: ImageError) -> ImageError {
    match problem {
        ImageError::Failed { program, said } => ImageError::Failed {
            program,
            said: format!("{said}; `apt-get update`, as root, brings its lists up to date"),
        },
        other => other,
    }
}

async fn apt_get_download(names: &[&str], folder: &Path) -> Result<(), ImageError> {
    let options = [
        "download",
        "--quiet",
        "--quiet",
        "-o",
        "APT::Sandbox::User=root",
    ];
    let arguments: Vec<&OsStr> = options.iter().chain(names).map(OsStr::new).collect();
    call_apt_get(&arguments, folder).await
}

async fn call_apt_get(arguments: &[&OsStr], folder: &Path) -> Result<(), ImageError> {
    let call = Call {
        program: "apt-get",
        arguments,
        folder,
        limit: DOWNLOAD_AT_MOST,
    };
    output(call).await.map(drop)
}

/// Whether a file has the digest of the list.
fn check(file: &Path, name: &str, is_signed_accepted: bool) -> Result<(), ImageError> {
    let bytes = fs::read(file).map_err(ImageError::file("read", file))?;
    let is = sha256(&bytes);
    let lines = PINNED.lines().filter_map(|line| line.split_once("  "));
    let mut expected = lines.filter(|(_, known)| *known == name);
    match expected.next() {
        Some((expected, _)) if expected == is => Ok(()),
        Some((expected, _)) => Err(ImageError::Digest {
            file: name.to_owned(),
            is,
            expected: expected.to_owned(),
        }),
        None if is_signed_accepted => Ok(()),
        None => Err(ImageError::Unpinned {
            file: name.to_owned(),
            hint: format!(
                "its SHA-256 digest is {is}. {ACCEPT_SIGNED}=1 takes packages whose signature apt-get has checked"
            ),
        }),
    }
}

/// What a package puts where. Pages of manuals and translations are left out.
pub(super) async fn unpack(package: &Package, tree: &mut Tree) -> Result<(), ImageError> {
    let arguments = ["--fsys-tarfile".as_ref(), package.file.as_os_str()];
    let archive = output(Call {
        program: "dpkg-deb",
        arguments: &arguments,
        folder: Path::new("/"),
        limit: UNPACK_AT_MOST,
    });
    let archive = archive.await?;
    let problem = |problem| ImageError::file("read", &package.file)(problem);
    let mut archive = Archive::new(archive.as_slice());
    for entry in archive.entries().map_err(problem)? {
        let mut entry = entry.map_err(problem)?;
        let place = entry.path().map_err(problem)?.display().to_string();
        let is_top = place.trim_matches(['.', '/']).is_empty();
        if is_top || !super::installed::is_wanted(Path::new(&place)) {
            continue;
        }
        let mode = entry.header().mode().map_err(problem)?;
        let link = entry.link_name().map_err(problem)?;
        let link = link.map(|link| link.display().to_string());
        let added = match entry.header().entry_type() {
            EntryType::Directory => Entry::Folder {
                mode: mode & 0o1777,
            },
            EntryType::Symlink => Entry::Link(link.unwrap_or_default()),
            EntryType::Regular => {
                let mut bytes = Vec::new();
                let mut from = entry.by_ref().take(FILE_MAX_BYTES);
                from.read_to_end(&mut bytes).map_err(problem)?;
                Entry::File {
                    content: Content::Bytes(bytes),
                    is_executable: mode & 0o111 != 0,
                }
            }
            EntryType::Link => {
                let target = normal(&link.unwrap_or_default())?;
                let target = tree.get(&target).cloned();
                target.ok_or_else(|| ImageError::Place {
                    path: place.clone(),
                })?
            }
            _ => {
                return Err(ImageError::Kind {
                    path: PathBuf::from(place),
                    what: "no file, folder or link of a package",
                });
            }
        };
        tree.add(&place, added)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn packages_need_a_known_digest() {
        let folder = tempfile::tempdir().unwrap();
        let message = |name: &str, is_accepted: bool| {
            let file = folder.path().join(name);
            std::fs::write(&file, "no package").unwrap();
            check(&file, name, is_accepted).map_err(|why| why.to_string())
        };
        let changed = message("netbase_6.4_all.deb", true).unwrap_err();
        assert!(changed.contains("29b23c48c0fe is expected") || changed.contains("is expected"));
        let unknown = message("netbase_7_all.deb", false).unwrap_err();
        assert!(unknown.contains("no digest of it is known"), "{unknown}");
        assert_eq!(message("netbase_7_all.deb", true), Ok(()));
    }
}
