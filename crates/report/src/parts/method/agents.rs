//! The agents that made the load: their hosts, their clocks and their starts.

use waggle_analysis::Model;
use waggle_results::{AgentHostInfo, AgentInfo};

use crate::words::{
    fact::Fact,
    format::{self, Unit},
};

/// `None`: the load was made on the runner's machine.
pub(crate) fn facts(model: &Model) -> Vec<Fact> {
    let hosts = &model.info.agents;
    if hosts.is_empty() {
        return Vec::new();
    }
    let trials = model.trials.iter();
    let agents: Vec<&AgentInfo> = trials.flat_map(|trial| &trial.info.agents).collect();
    let mut facts = vec![("Agents", hosts_text(hosts))];
    if !agents.is_empty() {
        facts.push(("Clocks of agents", clocks(&agents)));
        facts.extend(starts(model));
    }
    facts
}

fn hosts_text(hosts: &[AgentHostInfo]) -> String {
    let mut machines: Vec<&str> = hosts.iter().map(|host| host.machine.as_str()).collect();
    machines.sort_unstable();
    machines.dedup();
    let each = hosts.iter().map(|host| {
        let quota = host.cpu_quota.map_or_else(String::new, |quota| {
            format!(
                ", at most {} of them at a time",
                format::three_digits(quota)
            )
        });
        let program = match host.is_same_program {
            true => "",
            false => ", of another architecture than the runner",
        };
        format!(
            "{} {} ({} × {}{quota}{program})",
            host.number, host.name, host.cpus, host.cpu_model
        )
    });
    let each: Vec<String> = each.collect();
    let kernels = match (machines.len(), hosts.len()) {
        (1, 1) => String::new(),
        (1, _) => "; all on one kernel".to_owned(),
        (kernels, agents) if kernels == agents => "; each on a kernel of its own".to_owned(),
        (kernels, _) => format!("; on {kernels} kernels"),
    };
    format!("{}{kernels}", each.join(", "))
}

fn clocks(agents: &[&AgentInfo]) -> String {
    let most = |value: fn(&AgentInfo) -> f64| {
        let values = agents.iter().map(|agent| value(agent).abs());
        Unit::Time.show(values.fold(0.0, f64::max) * 1e3)
    };
    let mut text = format!(
        "read before, during and after each load by requests and answers: known to within {} when a load began; instants wrong by at most \
         {}, which delays include",
        most(|agent| agent.offset_bound_ms),
        most(|agent| agent.clock_error_ms)
    );
    // Stamps are in the runner's time, whatever the wall clocks of agents say.
    let wrong = agents
        .iter()
        .filter(|agent| agent.wall_offset_ms.abs() >= WALL_CLOCK_OFF_MS);
    let worst = wrong.max_by(|first, second| {
        first
            .wall_offset_ms
            .abs()
            .total_cmp(&second.wall_offset_ms.abs())
    });
    if let Some(agent) = worst {
        let off = Unit::Time.show(agent.wall_offset_ms.abs() * 1e3);
        let side = if agent.wall_offset_ms > 0.0 {
            "ahead"
        } else {
            "behind"
        };
        text.push_str(&format!(
            "; the wall clock of {} was {off} {side} of the runner's, and nothing was computed with it",
            agent.name
        ));
    }
    text
}

/// From here on the wall clock of an agent is worth a word.
const WALL_CLOCK_OFF_MS: f64 = 1_000.0;

/// How far apart agents sent their first requests, in the worst trial.
fn starts(model: &Model) -> Option<Fact> {
    let spreads = model.trials.iter().filter_map(|trial| {
        let firsts = trial
            .info
            .agents
            .iter()
            .filter_map(|agent| agent.first_sent_ms);
        let firsts: Vec<f64> = firsts.collect();
        let earliest = firsts.iter().copied().reduce(f64::min)?;
        let latest = firsts.iter().copied().reduce(f64::max)?;
        (firsts.len() > 1).then_some(latest - earliest)
    });
    let most = spreads.reduce(f64::max)?;
    let shown = Unit::Time.show(most * 1e3);
    Some((
        "Starts of agents",
        format!(
            "at one instant in the clock of each; first requests at most {shown} apart, by what each had to send first"
        ),
    ))
}
