//! Where cgroups can be made on this machine, and the group that limits one replica: version 1 and version 2 of the interface.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use waggle_results::LimitMeans;
use waggle_study::Limits;

use super::replica_group::{Group, PROCESSES, REMOVALS_MAX, Setting, remove_folder};
use crate::host::owner::Owner;

/// The beginning of the names of all groups that waggle makes: `waggle-OWNER-NUMBER`.
const PREFIX: &str = "waggle-";
/// The length of the period in which a replica has its CPU time, in µs: the kernel's default.
const PERIOD_US: f64 = 100_000.0;

/// Where groups can be made; `Err`: why not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cgroups {
    pub(super) cpu: Result<Place, String>,
    pub(super) memory: Result<Place, String>,
}

/// A folder below which groups can be made for a controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) version: Version,
    folder: PathBuf,
    /// The group of this process.
    home: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    V1,
    V2,
}

impl Version {
    pub(super) fn means(self) -> LimitMeans {
        match self {
            Self::V1 => LimitMeans::CgroupV1,
            Self::V2 => LimitMeans::CgroupV2,
        }
    }
}

impl Cgroups {
    /// `mounted` is the mount point of cgroups, `groups` is `/proc/self/cgroup`: one line per hierarchy, `ID:CONTROLLERS:PATH`,
    /// without controllers in version 2. Groups that an earlier run could not remove are removed.
    pub(super) fn find(mounted: &Path, groups: &str) -> Self {
        let cpu = find_place(mounted, groups, "cpu");
        let memory = find_place(mounted, groups, "memory");
        let (cpu, memory) = in_same_folder(cpu, memory);
        Self { cpu, memory }
    }

    pub(super) fn unknown() -> Self {
        let why = || Err("no limit was prepared".to_owned());
        Self {
            cpu: why(),
            memory: why(),
        }
    }

    /// A new group with those of the limits that a controller can keep; `None` if there are none.
    pub(super) fn group(&self, limits: Limits) -> Option<Group> {
        let name = new_name();
        let mut group = Group::default();
        if let (Some(cpus), Ok(place)) = (limits.cpus, &self.cpu) {
            let folder = place.folder.join(&name);
            group
                .settings
                .extend(cpu_settings(place.version, &folder, cpus));
            group.cpu = Some(folder.clone());
            group.add(folder, &place.home);
        }
        if let (Some(bytes), Ok(place)) = (limits.memory, &self.memory) {
            let folder = place.folder.join(&name);
            group
                .settings
                .extend(memory_settings(place.version, &folder, bytes));
            group.memory = Some((folder.clone(), bytes));
            group.add(folder, &place.home);
        }
        (!group.folders.is_empty()).then_some(group)
    }
}

fn new_name() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    match Owner::of_this_process() {
        Some(owner) => format!("{PREFIX}{owner}-{number}"),
        // Nobody knows later whose it is, so nobody removes it.
        None => format!("{PREFIX}process-{}-{number}", std::process::id()),
    }
}

/// In version 2 a process is in one group, so one folder must do for both controllers. Each group hands down no more controllers
/// than the groups above it, so the upper of the two does.
fn in_same_folder(
    cpu: Result<Place, String>,
    memory: Result<Place, String>,
) -> (Result<Place, String>, Result<Place, String>) {
    match (cpu, memory) {
        (Ok(cpu), Ok(memory)) if cpu.version == Version::V2 && memory.version == Version::V2 => {
            let depth = |place: &Place| place.folder.components().count();
            let upper = if depth(&cpu) < depth(&memory) {
                cpu
            } else {
                memory
            };
            (Ok(upper.clone()), Ok(upper))
        }
        both => both,
    }
}

impl Group {
    /// Both controllers may have the same folder.
    fn add(&mut self, folder: PathBuf, home: &Path) {
        if !self.folders.contains(&folder) {
            self.folders.push(folder);
            self.home.push(home.to_path_buf());
        }
    }
}

/// Where a controller keeps its groups. Those that an earlier run could not remove are removed.
fn find_place(mounted: &Path, groups: &str, controller: &str) -> Result<Place, String> {
    let place = place_v1(mounted, groups, controller)
        .or_else(|| place_v2(mounted, groups, controller))
        .unwrap_or_else(|| {
            Err(format!(
                "no cgroup controller {controller} is at {}",
                mounted.display()
            ))
        });
    if let Ok(place) = &place {
        remove_left_over(&place.folder);
    }
    place
}

