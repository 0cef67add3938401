//! Files from and to outside, as tar archives.

use std::{
    fs::{self, File, Metadata},
    io::{self, BufReader, BufWriter, Read, Write},
    os::unix::fs::MetadataExt,
    path::Path,
};

use anyhow::{Context, Result, bail};
use tar::{Archive, Builder, EntryType, Header};
use waggle_results::private_file;

use super::folder::PodFolder;

/// Most bytes of a study with what it names.
pub(in crate::commands::run) const STUDY_MAX_BYTES: u64 = 512 << 20;
/// Folders within each other.
const DEPTH_MAX: usize = 32;
const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;

/// Takes the study, once.
pub(super) fn receive(pod: &PodFolder, from: impl Read) -> Result<()> {
    let partial = pod.path().join("work.partial");
    if pod.work().exists() {
        bail!("the pod has its study already");
    }
    // Of a connection that was lost.
    fs::remove_dir_all(&partial).ok();
    private_file::create_folder(&partial).context("cannot create the folder of the study")?;
    unpack(from.take(STUDY_MAX_BYTES), &partial)?;
    fs::rename(&partial, pod.work()).context("cannot keep the study")
}

/// Writes the folder of the run.
pub(super) fn send(pod: &PodFolder, to: impl Write) -> Result<()> {
    let submission = pod.submission()?;
    let folder = pod.run(&submission);
    let mut archive = Builder::new(BufWriter::new(to));
    // A run that did not begin has none.
    if folder.is_dir() {
        append_tree(
            &mut archive,
            &folder,
            Path::new(&submission.run),
            Links::LeftOut,
        )?;
    }
    append_end(&mut archive)?;
    let written = archive.into_inner().and_then(|mut to| to.flush());
    written.context("cannot send the folder of the run")
}

/// The results are where they are wanted.
pub(super) fn finish(pod: &PodFolder) -> Result<()> {
    private_file::write_file(&pod.is_fetched(), "").context("cannot note that the run was fetched")
}

/// Unpacks files and folders into a folder, which is this process's alone. Nothing is written elsewhere.
pub(in crate::commands::run) fn unpack(from: impl Read, folder: &Path) -> Result<()> {
    let mut archive = Archive::new(BufReader::new(from));
    let problem = "cannot read the archive";
    let mut ended = false;
    for entry in archive.entries().context(problem)? {
        let mut entry = entry.context(problem)?;
        let kind = entry.header().entry_type();
        if !matches!(kind, EntryType::Regular | EntryType::Directory) {
            bail!("the archive has more than files and folders");
        }
        ended |= entry.path_bytes().as_ref() == END.as_bytes();
        let unpacked = entry.unpack_in(folder).context("cannot write a file")?;
        if !unpacked {
            bail!("the archive has a file outside of its folder");
        }
    }
    if !ended {
        bail!("the archive was cut off");
    }
    fs::remove_file(folder.join(END)).context("cannot remove the mark of the archive's end")
}

/// The last file of an archive: one that was cut off between two files looks whole.
const END: &str = ".end-of-archive";

/// What is done with symbolic links in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands::run) enum Links {
    LeftOut,
    #[cfg(feature = "cluster")]
    Followed,
}

/// Adds a folder with all its files and folders; sockets and the like are left out.
pub(in crate::commands::run) fn append_tree(
    archive: &mut Builder<impl Write>,
    folder: &Path,
    name: &Path,
    links: Links,
) -> Result<()> {
    append_level(archive, folder, name, Level { links, depth: 0 })
}

#[derive(Clone, Copy)]
struct Level {
    links: Links,
    depth: usize,
}

/// Ends an archive.
pub(in crate::commands::run) fn append_end(archive: &mut Builder<impl Write>) -> Result<()> {
    append_bytes(archive, Path::new(END), &[])
}

fn append_level(
    archive: &mut Builder<impl Write>,
    folder: &Path,
    name: &Path,
    level: Level,
) -> Result<()> {
    let Level { links, depth } = level;
    if depth > DEPTH_MAX {
        bail!(
            "{} has more than {DEPTH_MAX} folders within each other",
            folder.display()
        );
    }
    let problem = || format!("cannot read {}", folder.display());
    let mut header = header(EntryType::Directory, FOLDER_MODE, 0);
    (archive.append_data(&mut header, name, io::empty())).with_context(problem)?;
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).with_context(problem)? {
        entries.push(entry.with_context(problem)?);
    }
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), name.join(entry.file_name()));
        let kind = match links {
            Links::LeftOut => entry.file_type().with_context(problem)?,
            #[cfg(feature = "cluster")]
            Links::Followed => fs::metadata(&path)
                .with_context(|| format!("cannot read {}", path.display()))?
                .file_type(),
        };
        if kind.is_dir() {
            let depth = depth + 1;
            append_level(archive, &path, &name, Level { links, depth })?;
        } else if kind.is_file() {
            append_file(archive, &path, &name)?;
        }
    }
    Ok(())
}

