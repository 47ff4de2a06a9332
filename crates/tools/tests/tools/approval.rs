//! Approvals: what is asked, what is not, and what is never asked twice.

use expect_test::expect;
use osier_tools::approvals::Why;
use osier_tools::{Allowance, Approvals, Change, Decision, Mode, Toolbox, denied};
use serde_json::{Value, json};

use crate::support::Project;

fn approvals(mode: Mode, allowed: &[&str]) -> Approvals {
    Approvals { mode, allowed: allowed.iter().map(|text| Allowance::parse(text)).collect() }
}

async fn decision(project: &Project, approvals: &Approvals, tool: &str, arguments: Value) -> Decision {
    let spec = project.tools.specs().into_iter().find(|spec| spec.name == tool).unwrap();
    let preview = project.preview(tool, arguments).await.unwrap();
    approvals.decide(&spec, &preview)
}

/// `allow`, or why it is asked and what is offered.
async fn decided(mode: Mode, allowed: &[&str], tool: &str, arguments: Value) -> String {
    let project = Project::with(&[("a", "x"), (".git/hooks/old", "")]);
    match decision(&project, &approvals(mode, allowed), tool, arguments).await {
        Decision::Allow => "allow".to_owned(),
        Decision::Ask { why, offers, .. } => {
            let offers: Vec<String> = offers.iter().map(ToString::to_string).collect();
            format!("{why:?}, offers {}", offers.join(" | ")).trim_end_matches(", offers ").to_owned()
        }
    }
}

async fn bash(mode: Mode, allowed: &[&str], command: &str) -> String {
    decided(mode, allowed, "bash", json!({ "command": command })).await
}

async fn write(mode: Mode, allowed: &[&str], path: &str) -> String {
    decided(mode, allowed, "write", json!({ "path": path, "content": "" })).await
}

#[tokio::test]
async fn looking_and_planning_need_no_approval() {
    for (tool, arguments) in [
        ("read", json!({ "path": "../outside/secret" })),
        ("grep", json!({ "pattern": "x" })),
        ("find", json!({ "pattern": "x" })),
        ("ls", json!({})),
        ("todo", json!({ "items": [] })),
    ] {
        assert_eq!(decided(Mode::Default, &[], tool, arguments).await, "allow", "{tool}");
    }
}

#[tokio::test]
async fn each_mode_asks_for_what_it_must() {
    assert_eq!(write(Mode::Default, &[], "a").await, "Writes, offers write");
    assert_eq!(write(Mode::AutoEdit, &[], "a").await, "allow");
    assert_eq!(write(Mode::Yolo, &[], "a").await, "allow");
    assert_eq!(bash(Mode::Default, &[], "ls").await, "Runs, offers bash:ls | bash");
    assert_eq!(bash(Mode::AutoEdit, &[], "ls").await, "Runs, offers bash:ls | bash");
    assert_eq!(bash(Mode::Yolo, &[], "ls; rm x").await, "allow");
}

#[tokio::test]
async fn writing_outside_is_asked_whatever_is_allowed() {
    for mode in [Mode::Default, Mode::AutoEdit] {
        assert_eq!(write(mode, &["write"], "../outside/x").await, "Outside");
        assert_eq!(write(mode, &["write"], "~/x").await, "Outside");
    }
    assert_eq!(write(Mode::Yolo, &[], "../outside/x").await, "allow");
}

#[tokio::test]
async fn files_that_make_programs_run_are_asked_too() {
    for path in [".git/hooks/pre-commit", ".osier/config.toml", "sub/.GIT/config", ".pi/settings.json"] {
        assert_eq!(write(Mode::AutoEdit, &["write"], path).await, "Guarded", "{path}");
    }
    assert_eq!(write(Mode::AutoEdit, &[], ".gitignore").await, "allow");
}

#[tokio::test]
async fn an_allowed_tool_is_not_asked_again() {
    assert_eq!(write(Mode::Default, &["write"], "a").await, "allow");
    assert_eq!(write(Mode::Default, &["edit"], "a").await, "Writes, offers write");
    assert_eq!(bash(Mode::Default, &["bash"], "rm -rf x; y").await, "allow");
}

#[tokio::test]
async fn an_allowed_prefix_covers_single_plain_commands_only() {
    let allowed = ["bash:git status", "bash:cargo test"];
    for command in ["git status", "git  status -s", "git 'status' \"a; b\"", "cargo test -p x -- --nocapture"]
    {
        assert_eq!(bash(Mode::Default, &allowed, command).await, "allow", "{command}");
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
        "git status --output=.git/hooks/post-commit",
        "cargo test --config build.rustc-wrapper=sh",
    ] {
        assert!(bash(Mode::Default, &allowed, command).await.starts_with("Runs"), "{command}");
    }
    assert_eq!(write(Mode::Default, &["bash:write"], "a").await, "Writes, offers write");
}

#[tokio::test]
async fn what_is_asked_is_exactly_what_would_happen() {
    let project = Project::with(&[("a", "one\ntwo\n")]);
    let nothing = approvals(Mode::Default, &[]);
    let edit = json!({ "path": "a", "edits": [{ "oldText": "two", "newText": "2" }] });
    let Decision::Ask { what: Change::Diff { path, diff, created }, why, .. } =
        decision(&project, &nothing, "edit", edit).await
    else {
        panic!("asks with a diff")
    };
    assert_eq!((path.as_str(), created, why), ("a", false, Why::Writes));
    expect![[r#"
        --- a/a
        +++ b/a
        @@ -1,2 +1,2 @@
         one
        -two
        +2
    "#]]
    .assert_eq(&diff);
    assert_eq!(project.get("a"), b"one\ntwo\n", "asking changes nothing");
    let command = "rm -rf \"$HOME\"";
    let asked = decision(&project, &nothing, "bash", json!({ "command": command })).await;
    let Decision::Ask { what, offers, .. } = asked else { panic!("asks") };
    assert_eq!(what, Change::Command { command: command.into() });
    assert_eq!(offers, [Allowance::Tool("bash".into())]);
}

#[test]
fn the_settings_of_a_session_come_back_as_they_were() {
    let mut given = approvals(
        Mode::AutoEdit,
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
    assert_eq!(given.allowed.len(), 5, "once is enough");
}

#[test]
fn settings_that_say_nothing_or_nonsense_are_the_strictest() {
    let read = |settings: Value| Approvals::from_settings(settings.as_object().unwrap());
    assert_eq!(read(json!({})), Approvals::default());
    assert_eq!(read(json!({ "approvalMode": "YOLO", "approvalTools": "bash" })), Approvals::default());
    assert_eq!(read(json!({ "approvalTools": [1, "ls"] })).allowed, [Allowance::Tool("ls".into())]);
    assert_eq!(Allowance::parse("bash:"), Allowance::Tool("bash:".into()));
}

#[test]
fn a_denied_call_is_told_so_with_the_reason() {
    let outcome = denied("the user wants to see a plan first");
    assert!(outcome.is_error && outcome.details["denied"] == true);
    expect![[r#"
        not allowed: the user wants to see a plan first
        Nothing was run or changed. Do not try to get there by another way: go on without it, or ask what is wanted.

        not allowed
        Nothing was run or changed. Do not try to get there by another way: go on without it, or ask what is wanted.
    "#]].assert_eq(&format!("{}\n\n{}\n", outcome.plain_text(), denied(" ").plain_text()));
}
