//! Limits of replicas in `trial.json`: what was applied, by which means, and how often a replica met it.

use serde::{Deserialize, Serialize};

/// The limits of one replica.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitInfo {
    /// `registry-0`.
    pub replica: String,
    /// `None`: as many as the system has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<CpuLimit>,
    /// `None`: as much as there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryLimit>,
    /// Of the measured phase; `None`: there is no limit on CPUs by a cgroup, or the trial did not get that far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttling: Option<ThrottlingInfo>,
}

/// A limit on CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuLimit {
    pub cpus: f64,
    pub by: LimitMeans,
}

/// A limit on memory.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryLimit {
    pub bytes: u64,
    pub by: LimitMeans,
    /// Processes that the kernel killed because of it since the replica was started.
    pub oom_kills: u64,
}

/// How a limit is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitMeans {
    CgroupV1,
    CgroupV2,
    /// So many CPUs to run on.
    Affinity,
    /// The limits of its container in a pod.
    Container,
}

/// How often a replica had used up its CPU time before a period ended, and so waited for the next one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThrottlingInfo {
    /// Periods in which it had something to do.
    pub periods: u64,
    pub throttled_periods: u64,
    /// Time in which threads that could run waited, added up over the CPUs.
    pub throttled_s: f64,
}

#[cfg(test)]
mod tests {
    use super::{CpuLimit, LimitInfo, LimitMeans, MemoryLimit, ThrottlingInfo};

    #[test]
    fn limits_are_written_and_read_back() {
        let check = |info: LimitInfo, text: &str| {
            assert_eq!(serde_json::to_string(&info).unwrap(), text);
            assert_eq!(serde_json::from_str::<LimitInfo>(text).unwrap(), info);
        };
        let cpus = CpuLimit {
            cpus: 2.0,
            by: LimitMeans::Affinity,
        };
        let info = LimitInfo {
            replica: "store-0".to_owned(),
            cpus: Some(cpus),
            ..LimitInfo::default()
        };
        check(
            info.clone(),
            r#"{"replica":"store-0","cpus":{"cpus":2.0,"by":"affinity"}}"#,
        );
        let whole = LimitInfo {
            cpus: Some(CpuLimit {
                cpus: 0.5,
                by: LimitMeans::CgroupV2,
            }),
            memory: Some(MemoryLimit {
                bytes: 1 << 29,
                by: LimitMeans::CgroupV1,
                oom_kills: 1,
            }),
            throttling: Some(ThrottlingInfo {
                periods: 10,
                throttled_periods: 4,
                throttled_s: 0.25,
            }),
            ..info
        };
        check(
            whole,
            concat!(
                r#"{"replica":"store-0","cpus":{"cpus":0.5,"by":"cgroup_v2"},"#,
                r#""memory":{"bytes":536870912,"by":"cgroup_v1","oom_kills":1},"#,
                r#""throttling":{"periods":10,"throttled_periods":4,"throttled_s":0.25}}"#
            ),
        );
    }
}
