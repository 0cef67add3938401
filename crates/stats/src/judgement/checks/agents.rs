//! Agents on other hosts: whether each had its CPUs and a node without the system, and whether its clock can be relied on.

use crate::{
    judgement::{
        checks::findings::{Findings, float},
        finding::AgentFinding,
        verdict::Verdict,
    },
    over_time::trial_facts::{Agent, TrialFacts},
};

/// Periods of a cgroup in which it was throttled, as a share of those in which it wanted to run: worth a remark, and too much. A period
/// lasts 100 ms, and what falls due in the rest of a throttled one is late.
const THROTTLED_REMARK: f64 = 0.001;
const THROTTLED_LIMIT: f64 = 0.01;
/// No clock of a machine that works is off by more, in parts per million; one that is being set is.
const DRIFT_LIMIT_PPM: f64 = 500.0;
/// A share of fewer periods says nothing.
const PERIODS_MIN: u64 = 10;

pub(super) fn agents(facts: &TrialFacts<'_>, findings: &mut Findings) {
    for agent in &facts.agents {
        throttling(agent, findings);
        node(agent, findings);
        if facts.ledger.is_some() {
            drift(agent, findings);
        }
    }
}

fn throttling(agent: &Agent, findings: &mut Findings) {
    let Some((throttled, periods)) = agent.throttled else {
        return;
    };
    let share = float(throttled) / float(periods.max(PERIODS_MIN));
    let finding = AgentFinding::Throttled {
        agent: agent.nth.clone(),
        throttled,
        periods,
        limit: THROTTLED_LIMIT,
    };
    if share >= THROTTLED_LIMIT {
        findings.reason(Verdict::InstrumentLimited, finding);
    } else if share >= THROTTLED_REMARK {
        findings.remark(finding);
    }
}

/// As of a load on the machine of the system, it is not known how much it takes from it.
fn node(agent: &Agent, findings: &mut Findings) {
    if !agent.beside.is_empty() {
        findings.remark(AgentFinding::NodeShared {
            agent: agent.nth.clone(),
            with: agent.beside.clone(),
        });
    }
}

/// A drift that is not certain is within what the readings allow. Only delays of records are from one clock to another.
fn drift(agent: &Agent, findings: &mut Findings) {
    if agent.drift_ppm.abs() <= agent.drift_bound_ppm {
        return;
    }
    let finding = AgentFinding::Drift {
        agent: agent.nth.clone(),
        ppm: agent.drift_ppm,
        error_us: agent.clock_error_us,
        limit_ppm: DRIFT_LIMIT_PPM,
    };
    match agent.drift_ppm.abs() - agent.drift_bound_ppm > DRIFT_LIMIT_PPM {
        true => findings.reason(Verdict::InstrumentLimited, finding),
        false => findings.remark(finding),
    }
}

#[cfg(test)]
mod tests {
    use super::agents;
    use crate::{
        judgement::checks::findings::Findings,
        over_time::trial_facts::{Agent, Ledger, NthAgent, TrialFacts},
    };

    fn agent() -> Agent {
        Agent {
            nth: NthAgent {
                number: 2,
                of: 3,
                name: "n2".to_owned(),
            },
            throttled: None,
            clock_error_us: 0.0,
            drift_ppm: 0.0,
            drift_bound_ppm: 0.0,
            beside: Vec::new(),
        }
    }

    /// Numbers of reasons and remarks.
    #[track_caller]
    fn check(agent: Agent, expected: (usize, usize)) {
        check_with(Some(Ledger::default()), agent, expected);
    }

    #[track_caller]
    fn check_with(ledger: Option<Ledger>, agent: Agent, expected: (usize, usize)) {
        let facts = TrialFacts {
            agents: vec![agent],
            ledger,
            ..TrialFacts::default()
        };
        let mut findings = Findings::default();
        agents(&facts, &mut findings);
        assert_eq!((findings.reasons.len(), findings.remarks.len()), expected);
    }

    #[test]
    fn an_agent_without_its_cpu_is_a_limit() {
        let with = |throttled| Agent {
            throttled: Some(throttled),
            ..agent()
        };
        check(agent(), (0, 0));
        check(with((0, 100)), (0, 0));
        check(with((0, 0)), (0, 0));
        check(with((1, 2_000)), (0, 0));
        check(with((4, 2_000)), (0, 1));
        check(with((20, 2_000)), (1, 0));
        check(with((1, 1)), (1, 0));
    }

    #[test]
    fn a_node_with_the_system_is_a_remark() {
        let shared = Agent {
            beside: vec!["shop/shop-0".to_owned()],
            ..agent()
        };
        check_with(None, shared, (0, 1));
    }

    #[test]
    fn a_drift_counts_if_it_is_certain() {
        let with = |drift_ppm, drift_bound_ppm| Agent {
            drift_ppm,
            drift_bound_ppm,
            ..agent()
        };
        check(with(30.0, 40.0), (0, 0));
        check(with(-30.0, 4.0), (0, 1));
        check(with(-900.0, 10.0), (1, 0));
        check(with(600.0, 200.0), (0, 1));
        check(with(900_000.0, 10.0), (1, 0));
        // Times of requests are by one clock.
        check_with(None, with(-900.0, 10.0), (0, 0));
    }
}
