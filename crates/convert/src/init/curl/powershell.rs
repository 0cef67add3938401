//! PowerShell's commands, which are refused with what to copy instead.

use anyhow::{Result, bail};

/// PowerShell has other quotes and escapes, and often another program.
pub(super) fn refuse(text: &str) -> Result<()> {
    let programs = ["Invoke-WebRequest", "Invoke-RestMethod", "New-Object"];
    let is_powershell = text.lines().any(|line| {
        let line = line.trim();
        let is_call = programs.iter().any(|program| line.starts_with(program));
        is_call || line.starts_with("$session") || line.ends_with(" `")
    });
    if is_powershell {
        bail!("this is a command for PowerShell; copy it as cURL (bash) or cURL (cmd)");
    }
    Ok(())
}
