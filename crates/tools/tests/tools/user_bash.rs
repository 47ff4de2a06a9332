//! `!command` and `!!command`.

use expect_test::expect;
use osier_tools::user_bash::{UserCommand, run};

use crate::support::{TestProject, read_lines, with_timeout};

fn command(text: &str) -> UserCommand {
    UserCommand::parse(text).unwrap()
}

#[test]
fn one_exclamation_mark_includes_the_output_and_two_exclude_it() {
    assert_eq!(command("! ls -l "), UserCommand { command: "ls -l".into(), exclude_from_context: false });
    assert_eq!(command("!!ls"), UserCommand { command: "ls".into(), exclude_from_context: true });
    assert_eq!(command("!!!x").command, "!x");
    for text in ["hello", "hello !ls", "!", "!!", "! \n"] {
        assert_eq!(UserCommand::parse(text), None, "{text}");
    }
}

#[tokio::test]
async fn message_has_the_fields_that_pi_reads() {
    let project = TestProject::new();
    let result = with_timeout(run(command("!echo hi; exit 2"), &project.ctx)).await.unwrap();
    expect![[r#"
        {
          "role": "bashExecution",
          "command": "echo hi; exit 2",
          "output": "hi",
          "exitCode": 2,
          "cancelled": false,
          "truncated": false,
          "timestamp": 5
        }
    "#]]
    .assert_eq(&format!("{:#}\n", result.message(5)));
    let result = with_timeout(run(command("!!true"), &project.ctx)).await.unwrap();
    expect![[r#"
        {
          "role": "bashExecution",
          "command": "true",
          "output": "",
          "exitCode": 0,
          "cancelled": false,
          "truncated": false,
          "excludeFromContext": true,
          "timestamp": 5
        }
    "#]]
    .assert_eq(&format!("{:#}\n", result.message(5)));
}

#[tokio::test]
async fn truncated_output_names_its_file() {
    let project = TestProject::new();
    let result = with_timeout(run(command("!seq 1 3000"), &project.ctx)).await.unwrap();
    assert!(result.truncated && result.output.starts_with("1001\n") && result.output.ends_with("\n3000"));
    assert_eq!(std::fs::read_to_string(result.full_output_path.unwrap()).unwrap().lines().count(), 3000);
}

#[tokio::test]
async fn canceled_command_has_no_exit_code() {
    let mut project = TestProject::new();
    let mut listener = project.listen();
    let cancel = async {
        read_lines(&mut listener, 1).await;
        project.ctx.cancel.cancel();
    };
    let (result, ()) =
        with_timeout(async { tokio::join!(run(command("!echo on; sleep 1000"), &project.ctx), cancel) })
            .await;
    let result = result.unwrap();
    assert_eq!((result.cancelled, result.exit_code, result.output.as_str()), (true, None, "on"));
}
