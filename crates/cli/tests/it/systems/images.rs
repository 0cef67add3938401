//! `waggle system image` and `waggle cluster image`: what is in an image, and that its programs run.

use std::{
    collections::BTreeMap,
    fs,
    io::Read,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::workspace::{Workspace, output_text};

/// A system whose program is a script of its artifact, with a program of the machine and a link to another system.
const SYSTEM: &str = r#"
system: pictured
summary: A system whose image is looked at.
parameters:
  shape: { summary: which program, one_of: [round, square], default: round }
artifacts:
  round: { version: "1.0", programs: [round], fetch: fetch/round, requires: [sh, setpriv] }
  square: { version: "2.0", programs: [square], fetch: fetch/square, requires: [sh] }
components:
  server:
    ports: [http]
    process:
      command: ["${system_dir}/start"]
      arguments:
        - { when: { shape: round }, add: ["${program.round}"] }
        - { when: { shape: square }, add: ["${program.square}"] }
    ready: { tcp: { port: http } }
endpoints:
  service: { component: server, port: http }
"#;
const FETCH: &str = "#!/bin/sh\nmkdir -p \"$2/bin\"\nprintf '#!/bin/sh\\nexec setpriv --version\\n' > \"$2/bin/$(basename \"$0\")\"\n\
    chmod +x \"$2\"/bin/*\n";

fn script(file: &Path, text: &str) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
}

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    let systems = workspace.path().join("systems");
    let folder = systems.join("pictured");
    for name in ["round", "square"] {
        script(&folder.join("fetch").join(name), FETCH);
    }
    fs::write(folder.join("system.yaml"), SYSTEM).unwrap();
    script(&systems.join("other/start"), "#!/bin/sh\nexec \"$1\"\n");
    symlink("../other/start", folder.join("start")).unwrap();
    workspace
}

/// Runs waggle, without its symbols for debugging, with a cache of its own, in which the packages of the base are those of the user.
fn waggle(workspace: &Workspace, arguments: &[&str]) -> Command {
    let program = workspace.path().join("bin/waggle");
    let cache = workspace.path().join("cache");
    if !program.exists() {
        fs::create_dir_all(workspace.path().join("bin")).unwrap();
        fs::create_dir_all(cache.join("waggle")).unwrap();
        let mut strip = Command::new("strip");
        strip.args(["--strip-debug", "-o"]).arg(&program);
        let stripped = strip.arg(env!("CARGO_BIN_EXE_waggle")).status();
        assert!(stripped.unwrap().success());
        let user = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let home = || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache");
        let base = user.unwrap_or_else(home).join("waggle/image-base");
        fs::create_dir_all(&base).unwrap();
        symlink(base, cache.join("waggle/image-base")).unwrap();
    }
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(workspace.path())
        .env("XDG_CACHE_HOME", cache)
        .env("WAGGLE_ACCEPT_SIGNED", "1")
        .env_remove("SOURCE_DATE_EPOCH");
    command
}

fn text(workspace: &Workspace, arguments: &[&str], code: i32) -> String {
    let output = waggle(workspace, arguments).output().unwrap();
    let text = output_text(&output);
    assert_eq!(output.status.code(), Some(code), "{text}");
    text
}

/// Unpacks all layers of an archive into a folder, and returns the configuration.
fn unpack(archive: &Path, folder: &Path) -> Value {
    let mut files = BTreeMap::new();
    let mut entries = tar::Archive::new(fs::File::open(archive).unwrap());
    for entry in entries.entries().unwrap() {
        let mut entry = entry.unwrap();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        files.insert(entry.path().unwrap().display().to_string(), bytes);
    }
    let docker: Value = serde_json::from_slice(&files["manifest.json"]).unwrap();
    for layer in docker[0]["Layers"].as_array().unwrap() {
        let packed = folder.with_extension("layer");
        fs::write(&packed, &files[layer.as_str().unwrap()]).unwrap();
        let tar = Command::new("tar")
            .args(["--extract", "--gzip", "--file"])
            .arg(&packed)
            .arg("--directory")
            .arg(folder)
            .status();
        assert!(tar.unwrap().success());
    }
    serde_json::from_slice(&files[docker[0]["Config"].as_str().unwrap()]).unwrap()
}

/// Runs a program of an image, as its user.
fn run(folder: &Path, command: &[&str]) -> String {
    let output = Command::new("chroot")
        .arg("--userspec=65532:65532")
        .arg(folder)
        .args(command)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/usr/sbin")
        .output();
    let output = output.unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}",
        output_text(&output)
    );
    output_text(&output)
}

