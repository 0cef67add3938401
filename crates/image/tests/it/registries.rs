//! Images in a registry.

use std::fs;

use serde_json::Value;
use waggle_image::{Credentials, Destination, Image, Pushed, push};
use waggle_testkit::Registry;

use crate::{image, layer, no_stop};

fn send(image: &Image, to: &str) -> Result<Pushed, String> {
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let destination = Destination::new(to, &[]).unwrap();
    let credentials = Credentials::anonymous();
    let stop = no_stop();
    let pushed = push(image, &destination, &credentials, &stop);
    executor.block_on(pushed).map_err(|why| why.to_string())
}

#[test]
fn a_registry_gets_what_it_does_not_have() {
    let registry = Registry::start();
    let folders = tempfile::tempdir().unwrap();
    let (low, high) = (folders.path().join("low"), folders.path().join("high"));
    for folder in [&low, &high] {
        fs::create_dir(folder).unwrap();
    }
    // Longer than one part of an upload.
    let long: Vec<u8> = (0..5_u32 << 18)
        .flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes())
        .collect();
    fs::write(low.join("long"), &long).unwrap();
    fs::write(high.join("run"), "1").unwrap();
    let packed = tempfile::tempdir().unwrap();
    let make = || {
        let layers = [layer(&low, "opt/low"), layer(&high, "opt/high")];
        image(&layers, packed.path())
    };
    let to = format!("{}/waggle/test:1", registry.address());
    let first = make();
    let pushed = send(&first, &to).unwrap();
    assert_eq!((pushed.sent, pushed.known), (3, 0));
    assert_eq!(registry.crane(&["digest", "waggle/test:1"]), first.digest());
    // crane reads all of it, and checks each digest.
    registry.crane(&["validate", "--remote", "waggle/test:1"]);
    let config: Value =
        serde_json::from_str(&registry.crane(&["config", "waggle/test:1"])).unwrap();
    assert_eq!(config["config"]["Entrypoint"][0], "/opt/a/run");
    let pushed = send(&make(), &to).unwrap();
    assert_eq!((pushed.sent, pushed.known, pushed.sent_bytes), (0, 3, 0));
    fs::write(high.join("run"), "2").unwrap();
    let changed = make();
    let pushed = send(&changed, &to).unwrap();
    assert_eq!((pushed.sent, pushed.known), (2, 1));
    assert!(pushed.sent_bytes < 10_000, "{pushed:?}");
    assert_eq!(
        registry.crane(&["digest", "waggle/test:1"]),
        changed.digest()
    );
}

#[test]
fn a_registry_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let packed = tempfile::tempdir().unwrap();
    let image = image(&[layer(folder.path(), "opt/a")], packed.path());
    let port = waggle_testkit::free_port();
    let refused = send(&image, &format!("127.0.0.1:{port}/a:1")).unwrap_err();
    let expected = format!("127.0.0.1:{port}: cannot ask for sha256:");
    assert!(refused.starts_with(&expected), "{refused}");
}
