//! Images as others read them: the archive, its digests, what is refused, and a registry.

#![expect(clippy::unwrap_used, reason = "tests")]

mod archives;
mod libraries;
mod registries;

use std::path::Path;

use tokio::sync::watch;
use waggle_image::{Image, ImageConfig, Layer, OutsideLink, Stop, Tree, Walk, build};

/// Nobody asks for an end.
fn no_stop() -> Stop {
    Stop(watch::channel(false).1)
}

/// A folder as a layer.
fn layer(folder: &Path, place: &str) -> Layer {
    let mut tree = Tree::default();
    let walk = Walk {
        folder,
        place,
        outside: OutsideLink::Refused,
        is_left_out: &|_| false,
    };
    walk.take(&mut tree).unwrap();
    Layer {
        tree,
        source: format!("folder {place}"),
    }
}

fn image(layers: &[Layer], folder: &Path) -> Image {
    let config = ImageConfig {
        entrypoint: vec!["/opt/a/run".to_owned()],
        user: "65532:65532".to_owned(),
        ..ImageConfig::default()
    };
    build(&config, layers, folder, &no_stop()).unwrap()
}
