//! Layers become an image, and that goes where it is wanted: into an archive, to a registry, or both.

use std::path::Path;

use anyhow::{Context, Result, bail};
use tokio::{runtime::Runtime, sync::watch};
use waggle_image::{
    Credentials, Destination, Image, ImageConfig, ImageError, Layer, LeftAlone, Stop, build,
    complete_libraries, push, write_archive,
};

use crate::{
    arguments::ImageTo,
    output,
    process::{exit::Exit, interrupts::Interrupts},
};

/// Lines of libraries that were left alone.
const LEFT_ALONE_SHOWN: usize = 5;

/// What an image is made of.
pub(crate) struct Made {
    pub(crate) config: ImageConfig,
    /// The lowest first: the base, then what rarely changes.
    pub(crate) layers: Vec<Layer>,
    /// For the name in an archive.
    pub(crate) name: String,
}

/// Makes layers by `make`, and of them an image that goes to its places.
pub(crate) fn place_image(to: &ImageTo, make: impl AsyncFnOnce() -> Result<Made>) -> Result<Exit> {
    // Mistakes of arguments come first.
    if to.output.is_none() && to.push.is_none() {
        bail!(
            "say where the image goes: --output FILE.tar, --push REGISTRY/REPOSITORY:TAG, or both"
        );
    }
    let destination = to.push.as_deref();
    let destination = destination.map(|text| Destination::new(text, &to.insecure_registry));
    let destination = destination.transpose()?;
    let credentials = destination
        .as_ref()
        .map(|known| Credentials::find(known.registry()));
    let credentials = credentials.transpose()?;
    if let Some(name) = &to.image_name {
        check_name(name)?;
    }
    let (stop, shutdown) = watch::channel(false);
    let interrupts = Interrupts::new(|| {});
    interrupts.follow(move || {
        stop.send_replace(true);
    });
    interrupts.listen()?;
    let stop = Stop(shutdown);
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        let made = make().await?;
        let placing = Placing {
            to,
            made,
            stop: &stop,
        };
        placing
            .place(destination.as_ref().zip(credentials.as_ref()))
            .await
    });
    match ended {
        Err(why) if matches!(why.downcast_ref(), Some(ImageError::Interrupted)) => {
            output::print_progress(&why.to_string());
            Ok(Exit::Interrupted)
        }
        Err(why) => Err(why),
        Ok(()) => Ok(Exit::Fine),
    }
}

fn runtime() -> Result<Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build();
    runtime.context("cannot start the runtime")
}

fn check_name(name: &str) -> Result<()> {
    let has_tag = name
        .rsplit('/')
        .next()
        .is_some_and(|last| last.contains(':'));
    let is_plain = name.chars().all(|letter| {
        letter.is_ascii_lowercase() || letter.is_ascii_digit() || "./:_-".contains(letter)
    });
    match has_tag && is_plain {
        true => Ok(()),
        false => bail!("{name}: expected REPOSITORY:TAG in small letters"),
    }
}

struct Placing<'a> {
    to: &'a ImageTo,
    made: Made,
    stop: &'a Stop,
}

impl Placing<'_> {
    async fn place(mut self, registry: Option<(&Destination, &Credentials)>) -> Result<()> {
        let libraries = complete_libraries(&self.made.layers)?;
        show_left_alone(&libraries.left_alone);
        if !libraries.added.is_empty() {
            let layer = Layer {
                tree: libraries.added,
                source: "shared libraries of the machine".to_owned(),
            };
            self.made.layers.insert(1, layer);
        }
        let folder = tempfile::Builder::new().prefix("waggle-image.").tempdir();
        let folder = folder.context("cannot create a folder for layers")?;
        let image = build(
            &self.made.config,
            &self.made.layers,
            folder.path(),
            self.stop,
        )?;
        self.show(&image)?;
        if let Some(output) = &self.to.output {
            self.write(&image, output)?;
        }
        if let Some((destination, credentials)) = registry {
            let pushed = push(&image, destination, credentials, self.stop).await?;
            let name = self.to.push.as_deref().unwrap_or_default();
            output::print_result(&format!(
                "{name}: {} sent ({}), {} known to the registry\n",
                blobs(pushed.sent),
                megabytes(pushed.sent_bytes),
                pushed.known
            ))?;
        }
        Ok(())
    }

    fn write(&self, image: &Image, output: &Path) -> Result<()> {
        let named = self.to.image_name.as_ref().or(self.to.push.as_ref());
        let name = named.unwrap_or(&self.made.name);
        write_archive(image, name, output, self.stop)?;
        output::print_result(&format!("{}: {name}\n", output.display()))?;
        Ok(())
    }

    fn show(&self, image: &Image) -> Result<()> {
        let layers: Vec<String> = image
            .layers()
            .map(|(source, size)| {
                let size = megabytes(size);
                format!("  {size:>10}  {}\n", first_letters(source))
            })
            .collect();
        let size = megabytes(image.size());
        let text = format!("{}: {size}\n{}", image.digest(), layers.concat());
        output::print_result(&text)?;
        Ok(())
    }
}

fn megabytes(bytes: u64) -> String {
    let tenths = bytes.div_ceil(100_000);
    format!("{}.{} MB", tenths / 10, tenths % 10)
}

fn blobs(count: usize) -> String {
    match count {
        1 => "1 blob".to_owned(),
        count => format!("{count} blobs"),
    }
}

/// A line that a terminal shows whole.
fn first_letters(source: &str) -> String {
    const LETTERS: usize = 100;
    match source.chars().count() > LETTERS {
        true => source.chars().take(LETTERS - 1).chain(['…']).collect(),
        false => source.to_owned(),
    }
}

fn show_left_alone(left_alone: &[LeftAlone]) {
    for LeftAlone { place, why } in left_alone.iter().take(LEFT_ALONE_SHOWN) {
        output::print_progress(&format!("/{place} is taken as it is: {why}"));
    }
    if left_alone.len() > LEFT_ALONE_SHOWN {
        let more = left_alone.len() - LEFT_ALONE_SHOWN;
        output::print_progress(&format!("{more} more libraries are taken as they are"));
    }
}

#[cfg(test)]
mod tests {
    use super::check_name;

    #[test]
    fn names_have_a_tag() {
        for name in ["localhost/waggle/x:1", "x:1.0-a_b"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in ["x", "host:5000/x", "X:1", "x y:1"] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
