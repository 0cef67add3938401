//! A tree as a compressed archive. The same files make the same bytes: sorted, of root, of one time.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, BufWriter, Read, Write},
    path::{Path, PathBuf},
};

use flate2::{Compression, GzBuilder, write::GzEncoder};
use tar::{Builder, EntryType, Header};

use super::{
    Layer,
    tree::{Content, Entry},
};
use crate::{
    digest::{Digesting, Passed},
    error::ImageError,
    stop::Stop,
};

/// A middle between size and time.
const COMPRESSION: u32 = 6;
/// Most bytes of a layer before it is compressed.
const LAYER_MAX_BYTES: u64 = 16 << 30;

/// A layer as a file.
#[derive(Debug, Clone)]
pub(crate) struct PackedLayer {
    pub(crate) file: PathBuf,
    pub(crate) compressed: Passed,
    /// The digest of the archive before it was compressed.
    pub(crate) diff_id: String,
    pub(crate) source: String,
}

type Archive = Builder<Digesting<GzEncoder<Digesting<BufWriter<File>>>>>;

/// Writes a layer into a file.
///
/// # Errors
/// A file cannot be read or written, or has changed meanwhile.
pub(crate) fn pack(
    layer: &Layer,
    file: &Path,
    time: u64,
    stop: &Stop,
) -> Result<PackedLayer, ImageError> {
    let problem = |problem| ImageError::file("write", file)(problem);
    let to = File::create(file).map_err(problem)?;
    let compressed = Digesting::new(BufWriter::new(to));
    let encoder = GzBuilder::new()
        .mtime(0)
        .write(compressed, Compression::new(COMPRESSION));
    let mut archive = Builder::new(Digesting::new(encoder));
    let mut packing = Packing {
        time,
        size: 0,
        folders: BTreeSet::new(),
    };
    for (place, entry) in layer.tree.iter() {
        stop.check()?;
        packing.append(&mut archive, place, entry)?;
    }
    let (whole, encoder) = archive.into_inner().map_err(problem)?.finish();
    let (compressed, mut to) = encoder.finish().map_err(problem)?.finish();
    to.flush().map_err(problem)?;
    Ok(PackedLayer {
        file: file.to_path_buf(),
        compressed,
        diff_id: whole.sha256,
        source: layer.source.clone(),
    })
}

struct Packing {
    time: u64,
    /// Bytes of files so far.
    size: u64,
    /// Those that are in the archive.
    folders: BTreeSet<String>,
}

impl Packing {
    fn append(
        &mut self,
        archive: &mut Archive,
        place: &str,
        entry: &Entry,
    ) -> Result<(), ImageError> {
        self.append_folders_above(archive, place)?;
        let to_place = |problem| ImageError::file("pack", Path::new("/").join(place))(problem);
        match entry {
            Entry::Folder { mode } => self.append_folder(archive, place, *mode),
            Entry::Link(target) => {
                let mut header = self.header(EntryType::Symlink, 0o777, 0);
                let appended = archive.append_link(&mut header, place, target);
                appended.map_err(to_place)
            }
            Entry::File {
                content,
                is_executable,
            } => {
                let mode = if *is_executable { 0o755 } else { 0o644 };
                match content {
                    Content::Bytes(bytes) => {
                        let size = bytes.len() as u64;
                        let mut header = self.header(EntryType::Regular, mode, size);
                        let appended = archive.append_data(&mut header, place, bytes.as_slice());
                        appended.map_err(to_place)
                    }
                    Content::File(path) => self.append_file(archive, place, path, mode),
                }
            }
        }
    }

    fn append_folders_above(
        &mut self,
        archive: &mut Archive,
        place: &str,
    ) -> Result<(), ImageError> {
        let slashes: Vec<usize> = place.match_indices('/').map(|(index, _)| index).collect();
        for slash in slashes {
            self.append_folder(archive, &place[..slash], 0o755)?;
        }
        Ok(())
    }

    fn append_folder(
        &mut self,
        archive: &mut Archive,
        place: &str,
        mode: u32,
    ) -> Result<(), ImageError> {
        if !self.folders.insert(place.to_owned()) {
            return Ok(());
        }
        let mut header = self.header(EntryType::Directory, mode, 0);
        let name = format!("{place}/");
        let appended = archive.append_data(&mut header, name, io::empty());
        appended.map_err(ImageError::file("pack", Path::new("/").join(place)))
    }

    fn append_file(
        &mut self,
        archive: &mut Archive,
        place: &str,
        path: &Path,
        mode: u32,
    ) -> Result<(), ImageError> {
        let file = File::open(path).map_err(ImageError::file("read", path))?;
        let size = file.metadata().map_err(ImageError::file("read", path))?;
        let size = size.len();
        self.size = self.size.saturating_add(size);
        if self.size > LAYER_MAX_BYTES {
            return Err(ImageError::TooLarge {
                limit: "16 GiB in a layer",
                path: path.to_path_buf(),
            });
        }
        let mut header = self.header(EntryType::Regular, mode, size);
        let mut rest = Counted {
            from: file.take(size),
            count: 0,
        };
        let appended = archive.append_data(&mut header, place, &mut rest);
        appended.map_err(ImageError::file("pack", path))?;
        match rest.count == size {
            true => Ok(()),
            false => Err(ImageError::Changed {
                path: path.to_path_buf(),
            }),
        }
    }

    fn header(&self, kind: EntryType, mode: u32, size: u64) -> Header {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_size(size);
        header.set_mtime(self.time);
        header.set_uid(0);
        header.set_gid(0);
        header
    }
}

/// Counts what is read.
struct Counted<R> {
    from: R,
    count: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(bytes)?;
        self.count += count as u64;
        Ok(count)
    }
}
