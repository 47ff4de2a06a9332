//! Checks the documentation: runs its examples, parses its session lines, and follows its links. A page that no longer
//! matches the program fails here.

mod console;
mod extensions;
mod format;
mod links;
mod matching;
mod page;
mod programs;
mod settings;
mod terminal;

use std::process::Command;

use page::Page;

/// Every page with examples. The first two have the same examples.
const EXAMPLES: [&str; 14] = [
    "README.md",
    "README.zh.md",
    "docs/commands.md",
    "docs/extension-loading.md",
    "docs/packages.md",
    "docs/navigation.md",
    "docs/json.md",
    "docs/library.md",
    "docs/models.md",
    "docs/practices.md",
    "docs/running.md",
    "docs/session-format.md",
    "docs/settings.md",
    "docs/skills.md",
];

#[test]
fn examples_print_what_the_pages_show() {
    for name in EXAMPLES {
        console::run(&Page::open(name));
    }
}

#[test]
fn programs_print_what_the_pages_show() {
    programs::run(&Page::open("docs/rpc.md"));
}

#[test]
fn extensions_of_the_pages_load() {
    for name in ["README.md", "README.zh.md", "docs/extensions.md", "docs/custom-tools.md"] {
        extensions::load(&Page::open(name));
    }
}

#[test]
fn both_readmes_show_the_same_examples() {
    let shown = |name| Page::open(name).blocks("console").map(|block| block.text.clone()).collect::<Vec<_>>();
    assert_eq!(shown("README.md"), shown("README.zh.md"));
}

#[test]
fn every_error_code_is_described() {
    let section = Page::open("docs/json.md").section("Errors").to_owned();
    let described: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
    let codes = osier_tree::ErrorCode::ALL.iter();
    let expected: Vec<String> =
        codes.map(|code| format!("| `{}` | {} |", code.name(), code.meaning())).collect();
    assert_eq!(described, expected);
}

#[test]
fn every_command_and_option_is_described() {
    let page = Page::open("docs/commands.md");
    let commands = subcommands(&["sessions"]);
    let described: Vec<String> =
        page.titles(3).iter().map(|title| title.trim_matches('`').to_owned()).collect();
    let mut sorted = described.clone();
    sorted.retain(|title| !matches!(title.as_str(), "demo" | "search" | "completions" | "man"));
    assert_eq!(sorted, commands, "one section per command, in the order of `osier sessions --help`");
    for command in &commands {
        let section = page.section(&format!("`{command}`"));
        // These are common to all commands and described once.
        let common = ["--store", "--extension", "--no-extensions"];
        let own =
            options(&["sessions", command]).into_iter().filter(|option| !common.contains(&option.as_str()));
        for option in own {
            assert!(section.contains(&format!("`{option}")), "{command}: {option} is not described");
        }
    }
}

#[test]
fn every_option_of_the_agent_is_described() {
    let page = Page::open("docs/running.md");
    let help = help(&[]);
    let listed = help.lines().filter(|line| line.trim_start().starts_with('-'));
    let options: Vec<&str> =
        listed.filter_map(|line| line.split_whitespace().find(|word| word.starts_with("--"))).collect();
    assert!(options.len() > 15, "{options:?}");
    for option in options.iter().filter(|option| !matches!(**option, "--help" | "--version")) {
        assert!(page.text.contains(&format!("`{option}")), "{option} is not described");
    }
}

#[test]
fn rust_code_on_the_pages_matches_the_example_files() {
    let page = Page::open("docs/library.md");
    let mut seen = 0;
    for block in page.blocks("rust") {
        let file = block.attribute("file").expect("a rust block names its file");
        let code = std::fs::read_to_string(page::root().join(file)).expect("a file of the workspace");
        assert!(code.contains(&block.text), "{}:{}: not in {file}", page.name, block.line);
        seen += 1;
    }
    assert!(seen >= 4, "expected at least four examples");
}

fn help(words: &[&str]) -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_osier")).args(words).arg("--help").output().expect("osier runs");
    String::from_utf8(output.stdout).expect("help is text")
}

/// The commands in `--help`, without `help`.
fn subcommands(words: &[&str]) -> Vec<String> {
    let help = help(words);
    let listed =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = listed.filter_map(|line| line.split_whitespace().next()).map(str::to_owned);
    names.filter(|name| name != "help").collect()
}

/// The long options in `--help`, without `--help`.
fn options(words: &[&str]) -> Vec<String> {
    let help = help(words);
    let listed =
        help.lines().skip_while(|line| *line != "Options:").skip(1).take_while(|line| !line.is_empty());
    let names = listed.filter_map(|line| line.split_whitespace().find(|word| word.starts_with("--")));
    names.map(str::to_owned).filter(|name| name != "--help").collect()
}
