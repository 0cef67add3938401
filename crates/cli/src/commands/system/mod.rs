//! `waggle system`: fetches, starts and stops a system without a study.

mod clusters;
mod down;
mod fetch;
mod image;
mod left_behind;
pub(crate) mod shared;
mod state;
mod up;

use anyhow::Result;

pub(crate) use self::left_behind::warn_of_own;
use crate::{arguments::System, process::exit::Exit};

pub(crate) fn run(arguments: &System) -> Result<Exit> {
    match arguments {
        System::Fetch(arguments) => fetch::run(arguments),
        System::Up(arguments) => up::run(arguments),
        System::Down(arguments) => down::run_down(arguments),
        System::Status(arguments) => down::status(&arguments.system),
        System::Image(arguments) => image::run(arguments),
    }
}
