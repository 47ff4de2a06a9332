//! Tests random command lines against the behavior of bash.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::{families, family, shell_syntax};
use crate::context::{CommandEnv, ToolContext};
use crate::protected_paths::ProtectedPaths;

/// Command lines are built from these pieces. The second list contains dangerous pieces.
const PIECES: &[&str] = &[
    "cat",
    "grep",
    "ls",
    "head",
    "tail",
    "git status",
    "git log",
    "git diff",
    "find",
    "sed -n",
    "echo",
    "sort",
    "uniq",
    "wc",
    "cargo test",
    "git show",
    "pwd",
    "cut",
    " ",
    " ",
    " ",
    " ",
    " ",
    " ",
    "a",
    "src",
    "src/b",
    "-n",
    "-r",
    "-l",
    "1p",
    "'",
    "\"",
    "; ",
    " && ",
    " || ",
    " | ",
    "\n",
    "--oneline",
    "-5",
    "HEAD~1",
    "'a b'",
    "\"x\"",
    "--",
    "=",
    ".",
    "-",
];
const DANGEROUS_PIECES: &[&str] = &[
    "evil",
    "git push",
    "git -c x=y status",
    "rm",
    "sh",
    "../out",
    "out",
    "out/key",
    "/etc/passwd",
    "~",
    "~/x",
    "$x",
    "$(evil)",
    "`evil`",
    "*",
    "?",
    "[a]",
    "{a,b}",
    "> new",
    ">> a",
    "< out/key",
    "2>new",
    "2>&1",
    ">/dev/null",
    "&",
    "|&",
    "\\",
    "\\\n",
    "#",
    "!",
    "(",
    ")",
    "{ ",
    "}",
    "<(evil)",
    "<<<",
    "<<E\n",
    "\nE\n",
    "x=1 ",
    "if ",
    "then ",
    "fi",
    "[[ ",
    "]]",
    "-exec",
    "-delete",
    "-i",
    "w new",
    "--output=new",
    "-o",
    "--ext-diff",
    "-O",
    "--config",
    "--pre=evil",
    "-f",
    "-L",
    "-R",
    "\t",
    "\r",
    "\u{a0}",
    "$'a'",
    "$\"a\"",
    "time ",
    "coproc ",
    "exec ",
    "eval ",
    "command ",
    "..",
    "--output",
];
const LINES: usize = 20_000;

/// Pseudo-random numbers, always the same.
struct LineGenerator(u64);

impl LineGenerator {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn line(&mut self) -> String {
        let dangers = self.below(8) == 0;
        let pieces = 2 + self.below(10);
        let piece = |random: &mut LineGenerator| match dangers && random.below(3) == 0 {
            true => DANGEROUS_PIECES[random.below(DANGEROUS_PIECES.len())],
            false => PIECES[random.below(PIECES.len())],
        };
        (0..pieces).map(|_| piece(self)).collect()
    }
}

/// A project with a link to the outside, and a tool context.
fn project() -> (TempDir, ToolContext) {
    let base = tempfile::tempdir().unwrap();
    let root = base.path().canonicalize().unwrap();
    for folder in ["project/src", "project/.git", "out"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    for (file, text) in
        [("project/a", "1"), ("project/src/b", "2"), ("project/.git/config", ""), ("out/key", "k")]
    {
        fs::write(root.join(file), text).unwrap();
    }
    symlink("../out", root.join("project/out")).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let env = CommandEnv::new([("PATH".into(), path), ("HOME".into(), root.join("out").into())]);
    let mut ctx = ToolContext::new(root.join("project"), root.join("artefacts"), env);
    ctx.protected = std::sync::Arc::new(ProtectedPaths::new(&root.join("out"), []));
    (base, ctx)
}

/// Runs the lines in a bash that finds no programs. Returns the words of every command per line.
fn run(lines: &[String], ctx: &ToolContext, log: &Path) -> HashMap<usize, Vec<Vec<String>>> {
    let handler = r#"local IFS=$'\x1f'; builtin printf '%s\n' "$NR$IFS$*" >> "$LOG""#;
    let mut script =
        format!("enable -n echo pwd\nPATH=/nowhere\ncommand_not_found_handle() {{ {handler}; }}\n");
    for (number, line) in lines.iter().enumerate() {
        script.push_str(&format!("NR={number}\n{line}\n"));
    }
    let file = log.with_extension("sh");
    fs::write(&file, script).unwrap();
    let bash = ["/bin/bash", "/usr/bin/bash"].into_iter().find(|bash| Path::new(bash).exists()).unwrap();
    let mut command = Command::new(bash);
    command.arg(&file).current_dir(&ctx.cwd).env_clear().env("LOG", log);
    command.env("HOME", ctx.env.home.as_ref().unwrap());
    let ran = command.output().unwrap();
    let errors: String = String::from_utf8_lossy(&ran.stderr).chars().take(1000).collect();
    assert_eq!(errors, "", "bash accepts every line");
    let text = String::from_utf8(fs::read(log).unwrap()).unwrap();
    let mut found: HashMap<usize, Vec<Vec<String>>> = HashMap::new();
    for record in text.lines() {
        let mut words = record.split('\x1f').map(str::to_owned);
        let number: usize = words.next().unwrap().parse().unwrap();
        found.entry(number).or_default().push(words.collect());
    }
    found
}

/// Whether the words contain nothing dangerous and no file outside the project. Does not use the table of families.
fn is_harmless(words: &[String], root: &Path) -> bool {
    let programs: Vec<&str> = family::names().map(|name| name.split(' ').next().unwrap()).collect();
    let options =
        ["-exec", "-delete", "-i", "-o", "-O", "-f", "-L", "-R", "-c", "push", "--ext-diff", "--config"];
    let is_bad_option =
        |word: &str| options.contains(&word) || word.starts_with("--output") || word.starts_with("--pre");
    let stays_inside = |word: &String| {
        let real: PathBuf = root.join(word);
        !real.canonicalize().is_ok_and(|real| !real.starts_with(root))
    };
    // `find` has `-o` for "or", `uniq` and others have a harmless `-i`, and `echo` prints all its arguments.
    let has_its_own = |word: &str| match words[0].as_str() {
        "find" => word == "-o",
        "grep" => matches!(word, "-o" | "-i" | "-c" | "-L"),
        "uniq" | "wc" | "git" | "head" | "tail" | "cut" | "ls" | "sort" => {
            matches!(word, "-i" | "-c" | "-L" | "-R" | "-o" | "-f") && (words[0] != "sort" || word == "-f")
        }
        "pwd" => word == "-L",
        _ => false,
    };
    let is_fine = |word: &String| !is_bad_option(word) || has_its_own(word);
    programs.contains(&words[0].as_str())
        && (words[0] == "echo" || words.iter().all(|word| is_fine(word) && stays_inside(word)))
}

fn files_below(folder: &Path) -> Vec<(PathBuf, u64)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let about = entry.metadata().unwrap();
        if about.is_dir() {
            found.extend(files_below(&entry.path()));
        }
        found.push((entry.path(), about.len()));
    }
    found.sort();
    found
}