#[test]
fn an_image_of_waggle_starts_and_is_the_same_each_time() {
    let workspace = workspace();
    let image = |name: &str| {
        let said = text(&workspace, &["cluster", "image", "--output", name], 0);
        said.lines().next().unwrap().to_owned()
    };
    assert_eq!(image("a.tar"), image("b.tar"));
    let folder = workspace.path().join("root");
    fs::create_dir(&folder).unwrap();
    let config = unpack(&workspace.path().join("a.tar"), &folder);
    assert_eq!(config["config"]["User"], "65532:65532");
    let entrypoint = config["config"]["Entrypoint"][0].as_str().unwrap();
    let version = run(&folder, &[entrypoint, "--version"]);
    assert!(version.starts_with("waggle "), "{version}");
    let authorities = fs::read_to_string(folder.join("etc/ssl/certs/ca-certificates.crt"));
    assert!(authorities.unwrap().contains("BEGIN CERTIFICATE"));
    let mode = fs::metadata(folder.join("tmp")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o7777, 0o1777);
    assert!(!folder.join("usr/bin/sh").exists(), "it has a shell");
}

#[test]
fn an_image_of_a_system_has_what_its_scripts_need() {
    let workspace = workspace();
    let arguments = ["system", "image", "pictured", "--output", "system.tar"];
    let refused = text(&workspace, &arguments, 2);
    assert!(
        refused.contains("not fetched: round 1.0, square 2.0"),
        "{refused}"
    );
    text(
        &workspace,
        &["system", "fetch", "pictured", "shape=round"],
        0,
    );
    let refused = text(&workspace, &arguments, 2);
    assert!(refused.contains("not fetched: square 2.0"), "{refused}");
    let round = [&arguments[..], &["shape=round"]].concat();
    text(&workspace, &round, 0);
    let folder = workspace.path().join("root");
    fs::create_dir(&folder).unwrap();
    unpack(&workspace.path().join("system.tar"), &folder);
    let contents = fs::read(folder.join("opt/waggle/image.json")).unwrap();
    let contents: Value = serde_json::from_slice(&contents).unwrap();
    let expected = serde_json::json!({
        "format": 1,
        "waggle": "/usr/local/bin/waggle",
        "waggle_version": env!("CARGO_PKG_VERSION"),
        "system": "pictured",
        "system_folder": "/opt/waggle/system",
        "programs": { "round": "/opt/waggle/servers/round-1.0/bin/round" },
        "artifacts": { "round": "1.0" },
        "left_out": [],
    });
    assert_eq!(contents, expected);
    // A link to another system's script is a file here; scripts that fetch are not needed.
    let start = "/opt/waggle/system/start";
    let said = run(&folder, &[start, "/opt/waggle/servers/round-1.0/bin/round"]);
    assert!(said.starts_with("setpriv "), "{said}");
    assert!(!folder.join("opt/waggle/system/fetch").exists());
    let skipped = [&arguments[..], &["--skip-missing"]].concat();
    let said = text(&workspace, &skipped, 0);
    assert!(
        said.contains("left out, because not fetched: square 2.0"),
        "{said}"
    );
}

#[test]
fn what_cannot_be_taken_is_refused_by_name() {
    let workspace = workspace();
    text(
        &workspace,
        &["system", "fetch", "pictured", "shape=round"],
        0,
    );
    let image = [
        "system",
        "image",
        "pictured",
        "shape=round",
        "--output",
        "x.tar",
    ];
    let bin = workspace.path().join("cache/waggle/servers/round-1.0/bin");
    let check = |words: &str| {
        let refused = text(&workspace, &image, 2);
        assert!(refused.contains(words), "{refused}");
        assert!(!workspace.path().join("x.tar").exists());
    };
    script(&bin.join("more"), "#!/usr/bin/env no-such-language\n");
    check("no-such-language: a script of the image needs it");
    fs::remove_file(bin.join("more")).unwrap();
    symlink("/etc/waggle-test-nothing", bin.join("away")).unwrap();
    check("leads to /etc/waggle-test-nothing, outside");
}

#[test]
fn mistakes_of_arguments_come_first() {
    let workspace = workspace();
    let check = |arguments: &[&str], words: &str| {
        let refused = text(&workspace, arguments, 2);
        assert!(refused.contains(words), "{refused}");
    };
    check(&["cluster", "image"], "--output");
    check(
        &["cluster", "image", "--push", "127.0.0.1:5000/a"],
        "expected :TAG",
    );
    check(
        &["cluster", "image", "--push", "a:1"],
        "does not begin with a registry",
    );
    let named = ["cluster", "image", "--output", "x.tar", "--image-name", "x"];
    check(&named, "expected REPOSITORY:TAG");
}
