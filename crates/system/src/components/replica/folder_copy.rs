//! The folder of a replica as a stream, to the driver and back: a tar archive in frames, of which the last one is empty. So what breaks
//! off is not taken for the whole, and the end is known without closing the stream.

use std::{
    fs,
    io::{self, Read, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use tar::{Archive, Builder, EntryType, Header};
use tokio::task::{JoinError, spawn_blocking};
use tokio_util::io::SyncIoBridge;
use waggle_results::private_file;

use super::opener::{Errand, Opener, PodState, Streams};
use crate::problem::Problem;

/// Bytes of a frame at most.
const FRAME_MAX: usize = 256 * 1024;
/// What is said once all of a folder is there.
const TAKEN: &str = "taken\n";

/// Copies what is in the folder of a replica that has ended into a folder here. Nothing is there yet.
pub(in crate::components) async fn fetch_folder(
    opener: &dyn Opener,
    replica: &str,
    to: PathBuf,
) -> Result<(), Problem> {
    let Streams { reader, writer } = opener.open(&Errand::Pack(replica.to_owned()));
    let mut reader = SyncIoBridge::new(reader);
    let copied = spawn_blocking(move || read_folder(&mut reader, &to)).await;
    drop(writer);
    explain(copied, opener).await
}

/// Copies a folder here into that of a replica that is not started yet.
pub(in crate::components) async fn send_folder(
    opener: &dyn Opener,
    replica: &str,
    from: PathBuf,
) -> Result<(), Problem> {
    let Streams { reader, writer } = opener.open(&Errand::Unpack(replica.to_owned()));
    let (mut reader, mut writer) = (SyncIoBridge::new(reader), SyncIoBridge::new(writer));
    let copied = spawn_blocking(move || {
        pack(&from, &mut writer)?;
        let mut answer = [0; TAKEN.len()];
        reader.read_exact(&mut answer)
    });
    explain(copied.await, opener).await
}

/// Why a copy failed: what is known of the place says more than a stream that ended.
async fn explain(
    copied: Result<io::Result<()>, JoinError>,
    opener: &dyn Opener,
) -> Result<(), Problem> {
    let Err(why) = copied.unwrap_or_else(|why| Err(io::Error::other(why))) else {
        return Ok(());
    };
    Err(Problem(match opener.look().await {
        PodState::Lost(reason) | PodState::Unknown(Some(reason)) => format!("{why}: {reason}"),
        PodState::Unknown(None) => why.to_string(),
    }))
}

/// Writes what is in the folder of a replica; nothing if there is no such folder.
///
/// # Errors
/// A file cannot be read, or the stream breaks.
pub fn pack(folder: &Path, mut to: impl Write) -> io::Result<()> {
    let mut frames = FrameWriter::new(&mut to);
    let mut archive = Builder::new(&mut frames);
    archive.follow_symlinks(false);
    append(&mut archive, folder)?;
    archive.finish()?;
    drop(archive);
    frames.finish()?;
    to.flush()
}

/// Writes the stream of [`pack`] into the folder of a replica, which is not there yet or empty, and answers when all of it is there.
///
/// # Errors
/// It is not empty, a file cannot be written, the stream breaks off, or something in it is not below the folder.
pub fn unpack(from: impl Read, folder: &Path, mut answer: impl Write) -> io::Result<()> {
    read_folder(from, folder)?;
    answer.write_all(TAKEN.as_bytes())?;
    answer.flush()
}

fn read_folder(mut from: impl Read, folder: &Path) -> io::Result<()> {
    private_file::create_folder(folder)?;
    if fs::read_dir(folder)?.next().is_some() {
        let why = format!("{} is not empty", folder.display());
        return Err(io::Error::other(why));
    }
    let mut frames = FrameReader::new(&mut from);
    let mut archive = Archive::new(&mut frames);
    archive.set_preserve_permissions(true);
    archive.set_overwrite(false);
    for entry in archive.entries()? {
        let mut entry = entry?;
        let kind = entry.header().entry_type();
        if !matches!(
            kind,
            EntryType::Directory | EntryType::Regular | EntryType::Symlink
        ) {
            let why = format!("an entry of type {kind:?} is in the stream");
            return Err(io::Error::other(why));
        }
        if !entry.unpack_in(folder)? {
            let path = entry.path()?;
            let why = format!("{} is not below the folder", path.display());
            return Err(io::Error::other(why));
        }
    }
    frames.expect_end()
}

/// Folders, files and links; sockets and pipes belong to processes.
fn append(archive: &mut Builder<impl Write>, folder: &Path) -> io::Result<()> {
    let mut folders = vec![PathBuf::new()];
    while let Some(next) = folders.pop() {
        let entries = match fs::read_dir(folder.join(&next)) {
            Err(why) if why.kind() == io::ErrorKind::NotFound && next.as_os_str().is_empty() => {
                return Ok(());
            }
            entries => entries?,
        };
        for entry in entries {
            let path = next.join(entry?.file_name());
            let source = folder.join(&path);
            let about = fs::symlink_metadata(&source)?;
            let kind = about.file_type();
            if kind.is_dir() {
                let mut header = Header::new_gnu();
                header.set_metadata(&about);
                // What is in it must be written, too.
                header.set_mode(about.permissions().mode() & 0o7777 | 0o700);
                archive.append_data(&mut header, &path, io::empty())?;
                folders.push(path);
            } else if kind.is_file() || kind.is_symlink() {
                archive.append_path_with_name(&source, &path)?;
            }
        }
    }
    Ok(())
}

/// Writes frames: their lengths as four bytes, then as many bytes.
struct FrameWriter<W> {
    to: W,
    frame: Vec<u8>,
}

impl<W: Write> FrameWriter<W> {
    fn new(to: W) -> Self {
        Self {
            to,
            frame: Vec::with_capacity(FRAME_MAX),
        }
    }

    fn write_frame(&mut self) -> io::Result<()> {
        let length = u32::try_from(self.frame.len()).map_err(io::Error::other)?;
        self.to.write_all(&length.to_le_bytes())?;
        self.to.write_all(&self.frame)?;
        self.frame.clear();
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        if !self.frame.is_empty() {
            self.write_frame()?;
        }
        self.write_frame()
    }
}

impl<W: Write> Write for FrameWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(FRAME_MAX - self.frame.len());
        self.frame.extend_from_slice(&bytes[..taken]);
        if self.frame.len() == FRAME_MAX {
            self.write_frame()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads what [`FrameWriter`] wrote.
struct FrameReader<R> {
    from: R,
    /// Bytes of the frame that are still to be read.
    left: usize,
    is_over: bool,
}

impl<R: Read> FrameReader<R> {
    fn new(from: R) -> Self {
        Self {
            from,
            left: 0,
            is_over: false,
        }
    }

    /// Reads what follows the archive.
    fn expect_end(mut self) -> io::Result<()> {
        io::copy(&mut self, &mut io::sink()).map(drop)
    }
}

impl<R: Read> Read for FrameReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 && !self.is_over {
            let mut length = [0; 4];
            self.from.read_exact(&mut length)?;
            self.left = u32::from_le_bytes(length) as usize;
            self.is_over = self.left == 0;
        }
        if self.is_over || buffer.is_empty() {
            return Ok(0);
        }
        let wanted = buffer.len().min(self.left);
        let length = self.from.read(&mut buffer[..wanted])?;
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= length;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::{
            fs::{PermissionsExt, symlink},
            net::UnixListener,
        },
        path::Path,
    };

    use tempfile::tempdir;

    use super::{FRAME_MAX, FrameWriter, pack, read_folder};

    fn stream_of(folder: &Path) -> Vec<u8> {
        let mut stream = Vec::new();
        pack(folder, &mut stream).unwrap();
        stream
    }

    #[test]
    fn a_folder_comes_back_as_it_was() {
        let (from, to) = (tempdir().unwrap(), tempdir().unwrap());
        let from = from.path();
        fs::create_dir_all(from.join("data/closed")).unwrap();
        let long = vec![7; 3 * FRAME_MAX + 5];
        fs::write(from.join("data/rows"), &long).unwrap();
        fs::write(from.join("data/closed/empty"), "").unwrap();
        let closed = from.join("data/closed");
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
        let rows = from.join("data/rows");
        fs::set_permissions(rows, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("/usr/lib/postgresql", from.join("programs")).unwrap();
        let _socket = UnixListener::bind(from.join("socket")).unwrap();

        let target = to.path().join("store-0");
        read_folder(&*stream_of(from), &target).unwrap();
        assert_eq!(fs::read(target.join("data/rows")).unwrap(), long);
        assert_eq!(fs::read(target.join("data/closed/empty")).unwrap(), b"");
        let link = fs::read_link(target.join("programs")).unwrap();
        assert_eq!(link, Path::new("/usr/lib/postgresql"));
        assert!(!target.join("socket").exists());
        let mode = |name: &str| {
            let about = fs::metadata(target.join(name)).unwrap();
            about.permissions().mode() & 0o777
        };
        assert_eq!((mode("data/closed"), mode("data/rows")), (0o700, 0o640));

        let again = read_folder(&*stream_of(from), &target).unwrap_err();
        assert!(again.to_string().contains("is not empty"), "{again}");
    }

    #[test]
    fn what_breaks_off_is_not_taken_for_the_whole() {
        let from = tempdir().unwrap();
        fs::write(from.path().join("rows"), vec![7; FRAME_MAX]).unwrap();
        let stream = stream_of(from.path());
        for length in [0, 3, 4, 600, FRAME_MAX + 4, stream.len() - 1] {
            let to = tempdir().unwrap();
            let taken = read_folder(&stream[..length], to.path());
            assert!(taken.is_err(), "{length} of {}", stream.len());
        }
    }

    #[test]
    fn nothing_leaves_the_folder() {
        let to = tempdir().unwrap();
        let target = to.path().join("store-0");
        let with_link = |path: &str, link: bool| {
            let mut stream = Vec::new();
            let mut frames = FrameWriter::new(&mut stream);
            let mut archive = tar::Builder::new(&mut frames);
            if link {
                let mut header = tar::Header::new_gnu();
                header.set_entry_type(tar::EntryType::Symlink);
                header.set_size(0);
                archive.append_link(&mut header, "out", to.path()).unwrap();
            }
            let mut header = tar::Header::new_gnu();
            header.set_size(2);
            header.set_mode(0o600);
            // The library refuses to write such a path.
            let name = &mut header.as_gnu_mut().unwrap().name;
            name[..path.len()].copy_from_slice(path.as_bytes());
            header.set_cksum();
            archive.append(&header, &b"no"[..]).unwrap();
            archive.finish().unwrap();
            drop(archive);
            frames.finish().unwrap();
            stream
        };
        for (path, link) in [("../planted", false), ("out/planted", true)] {
            fs::remove_dir_all(&target).ok();
            let taken = read_folder(&*with_link(path, link), &target);
            assert!(taken.is_err(), "{path}");
            assert!(!to.path().join("planted").exists(), "{path}");
        }
    }

    #[test]
    fn a_folder_that_is_not_there_is_empty() {
        let to = tempdir().unwrap();
        let target = to.path().join("store-0");
        read_folder(&*stream_of(&to.path().join("no")), &target).unwrap();
        assert_eq!(fs::read_dir(&target).unwrap().count(), 0);
    }
}
