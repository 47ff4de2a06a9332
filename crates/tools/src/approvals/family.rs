//! Command families: a name such as `git log`, and the arguments that may follow it. Allowing a family allows every command that
//! starts with its name and has only these arguments.
//!
//! A table lists the allowed options. Options that are not listed are never covered, so there is no need to know which options
//! run a program, write a file or use the network. All other arguments must stay inside the project.

use super::scope::CommandScope;

/// Which operands may follow the options.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Operands {
    Nothing,
    /// Any text; the program only prints it.
    Text,
    /// Files in the project, and words that are not files, such as patterns and revisions.
    InProject,
    /// A line range for `sed`, such as `5p` or `10,20p`, followed by files in the project.
    RangeThenInProject,
}

/// A command family.
#[derive(Debug)]
struct Family {
    name: &'static str,
    /// Letters of short options, which can be combined and followed by a number.
    short: &'static str,
    /// Other options, separated by spaces. A value after `=` is checked like any other argument.
    long: &'static str,
    operands: Operands,
}

const fn family(name: &'static str, short: &'static str, long: &'static str, operands: Operands) -> Family {
    Family { name, short, long, operands }
}

const FAMILIES: &[Family] = &[
    // Commands that print files or parts of files.
    family("cat", "AbEnsTv", "", Operands::InProject),
    family("cut", "cdfs", "", Operands::InProject),
    family("echo", "", "", Operands::Text),
    family("find", "", FIND, Operands::InProject),
    family("grep", "ABCcEeFHhIiLlmnoqrsvwx", GREP, Operands::InProject),
    family("head", "cnqv", "--bytes --lines --quiet", Operands::InProject),
    family(
        "ls",
        "1AadFGghiklmnopRrSsTtUux",
        "--all --almost-all --color --human-readable",
        Operands::InProject,
    ),
    family("pwd", "LP", "", Operands::Nothing),
    family("sed -n", "", "", Operands::RangeThenInProject),
    family("sort", "bfghknrtuV", "--numeric-sort --reverse --unique", Operands::InProject),
    family("tail", "cnqv", "--bytes --lines --quiet", Operands::InProject),
    // A second operand would be its output file.
    family("uniq", "cdiu", "--count --repeated --unique", Operands::Nothing),
    family("wc", "cLlmw", "--bytes --lines --words", Operands::InProject),
    // Commands that read the repository; `git_repository` checks what it must not contain.
    family("git blame", "CeLlMsw", GIT, Operands::InProject),
    family("git branch", "arv", "--all --list --remotes --show-current --verbose", Operands::Nothing),
    family("git diff", "abBCDGiMpRsSuUwz", GIT, Operands::InProject),
    family("git grep", "ABCcEeFhHIiLlnovwW", GIT, Operands::InProject),
    family("git log", "ABCDgGiMnpqsSuUwz", GIT, Operands::InProject),
    family("git ls-files", "cdmostuz", GIT, Operands::InProject),
    family(
        "git rev-parse",
        "",
        "--abbrev-ref --is-inside-work-tree --short --show-toplevel --verify",
        Operands::InProject,
    ),
    family("git show", "bBCDMpqsSuUwz", GIT, Operands::InProject),
    family("git status", "bsuvz", GIT, Operands::InProject),
    // Commands that run the project's own code, which the user allows here; the arguments only select which parts.
    family("cargo build", "Fjpqrv", CARGO, Operands::InProject),
    family("cargo check", "Fjpqrv", CARGO, Operands::InProject),
    family("cargo clippy", "ADFWjpqrv", CARGO, Operands::InProject),
    family("cargo test", "Fjpqrv", CARGO, Operands::InProject),
    family("go test", "v", GO, Operands::InProject),
    family("go vet", "v", "", Operands::InProject),
];

const FIND: &str = "-a -and -empty -iname -ipath -maxdepth -mindepth -mmin -mtime -name -newer -not -o -or -path -print \
    -print0 -prune -size -type";

const GREP: &str = "--after-context --before-context --color --context --count --exclude --exclude-dir --extended-regexp \
    --files-with-matches --fixed-strings --ignore-case --include --invert-match --line-number \
    --max-count --no-filename --only-matching --recursive --with-filename --word-regexp";

