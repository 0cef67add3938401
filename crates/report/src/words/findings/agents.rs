//! Sentences about agents on other hosts.

use waggle_stats::{AgentFinding, NthAgent};

use crate::words::format::{self, Unit, count};

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
    }
}

fn name(agent: &NthAgent) -> String {
    format!("agent {} of {} ({})", agent.number, agent.of, agent.name)
}
