//! Writes the run folder of a made-up study with its report: `cargo run -p waggle-report --example seeded_report FOLDER`.
//! A second argument picks another study: `ingest` (the default), `shopping`, `pipeline`, `hostile`, `search`, `operating-points`, `writers`,
//! `transports`, `overload`, `overload-control`, `killed`, `zero`, `refused`, `one-factor`, `three-factors`, `single`, `cut`, `technologies`,
//! `few-technologies`, `growth`, `cluster`, `hundred`: 100 trials, and `large`: 1,000 trials, for
//! `bench/report`.

#[path = "../tests/report/seeded/mod.rs"]
mod seeded;

use std::{error::Error, path::PathBuf};

use seeded::{Cluster, Seeded};

#[expect(clippy::print_stdout, reason = "an example tells where it wrote")]
fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("needs a folder to write to")?);
    let study = match arguments.next().as_deref().unwrap_or("ingest") {
        "ingest" => Seeded::ingest(),
        "shopping" => Seeded::shopping_study(),
        "pipeline" => Seeded::pipeline(),
        "hostile" => Seeded::hostile(),
        "search" => Seeded::search(),
        "operating-points" => Seeded::operating_points(),
        "killed" => Seeded::with_kill(),
        "writers" => Seeded::writers(),
        "transports" => Seeded::transports(),
        "overload" => Seeded::overload(),
        "overload-control" => Seeded::overload_with_control(),
        "one-factor" => Seeded::plain(&[("connections", &["1", "5", "10", "20", "50", "100"])], 5),
        "three-factors" => Seeded::plain(
            &[
                ("connections", &["1", "10", "50"]),
                ("pipelining", &["1", "10"]),
                ("workers", &["1", "2"]),
            ],
            3,
        ),
        "large" => Seeded::plain(
            &[
                ("connections", &["1", "5", "10", "50", "100"]),
                ("pipelining", &["1", "2", "5", "10", "50"]),
                ("workers", &["1", "2", "3", "4"]),
            ],
            10,
        ),
        "hundred" => Seeded {
            has_broker: true,
            ..Seeded::plain(
                &[
                    ("connections", &["1", "5", "10", "50", "100"]),
                    ("pipelining", &["1", "2", "5", "10", "50"]),
                ],
                4,
            )
        },
        "technologies" => Seeded::technologies(),
        "few-technologies" => Seeded::few_technologies(),
        "growth" => Seeded::growth(),
        "zero" => Seeded::with_zero_level(),
        "refused" => Seeded::with_refusals(),
        "cluster" => Seeded::in_cluster(Cluster::Agents),
        "single" => Seeded::plain(&[], 1),
        "cut" => Seeded {
            ran: Some(17),
            ..Seeded::ingest()
        },
        other => return Err(format!("no study called {other}").into()),
    };
    study.write(&folder);
    println!("{}", waggle_report::write_all(&folder)?.html.display());
    Ok(())
}
