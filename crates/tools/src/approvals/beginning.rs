//! Which beginnings of a command may stand for all that begin so. Few: those whose further words only say on what to work.
//! Options that write to another file or run another program are never covered; any other allowance covers itself alone.

/// Programs that only look, whatever their arguments.
const HARMLESS: &[&str] =
    &["cat", "df", "du", "echo", "grep", "head", "ls", "pwd", "stat", "tail", "wc", "which"];

/// Programs whose second word says what they do, with those second words, and the options that make them do something else.
const PROGRAMS: &[Program] = &[
    Program {
        name: "cargo",
        actions: &["bench", "build", "check", "clippy", "doc", "fmt", "metadata", "test", "tree"],
        options: Options::AllBut {
            long: &[
                "--artifact-dir",
                "--config",
                "--fix",
                "--lockfile-path",
                "--logfile",
                "--manifest-path",
                "--open",
                "--out-dir",
                "--output",
                "--target-dir",
            ],
            short: &['C', 'Z', 'o'],
        },
    },
    Program {
        name: "git",
        actions: &[
            "add",
            "blame",
            "branch",
            "checkout",
            "commit",
            "diff",
            "fetch",
            "grep",
            "log",
            "ls-files",
            "push",
            "restore",
            "rev-parse",
            "shortlog",
            "show",
            "stash",
            "status",
            "switch",
            "tag",
        ],
        options: Options::AllBut {
            long: &[
                "--config",
                "--edit-description",
                "--exec",
                "--exec-path",
                "--ext-diff",
                "--open-files-in-pager",
                "--output",
                "--output-directory",
                "--receive-pack",
                "--template",
                "--upload-pack",
            ],
            short: &['O'],
        },
    },
    Program { name: "go", actions: &["build", "test", "vet"], options: Options::None },
    Program { name: "npm", actions: &["test"], options: Options::None },
    Program { name: "pnpm", actions: &["test"], options: Options::None },
];

/// Programs that run what the project calls by a name.
const SCRIPTS: &[&str] = &["npm", "pnpm"];

struct Program {
    name: &'static str,
    actions: &'static [&'static str],
    options: Options,
}

/// Which options may follow a beginning.
#[derive(Clone, Copy)]
enum Options {
    None,
    /// Long options may be shortened and short ones joined, as most programs let them.
    AllBut {
        long: &'static [&'static str],
        short: &'static [char],
    },
}

/// What to offer to allow from now on: the shortest beginning that says what the command does, the whole command if none.
pub(super) fn offered(mut words: Vec<String>) -> Vec<String> {
    if let Some((length, _)) = beginning(&words) {
        let safe = covers(&words[..length], &words);
        words.truncate(if safe { length } else { words.len() });
    }
    words
}

/// Whether somebody who allowed one command allowed the other.
pub(super) fn covers(allowed: &[String], words: &[String]) -> bool {
    if allowed == words {
        return true;
    }
    match beginning(allowed) {
        Some((length, options)) if length == allowed.len() && words.starts_with(allowed) => {
            words[length..].iter().all(|word| options.is_none_or(|options| options.allow(word)))
        }
        _ => false,
    }
}

/// How many words of a command say what it does, and which options may follow; none are harmful if there is nothing to say.
fn beginning(words: &[String]) -> Option<(usize, Option<Options>)> {
    let word = |at: usize| words.get(at).map(String::as_str);
    let program = word(0)?;
    if HARMLESS.contains(&program) {
        return Some((1, None));
    }
    let is_name = |word: &str| word.starts_with(|c: char| c.is_ascii_lowercase());
    if SCRIPTS.contains(&program) && word(1) == Some("run") && word(2).is_some_and(is_name) {
        return Some((3, Some(Options::None)));
    }
    let known = PROGRAMS.iter().find(|known| known.name == program)?;
    known.actions.contains(&word(1)?).then_some((2, Some(known.options)))
}

