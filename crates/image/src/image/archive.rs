//! An image as one archive: the layout of OCI, and beside it what `docker load` reads. `ctr image import` and skopeo take the first.

use std::{
    fs::File,
    io::{BufReader, BufWriter, Read, Write},
    path::{Path, PathBuf},
};

use tar::{Builder, EntryType, Header};

use super::{
    Image,
    documents::{docker_text, index_text},
};
use crate::{digest::sha256, error::ImageError, stop::Stop};

const LAYOUT: &str = r#"{"imageLayoutVersion":"1.0.0"}"#;

/// Writes an image, under its name `REPOSITORY:TAG`, into a file: beside its place, and then it is renamed.
///
/// # Errors
/// A file cannot be read or written.
pub fn write_archive(
    image: &Image,
    name: &str,
    output: &Path,
    stop: &Stop,
) -> Result<(), ImageError> {
    let folder = match output.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    };
    let problem = |problem| ImageError::file("write", output)(problem);
    let part = tempfile::Builder::new()
        .prefix(".image.part.")
        .tempfile_in(folder)
        .map_err(problem)?;
    let mut archive = Builder::new(BufWriter::new(part.as_file()));
    let writing = Writing { image, output };
    writing.append_all(&mut archive, name, stop)?;
    let mut to = archive.into_inner().map_err(problem)?;
    to.flush().map_err(problem)?;
    drop(to);
    part.as_file().sync_all().map_err(problem)?;
    let kept = part.persist(output);
    let file = kept.map_err(|why| problem(why.error))?;
    // As any other file that is written: those who may read the folder may read it.
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    file.set_permissions(mode).map_err(problem)
}

struct Writing<'a> {
    image: &'a Image,
    output: &'a Path,
}

impl Writing<'_> {
    fn append_all(
        &self,
        archive: &mut Builder<impl Write>,
        name: &str,
        stop: &Stop,
    ) -> Result<(), ImageError> {
        let Image {
            layers,
            config,
            manifest,
            ..
        } = self.image;
        let tag = name.rsplit(':').next().unwrap_or_default();
        let blob = |digest: &str| format!("blobs/sha256/{digest}");
        let config_name = blob(&sha256(config));
        let mut layer_names: Vec<String> = Vec::new();
        for layer in layers {
            stop.check()?;
            let name = blob(&layer.compressed.sha256);
            if !layer_names.contains(&name) {
                let file = File::open(&layer.file);
                let file = file.map_err(ImageError::file("read", &layer.file))?;
                self.append(archive, &name, layer.compressed.size, BufReader::new(file))?;
            }
            layer_names.push(name);
        }
        for (name, text) in [
            (config_name.clone(), config.clone()),
            (blob(&sha256(manifest)), manifest.clone()),
            ("index.json".to_owned(), index_text(manifest, name, tag)),
            (
                "manifest.json".to_owned(),
                docker_text(&config_name, &layer_names, name),
            ),
            ("oci-layout".to_owned(), LAYOUT.as_bytes().to_vec()),
        ] {
            self.append(archive, &name, text.len() as u64, text.as_slice())?;
        }
        Ok(())
    }

    fn append(
        &self,
        archive: &mut Builder<impl Write>,
        name: &str,
        size: u64,
        from: impl Read,
    ) -> Result<(), ImageError> {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(0o644);
        header.set_size(size);
        header.set_mtime(self.image.time);
        header.set_uid(0);
        header.set_gid(0);
        let appended = archive.append_data(&mut header, name, from);
        appended.map_err(ImageError::file("write", self.output))
    }
}
