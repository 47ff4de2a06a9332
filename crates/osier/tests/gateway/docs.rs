//! Runs the examples of the gateway's page.

use std::process::Command;

use crate::matching::Matcher;
use crate::page_text::Page;
use crate::server::TestGateway;

#[test]
fn the_examples_of_the_page_work() {
    let gateway = TestGateway::start();
    let (page, mut matcher) = (Page::open("docs/gateway.md"), Matcher::default());
    let mut examples = 0;
    for block in page.blocks("console") {
        let mut lines = block.text.lines().peekable();
        while let Some(line) = lines.next() {
            let command = line.strip_prefix("$ ").unwrap_or_else(|| panic!("not a command: {line}"));
            let mut expected = String::new();
            while let Some(line) = lines.next_if(|line| !line.starts_with("$ ")) {
                expected += &format!("{line}\n");
            }
            let actual = shell(&gateway, command);
            if let Err(difference) = matcher.check(&expected, &actual) {
                panic!("$ {command}\n{difference}\n--- actual output\n{actual}");
            }
            examples += 1;
        }
    }
    assert!(examples > 10, "{examples}");
}

/// Runs a command on this gateway instead of the one that the page names.
fn shell(gateway: &TestGateway, command: &str) -> String {
    let command = command
        .replace("localhost:7433", &format!("localhost:{}", gateway.port()))
        .replace("~/.osier", gateway.env.home().to_str().unwrap());
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1\n{command}")])
        .current_dir(gateway.env.cwd())
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "$ {command}\n{printed}");
    printed
}
