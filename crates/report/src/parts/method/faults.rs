//! How faults were injected, by what the study has of them.

use waggle_analysis::Model;
use waggle_spec::FaultKind;

use crate::words::fact::Fact;

/// `None` if there was no fault.
pub(super) fn fact(model: &Model) -> Option<Fact> {
    if model.faults.is_empty() {
        return None;
    }
    let faults = || model.faults.iter().flat_map(|cell| &cell.each);
    let has = |kind| faults().any(|fault| fault.kind == kind);
    let mut parts = Vec::new();
    if has(FaultKind::Kill) || faults().next().is_none() {
        parts.push(
            "SIGKILL to the replica and to every process that it had started; restart with the same command, ports, folder, files and \
             CPUs, without its setup; ready by the same check as at the first start",
        );
    }
    if has(FaultKind::Upgrade) {
        parts.push(
            "an upgrade applies what the new parameters change and waits for the rollout; without new parameters it replaces all pods",
        );
    }
    if has(FaultKind::Drain) {
        parts.push(
            "a drain cordons the node and evicts the system's pods from it, within the limits of disruption budgets",
        );
    }
    parts.push(
        "a probe of such a component reads its store again from the beginning, so delivered means visible at the end; steadiness, outages \
         and backlog growth are not judged in such a trial",
    );
    Some(("Fault injection", parts.join("; ")))
}
