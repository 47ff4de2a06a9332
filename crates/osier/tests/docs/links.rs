//! Checks the links of all pages to other pages, files and headings.

use std::path::Path;

use crate::page::{Page, root};

/// All pages of the project, by their paths.
fn pages() -> Vec<String> {
    let mut pages = Vec::new();
    for folder in ["", "docs"] {
        for file in std::fs::read_dir(root().join(folder)).expect("a folder") {
            let name = file.expect("a file").file_name().into_string().expect("a name");
            if name.ends_with(".md") {
                pages.push(Path::new(folder).join(name).to_string_lossy().into_owned());
            }
        }
    }
    pages.sort();
    pages
}

/// The link targets in a line.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split(')').next())
}

#[test]
fn link_targets_exist() {
    let mut seen = 0;
    for name in pages() {
        let page = Page::open(&name);
        let folder = Path::new(&name).parent().unwrap_or(Path::new(""));
        for (number, line) in page.prose() {
            for target in targets(line).filter(|target| !target.contains("://")) {
                let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
                let path = if file.is_empty() {
                    name.clone()
                } else {
                    folder.join(file).to_string_lossy().into_owned()
                };
                assert!(root().join(&path).exists(), "{name}:{number}: broken link {target}");
                if !anchor.is_empty() {
                    let anchors = Page::open(&path).anchors();
                    assert!(
                        anchors.iter().any(|known| known == anchor),
                        "{name}:{number}: no heading {target}"
                    );
                }
                seen += 1;
            }
        }
    }
    assert!(seen > 10, "only {seen} links found");
}

#[test]
fn every_page_of_the_docs_is_linked_from_the_readme() {
    let readme = Page::open("README.md").text;
    for page in pages().iter().filter(|page| *page != "README.md") {
        assert!(readme.contains(&format!("]({page}")), "README.md does not link {page}");
    }
}

/// The table in the documentation of a crate names its source files.
#[test]
fn files_named_in_crate_documentation_exist() {
    let mut seen = 0;
    for folder in std::fs::read_dir(root().join("crates")).unwrap() {
        let sources = folder.unwrap().path().join("src");
        let main =
            ["lib.rs", "main.rs"].map(|name| std::fs::read_to_string(sources.join(name)).unwrap_or_default());
        let rows = main.iter().flat_map(|text| text.lines()).filter_map(|line| line.strip_prefix("//! | `"));
        for row in rows {
            let first = row.split('|').next().unwrap_or_default();
            for file in format!("`{first}").split('`').skip(1).step_by(2) {
                let module = sources.join(format!("{file}.rs"));
                assert!(
                    sources.join(file).exists() || module.exists(),
                    "{}: no file {file}",
                    sources.display()
                );
                seen += 1;
            }
        }
    }
    assert!(seen > 40, "only {seen} files found");
}
