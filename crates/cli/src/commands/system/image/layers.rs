//! The layers of a system's image, what changes rarely first: the base, programs of this machine, each artifact, and then the system's
//! folder with waggle.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use waggle_image::{
    Entry, ImageConfig, Installed, Layer, OutsideLink, Runtime, Tree, Walk, base_layer,
};
use waggle_spec::{IMAGE_CONTENTS_FILE, IMAGE_CONTENTS_FORMAT, ImageContents};
use waggle_study::{Artifact, System};
use waggle_system::{FetchedArtifact, Fetching, NeededFiles, needed_files};

use super::levels::configurations;
use crate::{
    arguments::SystemImage,
    commands::image::{
        Made, PROGRAMS_FOLDER, base_cache, image_config, licence, place_image, program_entry,
    },
    inputs::{artifacts::fetch_locations, systems::system_named, trust::Trust},
    output,
    process::{exit::Exit, folders},
};

/// Where fetched artifacts are in an image, each in a folder with its version.
const ARTIFACTS_PLACE: &str = "/opt/waggle/servers";
/// Where the folder of the system is.
const SYSTEM_PLACE: &str = "/opt/waggle/system";
const WAGGLE: &str = "waggle";
const JAVA_HOME: &str = "JAVA_HOME";
/// Compiled Python, which has the times of its sources in it.
const COMPILED: &str = "__pycache__";

pub(super) fn run(arguments: &SystemImage) -> Result<Exit> {
    let named = &arguments.configured;
    let trust = Trust::new(&named.of.trust.folders)?;
    let (system, folder) = system_named(&named.of.system, &trust)?;
    let configurations = configurations(&system, &named.levels)?;
    let fetching = fetch_locations(&folder, &trust)?;
    let needed = needed_files(&system, &configurations, &fetching)?;
    check_missing(&system, &needed.missing, arguments.skip_missing)?;
    let gathering = Gathering {
        system: &system,
        fetching: &fetching,
        needed: &needed,
    };
    place_image(&arguments.to, async || gathering.image().await)
}

fn check_missing(system: &System, missing: &[Artifact], is_skipped: bool) -> Result<()> {
    let names = missing
        .iter()
        .map(|artifact| format!("{} {}", artifact.name, artifact.version));
    let names = names.collect::<Vec<_>>().join(", ");
    if missing.is_empty() {
        return Ok(());
    }
    if is_skipped {
        output::print_progress(&format!("left out, because not fetched: {names}"));
        return Ok(());
    }
    bail!(
        "not fetched: {names}; `waggle system fetch {}` does that, levels of parameters choose what is needed, and --skip-missing leaves them out",
        system.name
    )
}

struct Gathering<'a> {
    system: &'a System,
    fetching: &'a Fetching,
    needed: &'a NeededFiles,
}

