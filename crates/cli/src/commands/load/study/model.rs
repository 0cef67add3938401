//! Flags of the load model → their part of the settings.

use std::time::Duration;

use anyhow::{Result, bail};
use waggle_report::wording::format::plural;
use waggle_spec::Think;
use waggle_units::format_duration;

use crate::{
    arguments::{
        load,
        parse::{ArrivalsName, StageText},
    },
    commands::load::result::summary::{ModelName, Settings, StageSettings},
};

const CONNECTIONS: u32 = 50;
const THINK: Duration = Duration::from_secs(1);

/// The settings of the load model.
///
/// A load that ends after a number of requests has no more connections than these, if it does not name their number.
pub(crate) fn settings(
    flags: &load::Model,
    requests: Option<u64>,
    defaults: &mut Vec<String>,
) -> Result<Settings> {
    let is_open = is_open(flags);
    if flags.arrivals.is_some() && !is_open {
        bail!("--arrivals is for open load; it requires --rate or --stages");
    }
    if flags.think_time.is_some() && flags.users.is_none() {
        bail!("--think-time is for users; it requires --users");
    }
    let mut settings = match flags.users {
        Some(users) => of_users(flags, users, defaults)?,
        None => of_connections(flags, requests, defaults),
    };
    settings.stages = flags.stages.iter().map(stage_settings).collect();
    Ok(settings)
}

fn is_open(flags: &load::Model) -> bool {
    flags.rate.is_some() || (!flags.stages.is_empty() && flags.users.is_none())
}

/// The think time in the format of a study.
pub(in crate::commands::load) fn think_text(flags: &load::Model) -> String {
    let think = flags.think_time.as_ref().map(|think| think.think);
    match think.unwrap_or(Think::Exponential(THINK)) {
        Think::Fixed(time) => format_duration(time),
        Think::Exponential(mean) => format!("{{ exponential: {} }}", format_duration(mean)),
        Think::Uniform { from, to } => {
            let (from, to) = (format_duration(from), format_duration(to));
            format!("{{ uniform: [{from}, {to}] }}")
        }
    }
}

fn stage_settings(stage: &StageText) -> StageSettings {
    StageSettings {
        duration_s: stage.over.as_secs_f64(),
        target: stage.to,
    }
}

fn of_users(flags: &load::Model, users: u32, defaults: &mut Vec<String>) -> Result<Settings> {
    let think = flags.think_time.as_ref().map_or_else(
        || {
            defaults.push("think time exp:1s".to_owned());
            "exp:1s".to_owned()
        },
        |think| think.text.clone(),
    );
    for stage in &flags.stages {
        if stage.to.fract() != 0.0 || stage.to > f64::from(users) {
            bail!(
                "--stages: {} is not a number of users up to the {users} of --users",
                stage.to
            );
        }
    }
    Ok(Settings {
        model: ModelName::Users,
        users: Some(users),
        think_time: Some(think),
        ..Settings::default()
    })
}

fn of_connections(
    flags: &load::Model,
    requests: Option<u64>,
    defaults: &mut Vec<String>,
) -> Settings {
    let is_open = is_open(flags);
    let requests = requests.and_then(|requests| u32::try_from(requests).ok());
    let most = requests.map_or(CONNECTIONS, |requests| requests.min(CONNECTIONS));
    let connections = flags.connections.unwrap_or(most);
    if flags.connections.is_none() {
        let model = if is_open { "" } else { "closed load, " };
        defaults.push(format!("{model}{}", plural(connections, "connection")));
    }
    let settings = Settings {
        connections: Some(connections),
        pipelining: Some(flags.pipelining.unwrap_or(1)),
        ..Settings::default()
    };
    if !is_open {
        return settings;
    }
    let arrivals = match flags.arrivals {
        Some(ArrivalsName::Uniform) => "uniform",
        Some(ArrivalsName::Poisson) => "poisson",
        None => {
            defaults.push("Poisson arrivals".to_owned());
            "poisson"
        }
    };
    Settings {
        model: ModelName::Open,
        rate_per_s: flags.rate,
        arrivals: Some(arrivals.to_owned()),
        ..settings
    }
}
