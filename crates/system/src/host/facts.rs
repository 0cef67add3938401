//! Facts about the machine, for the results.

use std::{env, fs};

use procfs::{Current, Meminfo};
use rustix::process::{Resource, getrlimit};
use waggle_results::Host;

use crate::host::cpus::{self, Shares};

const UNKNOWN: &str = "unknown";
/// The variable with the name of the node, in a pod that waggle makes: its host name is another one each time.
pub const NODE_VARIABLE: &str = "WAGGLE_NODE";

/// The machine that this process runs on, without how a study shares its CPUs.
#[must_use]
pub fn this_host() -> Host {
    host(&Shares::default())
}

/// The machine that this process runs on; with the process driver the system runs on it as well.
#[must_use]
pub fn host(shares: &Shares) -> Host {
    let as_u32 = |cpus: &[usize]| {
        cpus.iter()
            .filter_map(|cpu| u32::try_from(*cpu).ok())
            .collect()
    };
    Host {
        name: env::var(NODE_VARIABLE).unwrap_or_else(|_| line_of("/proc/sys/kernel/hostname")),
        kernel: line_of("/proc/sys/kernel/osrelease"),
        cpu_model: fs::read_to_string("/proc/cpuinfo")
            .map_or_else(|_| UNKNOWN.to_owned(), |text| cpu_model(&text)),
        cpus: u32::try_from(cpus::allowed_cpus().len()).unwrap_or(u32::MAX),
        memory_bytes: Meminfo::current().map_or(0, |memory| memory.mem_total),
        open_files_max: getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX),
        load_cpus: as_u32(&shares.load()),
        system_cpus: as_u32(&shares.system),
        shared_with_system: true,
        idle_poll: false,
    }
}

fn line_of(file: &str) -> String {
    fs::read_to_string(file).map_or_else(|_| UNKNOWN.to_owned(), |text| text.trim().to_owned())
}

/// The first `model name` of `/proc/cpuinfo`. Other architectures have it under another name, after the CPUs, which procfs does
/// not parse.
fn cpu_model(text: &str) -> String {
    let value = |wanted: &str| {
        text.lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(name, _)| name.trim() == wanted)
            .map(|(_, value)| value)
    };
    let model_name = value("model name")
        .or_else(|| value("Model"))
        .or_else(|| value("cpu model"));
    model_name.map_or_else(|| UNKNOWN.to_owned(), |model| model.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::cpu_model;

    #[test]
    fn the_model_of_the_cpus_is_found() {
        assert_eq!(
            cpu_model("processor\t: 0\nmodel name\t: A CPU @ 2 GHz\n"),
            "A CPU @ 2 GHz"
        );
        assert_eq!(cpu_model("processor\t: 0\n"), "unknown");
    }
}