impl Gathering<'_> {
    async fn image(&self) -> Result<Made> {
        let base = base_layer(true, &base_cache()?).await?;
        let java_home = self.java_home();
        let mut runtime = Runtime::new(&base.tree, Installed::read().await?, java_home.clone());
        let mut artifacts = Vec::new();
        for fetched in &self.needed.fetched {
            artifacts.push(self.artifact(fetched, &mut runtime).await?);
        }
        let last = self.last_layer(&mut runtime).await?;
        for program in &runtime.alone {
            output::print_progress(&format!(
                "{}: taken with its libraries alone; what else belongs to it is not known",
                program.display()
            ));
        }
        let runtime = runtime.layer();
        let mut layers = vec![base];
        layers.push(runtime);
        layers.extend(artifacts);
        layers.push(last);
        let version = env!("CARGO_PKG_VERSION");
        Ok(Made {
            config: self.config(java_home.as_deref()),
            layers,
            name: format!("localhost/waggle/{}:{version}", self.system.name),
        })
    }

    fn config(&self, java_home: Option<&Path>) -> ImageConfig {
        let title = format!("waggle: {}", self.system.name);
        let mut config = image_config(WAGGLE, &title, &self.system.summary);
        config.working_folder = "/tmp".to_owned();
        if let Some(home) = java_home {
            config
                .environment
                .push(format!("{JAVA_HOME}={}", home.display()));
        }
        config
    }

    /// Where JAVA_HOME leads, if a component gets it.
    fn java_home(&self) -> Option<PathBuf> {
        if !self.needed.variables.contains(JAVA_HOME) {
            return None;
        }
        let home = std::env::var_os(JAVA_HOME).filter(|home| !home.is_empty())?;
        fs::canonicalize(home).ok()
    }

    async fn artifact(
        &self,
        fetched: &FetchedArtifact,
        runtime: &mut Runtime<'_>,
    ) -> Result<Layer> {
        let FetchedArtifact { artifact, folder } = fetched;
        let place = place_of_artifact(artifact);
        let mut tree = Tree::default();
        let walk = Walk {
            folder,
            place: &place,
            outside: OutsideLink::Listed,
            is_left_out: &|name| name.ends_with(COMPILED),
        };
        let cache = folders::cache().unwrap_or_default();
        for out in walk.take(&mut tree)? {
            runtime.add_target(&out, &cache).await?;
        }
        let scripts = format!("{}/bin/", place.trim_start_matches('/'));
        for (place, entry) in tree.iter() {
            if place.starts_with(&scripts) {
                let added = runtime.add_needs(entry, &artifact.requires).await;
                added.with_context(|| format!("{} cannot be taken along", artifact.name))?;
            }
        }
        Ok(Layer {
            tree,
            source: format!("artifact {} {}", artifact.name, artifact.version),
        })
    }

    /// The folder of the system, waggle, the programs beside it, and what the image says about itself.
    async fn last_layer(&self, runtime: &mut Runtime<'_>) -> Result<Layer> {
        let mut tree = Tree::default();
        let folder = fs::canonicalize(&self.fetching.system_folder);
        let folder = folder.context("cannot find the folder of the system")?;
        self.take_system_folder(&folder, &mut tree)?;
        let scripts: Vec<Entry> = tree.iter().map(|(_, entry)| entry.clone()).collect();
        for script in scripts.iter().filter(|entry| is_executable(entry)) {
            runtime.add_needs(script, &[]).await?;
        }
        let waggle = format!("{PROGRAMS_FOLDER}/{WAGGLE}");
        tree.add(&waggle, program_entry(self.fetching.supervisor.clone()))?;
        let mut programs = BTreeMap::new();
        for (name, path) in &self.needed.programs {
            let place = if let Some(place) = place_in_system(path, &folder) {
                place
            } else if self.is_beside_waggle(path) {
                let place = Path::new(PROGRAMS_FOLDER).join(name);
                if name != WAGGLE {
                    tree.add(&place.to_string_lossy(), program_entry(path.clone()))?;
                }
                place
            } else {
                let added = runtime.add(path).await;
                added.with_context(|| format!("{name} cannot be taken along"))?
            };
            programs.insert(name.clone(), place);
        }
        for fetched in &self.needed.fetched {
            let bin = Path::new(&place_of_artifact(&fetched.artifact)).join("bin");
            let names = fetched.artifact.programs.iter();
            programs.extend(names.map(|name| (name.clone(), bin.join(name))));
        }
        let text = serde_json::to_string_pretty(&self.contents(programs));
        let text = text.context("cannot write what the image has")?;
        tree.add_text(IMAGE_CONTENTS_FILE, text + "\n")?;
        let (place, text) = licence();
        tree.add_text(place, text)?;
        let version = env!("CARGO_PKG_VERSION");
        Ok(Layer {
            tree,
            source: format!("system {}, waggle {version}", self.system.name),
        })
    }

    fn take_system_folder(&self, folder: &Path, tree: &mut Tree) -> Result<()> {
        let artifacts = self.system.artifacts.iter();
        let fetch_folders: Vec<PathBuf> = artifacts.filter_map(fetch_folder).collect();
        let walk = Walk {
            folder,
            place: SYSTEM_PLACE,
            outside: OutsideLink::FileTaken,
            is_left_out: &|name| {
                name.ends_with(COMPILED) || fetch_folders.iter().any(|fetch| name == fetch)
            },
        };
        walk.take(tree)?;
        Ok(())
    }

    fn is_beside_waggle(&self, program: &Path) -> bool {
        let folder = program
            .parent()
            .and_then(|folder| fs::canonicalize(folder).ok());
        let mut known = self.fetching.program_folders.iter();
        known.any(|known| fs::canonicalize(known).ok() == folder)
    }

    fn contents(&self, programs: BTreeMap<String, PathBuf>) -> ImageContents {
        let artifacts = self.needed.fetched.iter().map(|fetched| {
            let Artifact { name, version, .. } = &fetched.artifact;
            (name.clone(), version.clone())
        });
        let left_out = self.needed.missing.iter();
        ImageContents {
            format: IMAGE_CONTENTS_FORMAT,
            waggle: Path::new(PROGRAMS_FOLDER).join(WAGGLE),
            waggle_version: env!("CARGO_PKG_VERSION").to_owned(),
            system: self.system.name.clone(),
            system_folder: PathBuf::from(SYSTEM_PLACE),
            programs,
            artifacts: artifacts.collect(),
            left_out: left_out.map(|artifact| artifact.name.clone()).collect(),
        }
    }
}

fn is_executable(entry: &Entry) -> bool {
    matches!(
        entry,
        Entry::File {
            is_executable: true,
            ..
        }
    )
}

fn place_of_artifact(artifact: &Artifact) -> String {
    format!("{ARTIFACTS_PLACE}/{}-{}", artifact.name, artifact.version)
}

/// Where a program of the system's folder is.
fn place_in_system(program: &Path, folder: &Path) -> Option<PathBuf> {
    let above = fs::canonicalize(program.parent()?).ok()?;
    let below = above.strip_prefix(folder).ok()?;
    Some(
        Path::new(SYSTEM_PLACE)
            .join(below)
            .join(program.file_name()?),
    )
}

/// The folder of scripts that fetch: an image has no use for them.
fn fetch_folder(artifact: &Artifact) -> Option<PathBuf> {
    let folder = Path::new(&artifact.fetch).parent()?;
    (!folder.as_os_str().is_empty()).then(|| folder.to_path_buf())
}