const GIT: &str = "--abbrev-commit --after --all --author --before --branch --branches --cached --check --color --count \
    --date --decorate --deleted --diff-filter --exclude-standard --exit-code --files-with-matches \
    --find-renames --first-parent --follow --format --full-name --function-context --graph --grep \
    --heading --ignore-all-space --ignore-blank-lines --ignore-case --ignore-space-change --ignored \
    --line-number --long --max-count --merge-base --merges --modified --name-only --name-status \
    --no-color --no-ext-diff --no-merges --no-patch --no-renames --no-textconv --numstat --oneline \
    --others --patch --porcelain --pretty --quiet --raw --relative --remotes --reverse --short \
    --shortstat --show-stash --since --skip --staged --stat --summary --tags --topo-order --unified \
    --until --untracked --untracked-files --word-diff --word-regexp";

const CARGO: &str = "--all --all-features --all-targets --bench --benches --bin --bins --color --doc --exact --example \
    --examples --exclude --features --frozen --ignored --include-ignored --jobs --keep-going --lib \
    --locked --message-format --no-default-features --no-deps --no-fail-fast --no-run --nocapture \
    --offline --package --profile --quiet --release --show-output --skip --test --test-threads --tests \
    --verbose --workspace";

const GO: &str = "-bench -benchmem -count -cover -failfast -json -list -race -run -short -timeout";

/// The names of all families.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().map(|family| family.name)
}

/// The family of a command, if the family covers all its arguments.
pub(super) fn family_of(words: &[String], project: &CommandScope<'_>) -> Option<&'static str> {
    let (family, arguments) = FAMILIES.iter().find_map(|family| Some((family, family.arguments(words)?)))?;
    let is_fit = project.uses_system_program(&words[0])
        && (words[0] != "git"
            || project.has_plain_repository() && arguments.iter().all(|word| verifies_no_signature(word)));
    (is_fit && family.covers(arguments, project)).then_some(family.name)
}

/// Whether an argument contains no format that makes git run a program to verify signatures.
fn verifies_no_signature(word: &str) -> bool {
    !word.contains("%G") && !word.contains("%(")
}

impl Family {
    /// The words after the family name, if `words` start with it.
    fn arguments<'w>(&self, words: &'w [String]) -> Option<&'w [String]> {
        let mut rest = words;
        for (number, part) in self.name.split(' ').enumerate() {
            if number == 1 && words[0] == "git" && rest.first().is_some_and(|word| word == "--no-pager") {
                rest = &rest[1..];
            }
            rest = rest.split_first().filter(|(word, _)| *word == part)?.1;
        }
        Some(rest)
    }

    fn covers(&self, arguments: &[String], project: &CommandScope<'_>) -> bool {
        let arguments = match self.operands {
            Operands::Text => return true,
            Operands::RangeThenInProject => match arguments.split_first() {
                Some((range, rest)) if is_range(range) => rest,
                _ => return false,
            },
            _ => arguments,
        };
        let takes_operands = self.operands != Operands::Nothing;
        let is_covered = |word: &String| match word.strip_prefix('-') {
            Some("" | "-") | None => takes_operands,
            Some(option) => self.has_option(word, option, project),
        };
        // Every word is also checked as a path, because after `--` an option is a file name.
        arguments.iter().all(|word| is_covered(word) && project.contains(word))
    }

    fn has_option(&self, word: &str, option: &str, project: &CommandScope<'_>) -> bool {
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        if self.long.split_whitespace().any(|known| known == name) {
            return value.is_none_or(|value| project.contains(value));
        }
        let letters = option.trim_end_matches(|c: char| c.is_ascii_digit() || c == ',' || c == '-');
        let takes_number = !letters.is_empty() || self.short.contains('n');
        !option.starts_with('-') && takes_number && letters.chars().all(|letter| self.short.contains(letter))
    }
}

/// `5p` or `10,20p` or `10,$p`.
fn is_range(script: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let Some(range) = script.strip_suffix('p') else { return false };
    match range.split_once(',') {
        Some((first, last)) => is_number(first) && (is_number(last) || last == "$"),
        None => is_number(range),
    }
}