/// Adds a file.
pub(in crate::commands::run) fn append_file(
    archive: &mut Builder<impl Write>,
    file: &Path,
    name: &Path,
) -> Result<()> {
    let problem = || format!("cannot read {}", file.display());
    let opened = File::open(file).with_context(problem)?;
    let metadata: Metadata = opened.metadata().with_context(problem)?;
    if !metadata.is_file() {
        bail!("{} is no file", file.display());
    }
    let size = metadata.len();
    let mut header = header(EntryType::Regular, FILE_MODE, size);
    header.set_mtime(u64::try_from(metadata.mtime()).unwrap_or_default());
    // A file that grows meanwhile is sent as it was.
    (archive.append_data(&mut header, name, opened.take(size))).with_context(problem)
}

/// Adds a file with this content.
pub(in crate::commands::run) fn append_bytes(
    archive: &mut Builder<impl Write>,
    name: &Path,
    bytes: &[u8],
) -> Result<()> {
    let mut header = header(EntryType::Regular, FILE_MODE, bytes.len() as u64);
    (archive.append_data(&mut header, name, bytes)).context("cannot write the archive")
}

fn header(kind: EntryType, mode: u32, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn archive(folder: &Path) -> Vec<u8> {
        let mut archive = Builder::new(Vec::new());
        append_tree(&mut archive, folder, Path::new("a-1"), Links::LeftOut).unwrap();
        append_end(&mut archive).unwrap();
        archive.into_inner().unwrap()
    }

    #[test]
    fn a_folder_comes_whole_or_not_at_all() {
        let around = tempfile::tempdir().unwrap();
        let folder = around.path().join("a-1");
        let deep = "x".repeat(120);
        fs::create_dir_all(folder.join("trials").join(&deep)).unwrap();
        fs::write(folder.join("run.json"), "{}").unwrap();
        fs::write(folder.join("trials").join(&deep).join(&deep), "long names").unwrap();
        symlink("/etc/passwd", folder.join("link")).unwrap();
        let bytes = archive(&folder);
        let there = around.path().join("there");
        fs::create_dir(&there).unwrap();
        unpack(&bytes[..], &there).unwrap();
        let read = |name: &str| fs::read_to_string(there.join("a-1").join(name)).unwrap();
        assert_eq!(read("run.json"), "{}");
        assert_eq!(read(&format!("trials/{deep}/{deep}")), "long names");
        assert!(!there.join("a-1/link").exists());
        assert!(!there.join(END).exists());
        // At each place between and in files.
        for length in (0..bytes.len()).step_by(256) {
            let cut = around.path().join(format!("cut-{length}"));
            fs::create_dir(&cut).unwrap();
            let unpacked = unpack(&bytes[..length], &cut);
            // Behind the last file there are only zeros.
            let has_all = bytes[length..].iter().all(|byte| *byte == 0);
            assert!(has_all || unpacked.is_err(), "{length}");
        }
    }

    #[test]
    fn nothing_is_written_elsewhere() {
        let around = tempfile::tempdir().unwrap();
        let there = around.path().join("there");
        fs::create_dir(&there).unwrap();
        let mut names = Builder::new(Vec::new());
        let mut bad = header(EntryType::Regular, FILE_MODE, 1);
        bad.as_old_mut().name[..10].copy_from_slice(b"../outside");
        bad.set_cksum();
        names.append(&bad, &b"x"[..]).unwrap();
        let error = unpack(&names.into_inner().unwrap()[..], &there).unwrap_err();
        assert!(
            error.to_string().contains("outside of its folder"),
            "{error}"
        );
        let mut links = Builder::new(Vec::new());
        let mut link = header(EntryType::Symlink, FILE_MODE, 0);
        links.append_link(&mut link, "link", "/etc").unwrap();
        let error = unpack(&links.into_inner().unwrap()[..], &there).unwrap_err();
        assert!(
            error.to_string().contains("more than files and folders"),
            "{error}"
        );
        assert!(!around.path().join("outside").exists());
    }
}
