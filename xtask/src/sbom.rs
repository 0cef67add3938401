//! The bills of materials of the programs: `scripts/sbom` writes one for each, with the C libraries that crates bring.

use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::steps::Root;

/// The C libraries that are in each program.
const LIBRARIES: [(&str, &[&str]); 2] = [
    ("waggle", &["zlib", "librdkafka", "Zstandard"]),
    (
        "waggle-gateway",
        &["SQLite", "zlib", "librdkafka", "Zstandard", "OpenSSL"],
    ),
];
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Each bill has the C libraries and no component without a version; the crates have digests.
pub(crate) fn check(root: &Root) -> Result<()> {
    for (program, libraries) in LIBRARIES {
        let mut script = Command::new(root.path().join("scripts/sbom"));
        let text = root.output(script.args([program, TARGET]))?;
        let bill: Value = serde_json::from_str(&text).context("reading a bill of materials")?;
        check_bill(&bill, libraries)
            .with_context(|| format!("the bill of materials of {program}"))?;
    }
    Ok(())
}

fn check_bill(bill: &Value, libraries: &[&str]) -> Result<()> {
    let components = bill["components"]
        .as_array()
        .context("it has no components")?;
    for component in components {
        let text = |key: &str| component[key].as_str().unwrap_or_default();
        let digest = component["hashes"][0]["content"]
            .as_str()
            .unwrap_or_default();
        let needs_digest = text("purl").starts_with("pkg:cargo/");
        if text("version").is_empty() || (needs_digest && digest.len() != 64) {
            bail!("a component lacks its version or its digest: {component}");
        }
    }
    for library in libraries {
        if !components
            .iter()
            .any(|component| component["name"] == *library)
        {
            bail!("it lacks {library}");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::check_bill;

    #[test]
    fn bills() {
        let library = json!({ "name": "zlib", "version": "1.3", "purl": "pkg:generic/zlib@1.3" });
        let krate = |digest: &str| {
            json!({
                "name": "a", "version": "1.0.0", "purl": "pkg:cargo/a@1.0.0", "hashes": [{ "content": digest }],
            })
        };
        let check = |components: &[Value], expected: Option<&str>| {
            let result = check_bill(&json!({ "components": components }), &["zlib"]);
            let problem = result.err().map(|error| error.to_string());
            match expected {
                Some(expected) => assert!(problem.is_some_and(|text| text.contains(expected))),
                None => assert_eq!(problem, None),
            }
        };
        check(&[library.clone(), krate(&"0".repeat(64))], None);
        check(&[krate(&"0".repeat(64))], Some("lacks zlib"));
        check(&[library.clone(), krate("")], Some("lacks its version"));
        check(
            &[json!({ "name": "zlib", "version": "" })],
            Some("lacks its version"),
        );
    }
}
