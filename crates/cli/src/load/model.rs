//! The flags of the load model → the engine's model, with its part of the settings.

use std::time::Duration;

use anyhow::{Result, bail};
use waggle_load::{self as load, Arrivals, Rate, Stage, Think, UserStage};

use super::{
    arguments,
    parse::{ArrivalsName, StageText, ThinkText},
    summary::{ModelName, Settings, StageSettings},
};

const CONNECTIONS: u32 = 50;
const THINK: Duration = Duration::from_secs(1);

/// The model, and its part of the settings.
pub(crate) fn model(
    flags: &arguments::Model,
    defaults: &mut Vec<String>,
) -> Result<(load::Model, Settings)> {
    let is_open = flags.rate.is_some() || (!flags.stages.is_empty() && flags.users.is_none());
    if flags.arrivals.is_some() && !is_open {
        bail!(
            "--arrivals says when requests of an open load fall due; it needs --rate or --stages"
        );
    }
    if flags.think.is_some() && flags.users.is_none() {
        bail!("--think says how long users think; it needs --users");
    }
    let (model, mut settings) = match flags.users {
        Some(users) => of_users(flags, users, defaults)?,
        None => of_connections(flags, defaults),
    };
    settings.stages = flags.stages.iter().map(stage_settings).collect();
    Ok((model, settings))
}

fn stage_settings(stage: &StageText) -> StageSettings {
    StageSettings {
        over_s: stage.over.as_secs_f64(),
        to: stage.to,
    }
}

fn of_users(
    flags: &arguments::Model,
    users: u32,
    defaults: &mut Vec<String>,
) -> Result<(load::Model, Settings)> {
    let think = match &flags.think {
        Some(think) => think.clone(),
        None => {
            defaults.push("users think for 1 s on average, exponentially".to_owned());
            ThinkText {
                think: Think::Exponential(THINK),
                text: "exp:1s".to_owned(),
            }
        }
    };
    let mut stages = Vec::new();
    for stage in &flags.stages {
        if stage.to.fract() != 0.0 || stage.to > f64::from(users) {
            bail!(
                "--stages: {} is no number of users up to the {users} of --users",
                stage.to
            );
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole, and at most a u32"
        )]
        let to = stage.to as usize;
        stages.push(UserStage {
            to,
            over: stage.over,
        });
    }
    let settings = Settings {
        model: ModelName::Users,
        users: Some(users),
        think: Some(think.text),
        ..Settings::default()
    };
    let model = load::Model::Users {
        users: users as usize,
        think: think.think,
        stages,
    };
    Ok((model, settings))
}

fn of_connections(flags: &arguments::Model, defaults: &mut Vec<String>) -> (load::Model, Settings) {
    let stages = || {
        flags.stages.iter().map(|stage| Stage {
            to_per_s: stage.to,
            over: stage.over,
        })
    };
    let rate = match flags.rate {
        Some(per_s) => Some(Rate::Constant(per_s)),
        None if flags.stages.is_empty() => None,
        None => Some(Rate::Stages(stages().collect())),
    };
    let connections = flags.connections.unwrap_or(CONNECTIONS);
    let pipelining = flags.pipelining.unwrap_or(1);
    let settings = |name| Settings {
        model: name,
        connections: Some(connections),
        pipelining: Some(pipelining),
        ..Settings::default()
    };
    if flags.connections.is_none() {
        let model = if rate.is_some() { "" } else { "closed load, " };
        defaults.push(format!("{model}{CONNECTIONS} connections"));
    }
    let (connections, pipelining) = (connections as usize, pipelining as usize);
    let Some(rate) = rate else {
        let model = load::Model::Closed {
            connections,
            pipelining,
        };
        return (model, settings(ModelName::Closed));
    };
    let arrivals = match flags.arrivals {
        Some(ArrivalsName::Uniform) => Arrivals::Uniform,
        Some(ArrivalsName::Poisson) => Arrivals::Poisson,
        None => {
            defaults.push("Poisson arrivals".to_owned());
            Arrivals::Poisson
        }
    };
    let settings = Settings {
        rate_per_s: flags.rate,
        arrivals: Some(
            match arrivals {
                Arrivals::Poisson => "poisson",
                Arrivals::Uniform => "uniform",
            }
            .to_owned(),
        ),
        ..settings(ModelName::Open)
    };
    let model = load::Model::Open {
        rate,
        arrivals,
        connections,
        pipelining,
    };
    (model, settings)
}
