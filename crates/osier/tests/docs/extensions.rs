//! Extensions in pages: each block with a file name loads without an error.

use std::process::{Command, Stdio};

use crate::page::Page;

pub(crate) fn load(page: &Page) {
    let mut count = 0;
    for block in page.blocks("ts") {
        let Some(name) = block.attribute("file") else { continue };
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(name);
        std::fs::write(&path, &block.text).expect("the file is written");
        let mut command = Command::new(env!("CARGO_BIN_EXE_osier"));
        command.env_clear().env("HOME", folder.path()).env("OSIER_HOME", folder.path().join("home"));
        command.current_dir(folder.path()).stdin(Stdio::null()).args(["--mode", "rpc", "-e"]).arg(&path);
        let output = command.output().expect("osier runs");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let place = format!("{}:{}: {out}{err}", page.name, block.line);
        assert!(output.status.success() && err.is_empty() && !out.contains("extension_error"), "{place}");
        count += 1;
    }
    assert!(count > 0, "{} has no extension", page.name);
}
