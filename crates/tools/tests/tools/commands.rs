//! `bash`: environment and output of commands.

use std::time::Duration;

use expect_test::expect;
use serde_json::{Value, json};

use crate::support::{TestProject, read_lines};

fn bash(command: &str) -> Value {
    json!({ "command": command })
}

#[tokio::test]
async fn stdout_and_stderr_keep_their_order() {
    let project = TestProject::new();
    project
        .check(
            [("bash", bash("echo one; echo two >&2; echo three")), ("bash", bash("true"))],
            expect![[r#"
                > bash {"command":"echo one; echo two >&2; echo three"}
                one
                two
                three
                > bash {"command":"true"}
                [no output]
            "#]],
        )
        .await;
    let details = project.call("bash", bash("true")).await.details;
    assert_eq!((&details["exitCode"], &details["truncated"]), (&json!(0), &json!(false)));
    assert!(details["durationMs"].is_u64());
}

#[tokio::test]
async fn failing_command_is_an_error_with_its_exit_code() {
    let project = TestProject::new();
    project
        .check(
            [("bash", bash("echo oops >&2; exit 3"))],
            expect![[r#"
                > bash {"command":"echo oops >&2; exit 3"}
                error: oops

                [exit code 3]
            "#]],
        )
        .await;
    assert_eq!(project.call("bash", bash("exit 3")).await.details["exitCode"], 3);
    project
        .check(
            [("bash", bash("kill -9 $$"))],
            expect![[r#"
                > bash {"command":"kill -9 $$"}
                error: [no output]

                [killed by signal 9]
            "#]],
        )
        .await;
    assert_eq!(project.call("bash", bash("kill -9 $$")).await.details["signal"], 9);
    let text = project.result_text("bash", bash("no-such-program-here")).await;
    assert!(text.starts_with("error: ") && text.ends_with("[exit code 127]\n"), "{text}");
}

#[tokio::test]
async fn command_gets_the_project_folder_and_only_the_given_variables() {
    let project = TestProject::new();
    project
        .check(
            [("bash", bash("pwd; echo $OSIER_TEST; echo [$CARGO_MANIFEST_DIR]; echo ~"))],
            expect![[r#"
                > bash {"command":"pwd; echo $OSIER_TEST; echo [$CARGO_MANIFEST_DIR]; echo ~"}
                <base>/project
                given
                []
                <base>/home
            "#]],
        )
        .await;
}

#[tokio::test]
async fn command_has_no_input_and_no_terminal() {
    let project = TestProject::new();
    project
        .check(
            [("bash", bash("cat; read x; echo $?; [ -t 1 ] || echo no terminal; (: < /dev/tty) 2> /dev/null || echo none"))],
            expect![[r#"
                > bash {"command":"cat; read x; echo $?; [ -t 1 ] || echo no terminal; (: < /dev/tty) 2> /dev/null |
                1
                no terminal
                none
            "#]],
        )
        .await;
}

#[tokio::test]
async fn output_is_streamed_while_the_command_runs() {
    let mut project = TestProject::new();
    let mut listener = project.listen();
    let call = project.call("bash", bash("echo one; until [ -e go ]; do sleep 0.01; done; echo two"));
    let watch = async {
        let seen = read_lines(&mut listener, 1).await;
        project.write_file("go", b"");
        (seen, read_lines(&mut listener, 1).await)
    };
    let (outcome, seen) = tokio::join!(call, watch);
    assert_eq!(seen, (vec!["one".to_owned()], vec!["two".to_owned()]));
    assert_eq!(outcome.plain_text(), "one\ntwo");
}

#[tokio::test]
async fn last_2000_lines_are_returned_and_all_lines_are_saved() {
    let project = TestProject::new();
    let outcome = project.call("bash", bash("seq 1 5000")).await;
    let text = project.without_temp_paths(&outcome.plain_text());
    let (note, rest) = text.split_once('\n').unwrap();
    let path = outcome.details["fullOutputPath"].as_str().unwrap();
    assert_eq!(
        note,
        format!(
            "[only the end of the output is shown (5,000 lines, 23.3 KB); the full output is in {}]",
            project.without_temp_paths(path)
        )
    );
    assert!(rest.starts_with("3001\n") && rest.ends_with("\n5000"));
    assert_eq!(outcome.details["truncated"], true);
    assert_eq!(std::fs::read_to_string(path).unwrap().lines().count(), 5000);
    use std::os::unix::fs::MetadataExt;
    assert_eq!(std::fs::metadata(path).unwrap().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn last_50_kilobytes_of_long_lines_are_returned() {
    let project = TestProject::new();
    let outcome = project.call("bash", bash("for n in $(seq 1 200); do printf '%0999d\\n' $n; done")).await;
    let text = outcome.plain_text();
    let (_, rest) = text.split_once('\n').unwrap();
    assert!(rest.len() < 51_200 && rest.len() > 50_000, "{}", rest.len());
    assert!(rest.lines().all(|line| line.len() == 999) && rest.ends_with("200"));
}

#[tokio::test]
async fn output_of_exactly_the_limit_is_not_truncated() {
    let project = TestProject::new();
    let outcome = project.call("bash", bash("seq 1 2000")).await;
    assert_eq!(outcome.details["truncated"], false);
    assert_eq!(outcome.details.get("fullOutputPath"), None);
    let outcome = project.call("bash", bash("head -c 51200 /dev/zero | tr '\\0' x")).await;
    assert_eq!(outcome.details["truncated"], false);
}

#[tokio::test]
async fn output_that_cannot_be_saved_is_reported_and_its_end_is_returned() {
    let mut project = TestProject::with(&[("file", "")]);
    project.ctx.artifacts = project.path("file/below");
    let text = project.result_text("bash", bash("seq 1 5000")).await;
    assert!(text.starts_with(
        "[only the end of the output is shown (5,000 lines, 23.3 KB); the rest was not saved: a part of the path"
    ));
    assert!(text.ends_with("\n5000\n"));
    project.ctx.artifacts = project.path("kept");
    project.ctx.limits.full_output_bytes = 10_000;
    let outcome = project.call("bash", bash("seq 1 5000")).await;
    assert!(
        outcome
            .plain_text()
            .contains("; the rest was not saved: it exceeds the size limit for saved output]")
    );
    let path = outcome.details["fullOutputPath"].as_str().unwrap();
    assert_eq!(std::fs::metadata(path).unwrap().len(), 10_000);
}

#[tokio::test]
async fn invalid_characters_colors_and_progress_bars_are_cleaned_up() {
    let project = TestProject::new();
    project
        .check(
            [("bash", bash(r"printf 'a\xffb \033[31mred\033[0m\n10%%\r99%%\ndone\0!'"))],
            expect![[r#"
                > bash {"command":"printf 'a\\xffb \\033[31mred\\033[0m\\n10%%\\r99%%\\ndone\\0!'"}
                a�b red
                99%
                done!
            "#]],
        )
        .await;
}

#[tokio::test]
async fn command_times_out() {
    let mut project = TestProject::new();
    project.ctx.limits.default_timeout = Duration::from_secs(1);
    project
        .check(
            [("bash", bash("echo begun; sleep 1000"))],
            expect![[r#"
                > bash {"command":"echo begun; sleep 1000"}
                error: begun

                [timed out after 1 s: stopped with all its child processes except daemons; set timeout if it needs longer]
            "#]],
        )
        .await;
    project.ctx.limits.max_timeout = Duration::from_millis(200);
    let outcome = project.call("bash", json!({ "command": "sleep 1000", "timeout": 99999 })).await;
    assert_eq!(outcome.details["timedOut"], true);
}

#[tokio::test]
async fn shell_that_cannot_start_is_reported() {
    let mut project = TestProject::new();
    let env = osier_tools::CommandEnv { shell: Some("/no/such/shell".into()), ..(*project.ctx.env).clone() };
    project.ctx.env = std::sync::Arc::new(env);
    project
        .check(
            [("bash", bash("true"))],
            expect![[r#"
                > bash {"command":"true"}
                error: cannot start the shell: no such file or folder
            "#]],
        )
        .await;
    let mut project = TestProject::new();
    project.ctx.cwd = project.path("gone");
    project
        .check(
            [("bash", bash("true"))],
            expect![[r#"
                > bash {"command":"true"}
                error: cannot run the command: the project folder no longer exists
            "#]],
        )
        .await;
}

#[tokio::test]
async fn canceled_call_does_not_start_the_command() {
    let project = TestProject::new();
    project.ctx.cancel.cancel();
    assert!(project.call("bash", bash("touch made")).await.is_error);
    assert!(!project.path("made").exists());
}

#[tokio::test]
async fn saved_output_is_readable_only_by_its_owner() {
    use std::os::unix::fs::PermissionsExt;
    let mut project = TestProject::new();
    project.ctx.artifacts = project.path("../artefacts/of/a/session");
    let outcome = project.call("bash", json!({ "command": "seq 1 100000" })).await;
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let kept = std::path::PathBuf::from(outcome.details["fullOutputPath"].as_str().unwrap());
    assert_eq!(mode(&kept), 0o600);
    for folder in ["artefacts", "artefacts/of", "artefacts/of/a", "artefacts/of/a/session"] {
        assert_eq!(mode(&project.path("..").join(folder)), 0o700, "{folder}");
    }
}