fn cpu_settings(version: Version, folder: &Path, cpus: f64) -> Vec<Setting> {
    let quota = (cpus * PERIOD_US).round();
    match version {
        Version::V1 => vec![
            setting(folder, "cpu.cfs_period_us", PERIOD_US.to_string()),
            setting(folder, "cpu.cfs_quota_us", quota.to_string()),
        ],
        Version::V2 => vec![setting(folder, "cpu.max", format!("{quota} {PERIOD_US}"))],
    }
}

/// Swap would hide the limit, so none is allowed. Version 1 limits the sum of both, after memory alone.
fn memory_settings(version: Version, folder: &Path, bytes: u64) -> Vec<Setting> {
    let optional = |name: &str, text: String| Setting {
        is_optional: true,
        ..setting(folder, name, text)
    };
    match version {
        Version::V1 => vec![
            setting(folder, "memory.limit_in_bytes", bytes.to_string()),
            optional("memory.memsw.limit_in_bytes", bytes.to_string()),
        ],
        Version::V2 => vec![
            setting(folder, "memory.max", bytes.to_string()),
            optional("memory.swap.max", "0".to_owned()),
        ],
    }
}

fn setting(folder: &Path, name: &str, text: String) -> Setting {
    Setting {
        file: folder.join(name),
        text,
        is_optional: false,
    }
}

/// In version 1 each controller has a hierarchy of its own, and the group of this process hands it down.
fn place_v1(mounted: &Path, groups: &str, controller: &str) -> Option<Result<Place, String>> {
    let lines = groups.lines().map(|line| line.splitn(3, ':').skip(1));
    let (controllers, path) = lines
        .filter_map(|mut parts| Some((parts.next()?, parts.next()?)))
        .find(|(controllers, _)| controllers.split(',').any(|name| name == controller))?;
    let roots = [mounted.join(controllers), mounted.join(controller)];
    let root = roots.into_iter().find(|root| root.is_dir())?;
    // In a container the group's own folder may be mounted there, whatever its path.
    let group_folder = root.join(path.trim_start_matches('/'));
    let home = if group_folder.is_dir() {
        group_folder
    } else {
        root
    };
    let place = Place {
        version: Version::V1,
        folder: home.clone(),
        home,
    };
    Some(place.check())
}

/// In version 2 there is one hierarchy. A group hands controllers down if it has no processes itself, so the nearest one above this
/// process is taken that does.
fn place_v2(mounted: &Path, groups: &str, controller: &str) -> Option<Result<Place, String>> {
    if !mounted.join("cgroup.controllers").is_file() {
        return None;
    }
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let path = Path::new(path.trim_start_matches('/'));
    let mut why = format!("no cgroup above this process hands down the controller {controller}");
    for above in path.ancestors() {
        let folder = mounted.join(above);
        let handed_down = fs::read_to_string(folder.join("cgroup.subtree_control"));
        let handed_down = handed_down.unwrap_or_default();
        if !handed_down
            .split_whitespace()
            .any(|name| name == controller)
        {
            continue;
        }
        let place = Place {
            version: Version::V2,
            folder,
            home: mounted.join(path),
        };
        match place.check() {
            Ok(place) => return Some(Ok(place)),
            Err(problem) => why = problem,
        }
    }
    Some(Err(why))
}

impl Place {
    /// Tries whether a group can be made here and a process moved into it.
    fn check(self) -> Result<Self, String> {
        let cannot = |why: io::Error| {
            let shown = self.folder.display();
            Err(format!("no cgroup can be made in {shown}: {why}"))
        };
        let probe = self.folder.join(new_name());
        if let Err(why) = fs::create_dir(&probe) {
            return cannot(why);
        }
        remove_folder(&probe, 1);
        // Moving a process needs the right to write to the group that both its groups are in.
        for folder in [&self.folder, &self.home] {
            let mut options = fs::File::options();
            if let Err(why) = options.write(true).open(folder.join(PROCESSES)) {
                return cannot(why);
            }
        }
        Ok(self)
    }
}

/// Removes the groups of runs that were killed together with their supervisors; processes in them are killed.
fn remove_left_over(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else {
            continue;
        };
        let owner = rest
            .rsplit_once('-')
            .and_then(|(owner, _)| Owner::parse(owner));
        // The group of a waggle in another container stays.
        if owner.is_some_and(|owner| owner.has_ended()) {
            remove_folder(&entry.path(), REMOVALS_MAX);
        }
    }
}
