//! The part `agents` of a study: hosts that make the load.

use std::{net::SocketAddr, time::Duration};

use schemars::JsonSchema;
use serde::Deserialize;
use waggle_spec::AgentsStarted;

mod kubernetes;
mod names;
pub(crate) mod pods;
pub(crate) mod runner;

use self::{
    kubernetes::{AgentPods, agent_pods},
    names::check_name,
};
use crate::{
    at::{At, Bounds, Key, Place},
    check::Checker,
    raw::{self, DurationText},
    tree::quote,
};

/// Agents: waggle on other hosts, where each makes its share of the load. Either `ssh` or `count` is given, and that with `kubernetes` if
/// pods are agents.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Agents {
    /// How many. Without `kubernetes` they are started by hand, with `waggle agent` and the file that the run writes.
    #[schemars(range(min = 1, max = 1_000))]
    pub count: Key<u32>,
    /// Hosts on which the run starts an agent each by ssh, e.g. `load-1` or `bench@load-2`; a name of ssh's configuration is one, too. No
    /// password is asked for.
    #[schemars(length(min = 1, max = 1_000))]
    pub ssh: Key<Vec<At<String>>>,
    /// With `ssh`: the program there; waggle by default. It must be the same build as here.
    pub program: Key<String>,
    /// With `count`: they are the pods of an Indexed Job.
    pub kubernetes: Key<AgentPods>,
    /// Where the run takes in agents, `ADDRESS:PORT` of this machine. By default a free port of 127.0.0.1, which agents on other hosts
    /// reach only by ssh; of a run within a pod a port of that.
    pub listen: Key<String>,
    /// How agents reach it, each a `HOST` or `HOST:PORT`, tried in order; the address of `listen` by default.
    #[schemars(length(min = 1, max = 10))]
    pub advertise: Key<Vec<At<String>>>,
    /// How long the run waits until all have joined; 5m by default.
    pub wait: Key<DurationText>,
}

const WAIT: Bounds = Bounds(Duration::from_secs(1), Duration::from_secs(24 * 3600));
const WAIT_DEFAULT: Duration = Duration::from_secs(300);
const LISTEN: &str = "ADDRESS:PORT of this machine, e.g. 10.0.0.5:7600, or 127.0.0.1:0";

/// `None`: something in it is wrong, which is reported.
pub(crate) fn agents(
    checker: &mut Checker<'_>,
    given: &At<Agents>,
    study: &raw::Study,
) -> Option<waggle_spec::Agents> {
    let At { place, value: keys } = given;
    refuse_this_machine(checker, place, study);
    let started = agents_started(checker, given);
    let listen = (keys.listen).check(|listen| parse_listen(checker, listen));
    let advertise = keys.advertise.value().map_or_else(Vec::new, Clone::clone);
    let advertise: Vec<Option<String>> = advertise
        .iter()
        .map(|host| {
            check_name(
                checker,
                host,
                "a HOST or HOST:PORT, e.g. runner.example:7600",
            )
        })
        .collect();
    let wait = (keys.wait).check_bounds(WAIT_DEFAULT, WAIT, &mut checker.findings);
    Some(waggle_spec::Agents {
        started: started?,
        listen: listen?,
        advertise: advertise.into_iter().collect::<Option<_>>()?,
        wait: wait?,
    })
}

/// What is about this machine alone cannot be had on other hosts.
fn refuse_this_machine(checker: &mut Checker<'_>, place: &Place, study: &raw::Study) {
    let has_in_load = |key: &str| {
        let load = checker.root().child("load");
        load.is_some_and(|load| load.child(key).is_some())
    };
    let reasons = [
        (
            study.network.is_some(),
            "network: the network of a trial is on this machine",
        ),
        (
            has_in_load("cpuset"),
            "load.cpuset: these are CPUs of this machine",
        ),
        (
            has_in_load("source_addresses"),
            "load.source_addresses: these are addresses of this machine",
        ),
    ];
    for (_, why) in reasons.into_iter().filter(|(is_given, _)| *is_given) {
        let mistake = place.key_mistake(format!("cannot be combined with {why}"));
        checker.report(mistake.with_expected("one of them"));
    }
}

fn agents_started(
    checker: &mut Checker<'_>,
    At { place, value: keys }: &At<Agents>,
) -> Option<AgentsStarted> {
    let why = match (&keys.count, &keys.ssh) {
        (Key::Invalid, _) | (_, Key::Invalid) => return None,
        (Key::Given(count), Key::Missing) => {
            if let Some(program) = keys.program.place() {
                let mistake = program.key_mistake("belongs to agents.ssh");
                checker.report(mistake.with_expected("count alone"));
            }
            let pods = (keys.kubernetes).check(|pods| agent_pods(checker, pods, count.value))?;
            return Some(match pods {
                None => AgentsStarted::ByHand { count: count.value },
                Some(pods) => AgentsStarted::InKubernetes(Box::new(pods)),
            });
        }
        (Key::Missing, Key::Given(hosts)) => {
            if let Some(pods) = keys.kubernetes.place() {
                let mistake = pods.key_mistake("belongs to agents.count");
                checker.report(mistake.with_expected("ssh alone"));
            }
            let expected = "a host as ssh takes it, e.g. bench@load-1";
            let hosts: Vec<_> = (hosts.value.iter())
                .map(|host| check_name(checker, host, expected))
                .collect();
            let program = match keys.program.content() {
                None if keys.program.is_invalid() => None,
                None => Some("waggle".to_owned()),
                Some(program) => {
                    check_name(checker, program, "a name or path of the program there")
                }
            };
            return Some(AgentsStarted::BySsh {
                hosts: hosts.into_iter().collect::<Option<_>>()?,
                program: program?,
            });
        }
        (Key::Given(_), Key::Given(_)) => "has both count and ssh",
        (Key::Missing, Key::Missing) => "lacks the key \"count\" or \"ssh\"",
    };
    let expected =
        "count of agents that are started by hand or in kubernetes, or the hosts for ssh";
    checker.report(place.key_mistake(why).with_expected(expected));
    None
}

fn parse_listen(checker: &mut Checker<'_>, At { place, value }: &At<String>) -> Option<SocketAddr> {
    let address = value.parse().ok();
    if address.is_none() {
        let mistake = place.mistake(format!("is {}", quote(value)));
        checker.report(mistake.with_expected(LISTEN));
    }
    address
}
