//! Limits of components made real: by a cgroup for each replica, by CPU affinity, or refused with the reason.

mod cgroup_places;
mod counters;
mod replica_group;
#[cfg(test)]
mod tests;

use std::{fs, path::Path};

use waggle_results::{CpuLimit, LimitInfo, LimitMeans, MemoryLimit};
use waggle_study::Limits;
use waggle_units::format_size;

use self::cgroup_places::Cgroups;
pub use self::{
    counters::{ContainerCounters, Throttled},
    replica_group::Group,
};
use crate::host::cpus;

/// Where cgroups are mounted.
pub const CGROUPS: &str = "/sys/fs/cgroup";
/// What the user can do where no cgroup can be made.
const REMEDY: &str = "a machine with cgroups that waggle may use: run it as root, or with systemd-run --user --scope -p Delegate=yes waggle";

/// Finds means for limits.
#[derive(Debug, Clone)]
pub struct Limiter {
    cgroups: Cgroups,
    /// The CPUs of a system that is not pinned.
    allowed: Vec<usize>,
}

/// The limits of one replica, and how they are kept.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReplicaLimits {
    pub group: Option<Group>,
    /// The only CPUs that it may use; `None`: those of the system.
    pub cpus: Option<Vec<usize>>,
    cpu: Option<CpuLimit>,
    memory: Option<(u64, LimitMeans)>,
}

/// Why limits cannot be kept on this machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}; it takes {REMEDY}")]
pub struct NoMeans {
    why: String,
}

impl Limiter {
    /// With the cgroups at this mount point.
    pub fn find(mounted: &Path) -> Self {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        Self {
            cgroups: Cgroups::find(mounted, &groups),
            allowed: cpus::allowed_cpus(),
        }
    }

    /// Of a system without limits: nothing is searched or tried.
    pub fn without_limits() -> Self {
        Self {
            cgroups: Cgroups::unknown(),
            allowed: Vec::new(),
        }
    }

    /// How the limits of one replica are kept if the system has these CPUs; none: any CPU.
    pub fn apply(
        &self,
        limits: Limits,
        number: u32,
        system: &[usize],
    ) -> Result<ReplicaLimits, NoMeans> {
        let system = if system.is_empty() {
            &self.allowed
        } else {
            system
        };
        let mut applied = ReplicaLimits {
            group: self.cgroups.group(limits),
            ..ReplicaLimits::default()
        };
        if let Some(cpus) = limits.cpus {
            let by = match &self.cgroups.cpu {
                Ok(place) => place.version.means(),
                Err(why) => {
                    applied.cpus = Some(affinity(cpus, number, system).ok_or_else(|| NoMeans {
                        why: format!(
                            "{cpus} CPUs: {why}, and without a cgroup a limit is a whole number of CPUs"
                        ),
                    })?);
                    LimitMeans::Affinity
                }
            };
            applied.cpu = Some(CpuLimit { cpus, by });
        }
        if let Some(bytes) = limits.memory {
            let by = self
                .cgroups
                .memory
                .as_ref()
                .map(|place| place.version.means());
            let by = by.map_err(|why| NoMeans {
                why: format!("{} of memory: {why}", format_size(bytes)),
            })?;
            applied.memory = Some((bytes, by));
        }
        Ok(applied)
    }
}

/// So many CPUs of the system, other ones for each replica as far as they suffice; `None`: the limit is not a whole number.
fn affinity(cpus: f64, number: u32, system: &[usize]) -> Option<Vec<usize>> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a limit is from 0.01 to 1024"
    )]
    let count = cpus as usize;
    #[expect(clippy::cast_precision_loss, reason = "it is at most 1024")]
    let is_whole = count > 0 && count as f64 == cpus;
    let first = number as usize * count;
    let ring = (0..count.min(system.len())).map(|turn| system[(first + turn) % system.len()]);
    is_whole.then(|| ring.collect())
}

impl ReplicaLimits {
    /// Kept by the container in which the replica is.
    pub fn of_container(limits: Limits) -> Self {
        let by = LimitMeans::Container;
        Self {
            cpu: limits.cpus.map(|cpus| CpuLimit { cpus, by }),
            memory: limits.memory.map(|bytes| (bytes, by)),
            ..Self::default()
        }
    }

    /// Whether there is any limit.
    pub fn is_some(&self) -> bool {
        self.cpu.is_some() || self.memory.is_some()
    }

    /// For the result of a trial, without what was measured.
    pub fn info(&self, replica: &str, oom_kills: u64) -> LimitInfo {
        LimitInfo {
            replica: replica.to_owned(),
            cpus: self.cpu,
            memory: self.memory.map(|(bytes, by)| MemoryLimit {
                bytes,
                by,
                oom_kills,
            }),
            throttling: None,
        }
    }
}

/// How a replica ended that had lost processes to its limit on memory.
pub fn out_of_memory(how: &str, limit: u64) -> String {
    format!("{how} (out of memory: its limit is {})", format_size(limit))
}
