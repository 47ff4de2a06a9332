//! `bash`: stopping a command stops all its processes, after a chance to clean up.

use std::time::Duration;

use expect_test::{Expect, expect};
use osier_tools::{LiveOutput, ToolOutcome};
use serde_json::json;
use tokio::sync::mpsc;

use crate::support::{TestProject, is_gone, read_lines, wait_until, with_timeout};

/// Runs a command that prints the ids of `count` processes, then cancels it.
async fn cancelled(project: &mut TestProject, command: &str, count: usize) -> (ToolOutcome, Vec<String>) {
    let mut listener = project.listen();
    let call = project.call("bash", json!({ "command": command }));
    let cancel = async {
        let pids = read_lines(&mut listener, count).await;
        assert!(pids.iter().all(|pid| !is_gone(pid)), "{pids:?}");
        project.ctx.cancel.cancel();
        pids
    };
    with_timeout(async { tokio::join!(call, cancel) }).await
}

async fn check_no_process_survives(command: &str, count: usize) {
    let (outcome, pids) = cancelled(&mut TestProject::new(), command, count).await;
    assert!(outcome.is_error && outcome.details["cancelled"] == true, "{outcome:?}");
    for pid in pids {
        wait_until(&format!("{pid} is gone ({command})"), || is_gone(&pid)).await;
    }
}

#[tokio::test]
async fn cancel_kills_children_and_grandchildren() {
    check_no_process_survives(
        "echo $$; (sleep 1000 & echo $!; bash -c 'sleep 1000 & echo $!; wait' & wait); wait",
        3,
    )
    .await;
}

#[tokio::test]
async fn cancel_kills_jobs_in_other_process_groups() {
    check_no_process_survives("set -m; sleep 1000 & echo $!; bash -c 'sleep 1000 & echo $!; wait' & wait", 2)
        .await;
}

#[tokio::test]
async fn cancel_kills_orphans() {
    check_no_process_survives("(sleep 1000 & echo $!); sleep 1000 & echo $!; wait", 2).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn cancel_kills_children_in_other_sessions() {
    check_no_process_survives(
        "setsid sleep 1000 & echo $!; setsid bash -c 'sleep 1000 & echo $!; wait' & wait",
        2,
    )
    .await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn cancel_kills_children_that_ignore_sigterm() {
    let mut project = TestProject::new();
    project.ctx.limits.kill_grace = Duration::from_millis(50);
    let stubborn = "setsid bash -c 'trap \"\" TERM; echo $$; while :; do sleep 0.05; done' & wait";
    let (_, pids) = cancelled(&mut project, stubborn, 1).await;
    wait_until("gone", || is_gone(&pids[0])).await;
}

#[tokio::test]
async fn cancel_kills_a_command_that_ignores_signals() {
    let mut project = TestProject::new();
    project.ctx.limits.kill_grace = Duration::from_millis(50);
    let command = "trap '' TERM INT HUP; echo $$; while :; do sleep 0.05; done";
    let (_, pids) = cancelled(&mut project, command, 1).await;
    wait_until("gone", || is_gone(&pids[0])).await;
}

#[tokio::test]
async fn stopped_command_can_clean_up() {
    let mut project = TestProject::new();
    // If stopping waited for the whole grace period, the test would hang.
    project.ctx.limits.kill_grace = Duration::from_secs(3600);
    let command = "trap 'rm lock; echo cleaned; exit 1' TERM; touch lock; echo $$; sleep 1000 & wait";
    let (outcome, _) = cancelled(&mut project, command, 1).await;
    assert!(!project.path("lock").exists());
    let text = outcome.plain_text();
    let after = text.split_once('\n').unwrap().1;
    check(
        after,
        expect![[r#"
            cleaned

            [canceled: stopped with all its child processes except daemons]
        "#]],
    );
}

fn check(text: &str, expect: Expect) {
    expect.assert_eq(&format!("{text}\n"));
}

#[tokio::test]
async fn timeout_kills_grandchildren() {
    let mut project = TestProject::new();
    project.ctx.limits.default_timeout = Duration::from_millis(500);
    let outcome = project.call("bash", json!({ "command": "bash -c 'sleep 1000 & echo $!; wait'" })).await;
    let pid = outcome.plain_text().lines().next().unwrap().to_owned();
    wait_until("gone", || is_gone(&pid)).await;
    assert_eq!(outcome.details["timedOut"], true);
}

#[tokio::test]
async fn dropping_the_call_kills_all_processes() {
    let mut project = TestProject::new();
    let mut listener: mpsc::Receiver<LiveOutput> = project.listen();
    let pids = {
        let call = project
            .call("bash", json!({ "command": "bash -c 'sleep 1000 & echo $!; wait' & echo $!; wait" }));
        tokio::pin!(call);
        tokio::select! {
            outcome = &mut call => panic!("the command exited: {outcome:?}"),
            pids = read_lines(&mut listener, 2) => pids,
        }
    };
    for pid in pids {
        wait_until("gone", || is_gone(&pid)).await;
    }
}

#[tokio::test]
async fn cancel_works_during_heavy_output() {
    let mut project = TestProject::new();
    project.ctx.limits.full_output_bytes = 1 << 20;
    let mut listener = project.listen();
    let call = project.call("bash", json!({ "command": "echo $$; yes" }));
    let cancel = async {
        read_lines(&mut listener, 1).await;
        project.ctx.cancel.cancel();
    };
    let (outcome, ()) = with_timeout(async { tokio::join!(call, cancel) }).await;
    assert_eq!(outcome.details["cancelled"], true);
}
