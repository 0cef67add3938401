//! What the CPUs did over the measured time of a load, read as its intervals come.

use waggle_results::MachineInfo;
use waggle_runner::cpu_time::{CpuClocks, Ticks};

use crate::trial::phase::Phase;

/// The clocks of CPUs, from the start of a load on. The default knows of none.
#[derive(Debug, Default)]
pub(crate) struct Cpus {
    clocks: Option<CpuClocks>,
    /// At the end of the last interval.
    last: Option<Ticks>,
    /// When the measured time began.
    from: Option<Ticks>,
}

impl Cpus {
    /// The load starts now.
    pub(crate) fn started(clocks: &CpuClocks) -> Self {
        Self {
            clocks: Some(clocks.clone()),
            last: clocks.read(),
            from: None,
        }
    }

    /// An interval has come; what the CPUs did in the measured time up to now, if it is part of that.
    pub(crate) fn interval(&mut self, phase: Phase) -> Option<MachineInfo> {
        let before = self.last;
        self.last = self.clocks.as_ref()?.read();
        if phase != Phase::Measured {
            return None;
        }
        let from = *self.from.get_or_insert(before?);
        self.last?.since(from)
    }
}