impl Options {
    /// The shell may make an option of a pattern that stands where a word begins, if a file has such a name.
    fn allow(self, word: &str) -> bool {
        let is_pattern = |text: &str| text.contains(['*', '?', '[']);
        let Some(option) = word.strip_prefix('-') else { return !word.starts_with(['*', '?', '[']) };
        let Options::AllBut { long, short } = self else { return false };
        let name = word.split('=').next().unwrap_or(word);
        match option.strip_prefix('-') {
            Some("") => true,
            Some(_) => !is_pattern(word) && !long.iter().any(|long| long.starts_with(name)),
            None => !is_pattern(word) && !option.contains(short),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::simple_command::{quoted, words};
    use super::*;

    fn covered(allowed: &str, command: &str) -> bool {
        covers(&words(allowed).unwrap(), &words(command).unwrap())
    }

    #[test]
    fn the_offer_says_what_the_command_does() {
        for (line, offer) in [
            ("cargo test -p x", "cargo test"),
            ("git push origin main", "git push"),
            ("npm run build --x", "npm run build --x"),
            ("npm run build x", "npm run build"),
            ("git -C .. push", "git -C .. push"),
            ("git config user.name x", "git config user.name x"),
            ("git log --output=x", "git log --output=x"),
            ("git submodule foreach x", "git submodule foreach x"),
            ("ls -la src", "ls"),
            ("rm -rf target", "rm -rf target"),
            ("find . -name x", "find . -name x"),
            ("python3 x.py", "python3 x.py"),
            ("uv run python", "uv run python"),
            ("make test", "make test"),
            ("cargo run --bin x", "cargo run --bin x"),
            ("git", "git"),
        ] {
            assert_eq!(quoted(&offered(words(line).unwrap())), offer, "{line}");
        }
    }

    #[test]
    fn further_words_that_only_say_on_what_to_work_are_covered() {
        for (allowed, command) in [
            ("git log", "git log --oneline -5 -- src"),
            ("git grep", "git grep -n --color=never word"),
            ("git status", "git status -s"),
            ("git commit", "git commit -m 'a -- b'"),
            ("git diff", "git diff --stat HEAD~1"),
            ("cargo test", "cargo test -p x -- --nocapture"),
            ("cargo clippy", "cargo clippy --all-targets -- -D warnings"),
            ("npm run build", "npm run build fast"),
            ("ls", "ls -la *"),
            ("grep", "grep -rn x *.rs"),
        ] {
            assert!(covered(allowed, command), "{allowed} / {command}");
        }
    }

    #[test]
    fn options_that_write_or_run_are_not_covered() {
        for (allowed, command) in [
            ("git log", "git log --output=.git/hooks/post-commit"),
            ("git log", "git log --output .git/hooks/post-commit"),
            ("git log", "git log --outp=x"),
            ("git diff", "git diff --ext-diff"),
            ("git show", "git show '--output=x'"),
            ("git grep", "git grep --open-files-in-pager=sh x"),
            ("git grep", "git grep --open=sh x"),
            ("git grep", "git grep -Osh x"),
            ("git grep", "git grep -nO x"),
            ("git fetch", "git fetch --upload-pack=sh origin"),
            ("git fetch", "git fetch --upload-pack sh origin"),
            ("git push", "git push --receive-pack=sh origin"),
            ("git push", "git push --exec=sh origin"),
            ("git log", "git log *"),
            ("git log", "git log -*"),
            ("git log", "git log --[o]utput=x"),
            ("git", "git -c core.pager=sh log"),
            ("cargo test", "cargo test --config build.rustc-wrapper=sh"),
            ("cargo test", "cargo test --manifest-path ../x/Cargo.toml"),
            ("cargo test", "cargo test -- --logfile x"),
            ("cargo clippy", "cargo clippy -- -Clinker=sh"),
            ("npm test", "npm test --script-shell=sh"),
            ("go test", "go test -exec sh"),
        ] {
            assert!(!covered(allowed, command), "{allowed} / {command}");
        }
    }

    #[test]
    fn any_other_allowance_covers_itself_alone() {
        for (allowed, longer) in [
            ("find . -name x", "-delete"),
            ("find .", "-exec rm x"),
            ("find .", "-fprint x"),
            ("sed -n 1p a", "-i"),
            ("sed p a", "w"),
            ("tar tf a", "--to-command=sh"),
            ("tar tf a", "--checkpoint-action=exec=sh"),
            ("awk 1", "a"),
            ("xargs", "rm"),
            ("env", "sh"),
            ("sort a", "-o b"),
            ("tee a", "b"),
            ("rm -rf target", "src"),
            ("uv run python", "-c x"),
            ("git config user.name", "x"),
            ("git submodule", "foreach sh"),
            ("docker run", "x"),
            ("python3", "x.py"),
        ] {
            assert!(covered(allowed, allowed), "{allowed}");
            assert!(!covered(allowed, &format!("{allowed} {longer}")), "{allowed} {longer}");
        }
    }
}
