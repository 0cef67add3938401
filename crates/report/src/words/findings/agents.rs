//! Sentences about agents on other hosts.

use waggle_stats::{AgentFinding, NthAgent};

use crate::words::format::{self, Unit, count};

/// Parts of a system that a sentence names.
const NAMES_MAX: usize = 3;

/// The sentence of a finding.
pub(super) fn sentence(finding: &AgentFinding) -> String {
    match finding {
        AgentFinding::Throttled {
            agent,
            throttled,
            periods,
            limit,
        } => format!(
            "{} was throttled in {} of {} periods of its CPU limit (less than {} allowed): what fell due meanwhile was late; more CPUs for \
             agents help",
            name(agent),
            count(*throttled),
            count(*periods),
            format::set_share(*limit)
        ),
        AgentFinding::Drift {
            agent,
            ppm,
            error_us,
            limit_ppm,
        } => {
            let error = Unit::Time.show(*error_us);
            let drift = format::three_digits(ppm.abs());
            let pace = if *ppm > 0.0 { "fast" } else { "slow" };
            let limit = match ppm.abs() > *limit_ppm {
                true => format!(
                    ", more than {} that clocks of working machines may be off",
                    format::amount(*limit_ppm)
                ),
                false => String::new(),
            };
            format!(
                "the clock of {} was {drift} parts per million {pace}{limit}: its instants are wrong by up to {error}, which delays include",
                name(agent)
            )
        }
        AgentFinding::NodeShared { agent, with } => format!(
            "{} shared its node with the system ({}): load and system take CPU time, memory and network from each other; \
             agents.kubernetes.apart_from keeps them apart",
            name(agent),
            name_list(with)
        ),
    }
}

/// The first ones, and how many more.
fn name_list(names: &[String]) -> String {
    let shown = names.iter().take(NAMES_MAX).map(String::as_str);
    let shown = shown.collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMES_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn name(agent: &NthAgent) -> String {
    format!("agent {} of {} ({})", agent.number, agent.of, agent.name)
}
