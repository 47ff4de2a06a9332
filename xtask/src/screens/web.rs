//! Pictures of the live page and of an export, from a demo session that looks the same every time. An example of the viewer takes
//! them; those that the docs show are copied.

use anyhow::{Context, Result};

use crate::osier::Osier;
use crate::{browser, workspace};

/// The pictures of the docs, and the screens that they show.
const IN_DOCS: [(&str, &str); 5] = [
    ("web-session", "code-desktop-light"),
    ("web-question", "question-desktop-light"),
    ("web-compare", "compare-desktop-light"),
    ("web-phone", "session-phone-dark"),
    ("export", "export-desktop-light"),
];

pub(super) fn run(given: Option<&str>) -> Result<()> {
    browser::prepare()?;
    let target = workspace::target()?;
    let osier = Osier::new(given, target.join("screens-home"))?;
    let folder = target.join("screens");
    let mut cargo = workspace::cargo()?;
    cargo.args(["run", "--quiet", "--package", "osier-viewer", "--example", "page", "--", "screens"]);
    cargo.arg(osier.binary()).arg(&folder);
    workspace::run(&mut cargo)?;
    for (name, screen) in IN_DOCS {
        let image = workspace::root()?.join(format!("docs/images/{name}.png"));
        let picture = folder.join(format!("{screen}.png"));
        std::fs::copy(&picture, &image).with_context(|| format!("cannot copy {}", picture.display()))?;
    }
    println!("all screens are in {}", folder.display());
    Ok(())
}