/// Even with all families allowed, bash runs only commands of families without asking.
#[test]
fn only_commands_of_allowed_families_run_without_asking() {
    let (base, ctx) = project();
    let root = ctx.cwd.clone();
    let mut random = LineGenerator(7);
    let lines = (0..2 * LINES).map(|_| random.line());
    let allowed: Vec<String> = lines.filter(|line| !families(line, &ctx).is_empty()).collect();
    assert!(allowed.len() > 1200, "{}", allowed.len());
    let before = files_below(base.path());
    let log = tempfile::tempdir().unwrap();
    let ran = run(&allowed, &ctx, &log.path().join("log"));
    assert_eq!(files_below(base.path()), before, "nothing was written");
    for (number, line) in allowed.iter().enumerate() {
        let mut parsed = shell_syntax::parse(line).unwrap();
        for words in ran.get(&number).into_iter().flatten() {
            assert!(is_harmless(words, &root), "{line:?} runs {words:?}");
            let at = parsed.iter().position(|known| known == words);
            parsed.remove(at.unwrap_or_else(|| panic!("{line:?} runs {words:?}, which was not parsed")));
        }
    }
}

/// Parses the seeds of the fuzz target, and every prefix of them.
#[test]
fn fuzzing_seeds_parse_as_their_names_say() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/command");
    let (_base, ctx) = project();
    for entry in fs::read_dir(seeds).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let is_covered = path.file_name().unwrap().to_str().unwrap().starts_with("covered-");
        assert_eq!(shell_syntax::parse(&text).is_some(), is_covered, "{text}");
        assert_eq!(!families(&text, &ctx).is_empty(), is_covered, "{text}");
        for (end, _) in text.char_indices() {
            shell_syntax::parse(&text[..end]);
        }
    }
}

/// `docs/approvals.md` lists exactly these families.
#[test]
fn documentation_lists_every_family() {
    let page = include_str!("../../../../docs/approvals.md");
    let table = page.lines().skip_while(|line| !line.starts_with("| families |")).skip(2);
    let rows = table.take_while(|line| line.starts_with('|')).filter_map(|line| line.split('|').nth(1));
    let mut listed: Vec<&str> = rows.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    let mut known: Vec<&str> = family::names().collect();
    listed.sort_unstable();
    known.sort_unstable();
    assert_eq!(listed, known);
}

/// Random lines of shell special characters: bash and the parser agree about every accepted line.
#[test]
fn parser_agrees_with_bash_about_every_accepted_line() {
    let characters: Vec<char> = "ab  ''\"\";&|<>()$`\\{}!#*?[]=-,:^%~@+\t\n".chars().collect();
    let mut random = LineGenerator(11);
    let mut line =
        || -> String { (0..random.below(12)).map(|_| characters[random.below(characters.len())]).collect() };
    let lines = (0..LINES).map(|_| format!("cmd {}", line()));
    let accepted: Vec<String> = lines.filter(|line| shell_syntax::parse(line).is_some()).collect();
    assert!(accepted.len() > 1500, "{}", accepted.len());
    let (_base, ctx) = project();
    let log = tempfile::tempdir().unwrap();
    let ran = run(&accepted, &ctx, &log.path().join("log"));
    for (number, line) in accepted.iter().enumerate() {
        let mut expected = shell_syntax::parse(line).unwrap();
        let mut found = ran[&number].clone();
        // A command after `||` does not run, because every command succeeds.
        if line.contains("||") {
            expected.retain(|words| found.contains(words));
        }
        expected.sort();
        found.sort();
        assert_eq!(found, expected, "{line:?}");
    }
}
