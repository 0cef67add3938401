//! `waggle cluster image`: an image of waggle or of the gateway, as their Dockerfiles have it.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use waggle_image::{ImageConfig, Layer, Tree, base_layer};

use super::{
    PROGRAMS_FOLDER, base_cache, image_config, licence,
    place::{Made, place_image},
    program_entry,
};
use crate::{
    arguments::{ImageProgram, ProgramImage},
    process::exit::Exit,
};

/// Ports of the gateway: records, and its admin listener.
const GATEWAY_PORTS: [&str; 2] = ["8080/tcp", "8081/tcp"];

pub(crate) fn run(arguments: &ProgramImage) -> Result<Exit> {
    let program = arguments.program;
    let file = program_file(program)?;
    place_image(&arguments.to, async || make_layers(program, file).await)
}

/// The image of a program over the base.
async fn make_layers(program: ImageProgram, file: PathBuf) -> Result<Made> {
    let base = base_layer(false, &base_cache()?).await?;
    let name = program_name(program);
    let mut tree = Tree::default();
    tree.add(&format!("{PROGRAMS_FOLDER}/{name}"), program_entry(file))?;
    let (place, text) = licence();
    tree.add_text(place, text)?;
    let version = env!("CARGO_PKG_VERSION");
    let layer = Layer {
        tree,
        source: format!("{name} {version}"),
    };
    Ok(Made {
        config: config(program),
        layers: vec![base, layer],
        name: format!("localhost/{name}:{version}"),
    })
}

fn program_name(program: ImageProgram) -> &'static str {
    match program {
        ImageProgram::Waggle => "waggle",
        ImageProgram::WaggleGateway => "waggle-gateway",
    }
}

fn program_file(program: ImageProgram) -> Result<PathBuf> {
    let this = std::env::current_exe().context("cannot determine the path of this program")?;
    match program {
        ImageProgram::Waggle => Ok(this),
        ImageProgram::WaggleGateway => {
            let beside = this.with_file_name(program_name(program));
            if !beside.is_file() {
                bail!("{} is not there", beside.display());
            }
            Ok(beside)
        }
    }
}

fn config(program: ImageProgram) -> ImageConfig {
    let name = program_name(program);
    match program {
        ImageProgram::Waggle => image_config(
            name,
            name,
            "Performance studies of REST APIs: load agents and runners in a cluster",
        ),
        ImageProgram::WaggleGateway => ImageConfig {
            ports: GATEWAY_PORTS.map(str::to_owned).to_vec(),
            ..image_config(
                name,
                name,
                "Accepts readings over HTTP and makes them durable; moves them from Kafka to InfluxDB",
            )
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{ImageProgram, PROGRAMS_FOLDER, config, program_name};

    /// The rest of the lines of the last stage that begin with an instruction.
    fn instructions<'t>(dockerfile: &'t str, instruction: &str) -> Vec<&'t str> {
        let (_, last) = dockerfile.rsplit_once("\nFROM ").unwrap();
        let lines = last.lines();
        lines
            .filter_map(|line| line.strip_prefix(instruction)?.strip_prefix(' '))
            .collect()
    }

    fn check(program: ImageProgram, dockerfile: &str) {
        let config = config(program);
        let array = |words: &[String]| serde_json::to_string(words).unwrap();
        let instructions = |name| instructions(dockerfile, name);
        assert_eq!(instructions("ENTRYPOINT"), [array(&config.entrypoint)]);
        assert_eq!(instructions("CMD"), [array(&config.command)]);
        assert_eq!(instructions("USER"), [config.user]);
        assert_eq!(instructions("EXPOSE").join(" "), config.ports.join(" "));
        assert_eq!(instructions("STOPSIGNAL"), ["SIGTERM"]);
        let place = format!("{PROGRAMS_FOLDER}/{}", program_name(program));
        let copied = format!("--from=build {place} {place}");
        assert!(instructions("COPY").contains(&copied.as_str()), "{copied}");
        assert!(instructions("COPY").contains(&"LICENSE /licenses/LICENSE"));
        for name in ["title", "description", "licenses"] {
            let label = format!("org.opencontainers.image.{name}");
            let written = format!("{label}=\"{}\"", config.labels[&label]);
            assert!(dockerfile.contains(&written), "{written}");
        }
    }

    #[test]
    fn images_are_as_their_dockerfiles_say() {
        check(
            ImageProgram::Waggle,
            include_str!("../../../../../deploy/Dockerfile"),
        );
        check(
            ImageProgram::WaggleGateway,
            include_str!("../../../../../gateway/deploy/Dockerfile"),
        );
    }
}
