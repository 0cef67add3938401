//! The capacity of the load generator on one host, kept between runs.
//!
//! A file of its own, outside every run folder. It may be removed at any time: the load generator is then calibrated again.

use std::{collections::BTreeMap, fs, io, path::Path};

use serde::{Deserialize, Serialize};

use crate::{Host, private_file};

/// Most bytes of the file: a longer one was not written by waggle.
const FILE_MAX_BYTES: u64 = 1024 * 1024;
/// Shapes kept; if there are more, the oldest are removed.
const SHAPES_MAX: usize = 1_000;
/// Of this file, not of run folders.
const CALIBRATION_FORMAT: u32 = 1;

/// The shapes of load that were calibrated with one version on one host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalibrationFile {
    pub format: u32,
    pub waggle_version: String,
    pub host: String,
    pub kernel: String,
    pub cpu_model: String,
    pub cpus: u32,
    /// By what makes up the shape, in words.
    pub shapes: BTreeMap<String, CalibratedShape>,
}

/// One shape of load against the null server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalibratedShape {
    pub cpu_us_per_request: f64,
    /// Of all workers together, with every one of their CPUs full.
    pub requests_per_s: f64,
    /// RFC 3339, UTC.
    pub found_utc: String,
}

impl CalibrationFile {
    /// Nothing known yet.
    #[must_use]
    pub fn empty(waggle_version: &str, host: &Host) -> Self {
        Self {
            format: CALIBRATION_FORMAT,
            waggle_version: waggle_version.to_owned(),
            host: host.name.clone(),
            kernel: host.kernel.clone(),
            cpu_model: host.cpu_model.clone(),
            cpus: host.cpus,
            shapes: BTreeMap::new(),
        }
    }

    /// The shapes in the file for this version on this host. None if the file is missing, damaged or of another version or host:
    /// it can be calibrated again.
    #[must_use]
    pub fn read(path: &Path, waggle_version: &str, host: &Host) -> Self {
        let empty = Self::empty(waggle_version, host);
        let text = private_file::read_file(path, FILE_MAX_BYTES).ok();
        let read = text.and_then(|text| serde_json::from_slice::<Self>(&text).ok());
        read.filter(|read| read.is_of(&empty)).unwrap_or(empty)
    }

    /// Whether everything but the shapes is the same, and every shape has numbers that can be used.
    fn is_of(&self, other: &Self) -> bool {
        let usable = |number: f64| number.is_finite() && number > 0.0;
        let without_shapes = |file: &Self| Self {
            shapes: BTreeMap::new(),
            ..file.clone()
        };
        without_shapes(self) == without_shapes(other)
            && self
                .shapes
                .values()
                .all(|shape| usable(shape.cpu_us_per_request) && usable(shape.requests_per_s))
    }

    /// Writes it in one step, so that another run at the same time reads the old or the new one.
    ///
    /// # Errors
    /// The folder cannot be made or the file not be written.
    pub fn write(&mut self, path: &Path) -> io::Result<()> {
        while self.shapes.len() > SHAPES_MAX {
            let oldest = self
                .shapes
                .iter()
                .min_by(|(_, a), (_, b)| a.found_utc.cmp(&b.found_utc))
                .map(|(name, _)| name.clone());
            self.shapes.remove(&oldest.unwrap_or_default());
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let new_file = path.with_extension(format!("{}.new", std::process::id()));
        fs::write(&new_file, serde_json::to_vec_pretty(self)?)?;
        fs::rename(&new_file, path).inspect_err(|_| {
            // If it cannot be renamed, it is of no use.
            fs::remove_file(&new_file).ok();
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(kernel: &str) -> Host {
        Host {
            name: "host".to_owned(),
            kernel: kernel.to_owned(),
            cpu_model: "a CPU".to_owned(),
            cpus: 2,
            ..Host::default()
        }
    }

    fn shape(cost: f64, day: usize) -> CalibratedShape {
        CalibratedShape {
            cpu_us_per_request: cost,
            requests_per_s: 1e6 / cost,
            found_utc: format!("2026-01-{day:05}T00:00:00Z"),
        }
    }

    #[test]
    fn what_was_written_is_read_by_the_same_version_on_the_same_host() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cache/calibration.json");
        let check = |version: &str, kernel: &str, expected: usize| {
            let read = CalibrationFile::read(&path, version, &host(kernel));
            assert_eq!(read.shapes.len(), expected, "{version} {kernel}");
        };
        check("1", "6.1", 0);
        let mut file = CalibrationFile::empty("1", &host("6.1"));
        file.shapes.insert("a".to_owned(), shape(5.0, 1));
        file.write(&path).unwrap();
        check("1", "6.1", 1);
        check("2", "6.1", 0);
        check("1", "6.2", 0);
        file.shapes.insert("b".to_owned(), shape(-5.0, 1));
        file.write(&path).unwrap();
        check("1", "6.1", 0);
        fs::write(&path, "{").unwrap();
        check("1", "6.1", 0);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn the_oldest_are_removed_if_there_are_too_many() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calibration.json");
        let mut file = CalibrationFile::empty("1", &host("6.1"));
        for day in 0..SHAPES_MAX + 2 {
            file.shapes.insert(format!("{day}"), shape(5.0, day));
        }
        file.write(&path).unwrap();
        let read = CalibrationFile::read(&path, "1", &host("6.1"));
        assert_eq!(read.shapes.len(), SHAPES_MAX);
        assert!(!read.shapes.contains_key("0") && !read.shapes.contains_key("1"));
    }
}
