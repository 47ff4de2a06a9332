//! `bash`: nothing of a stopped command survives, and it may clean up first.

use std::time::Duration;

use expect_test::{Expect, expect};
use osier_tools::{Live, ToolOutcome};
use serde_json::json;
use tokio::sync::mpsc;

use crate::support::{Project, is_gone, lines, until, within};

/// Runs a command that prints the ids of `count` processes, then cancels it.
async fn cancelled(project: &mut Project, command: &str, count: usize) -> (ToolOutcome, Vec<String>) {
    let mut listener = project.listen();
    let call = project.call("bash", json!({ "command": command }));
    let cancel = async {
        let pids = lines(&mut listener, count).await;
        assert!(pids.iter().all(|pid| !is_gone(pid)), "{pids:?}");
        project.ctx.cancel.cancel();
        pids
    };
    within(async { tokio::join!(call, cancel) }).await
}

async fn leaves_nothing(command: &str, count: usize) {
    let (outcome, pids) = cancelled(&mut Project::new(), command, count).await;
    assert!(outcome.is_error && outcome.details["cancelled"] == true, "{outcome:?}");
    for pid in pids {
        until(&format!("{pid} is gone ({command})"), || is_gone(&pid)).await;
    }
}

#[tokio::test]
async fn cancel_kills_children_and_grandchildren() {
    leaves_nothing("echo $$; (sleep 1000 & echo $!; bash -c 'sleep 1000 & echo $!; wait' & wait); wait", 3)
        .await;
}

#[tokio::test]
async fn cancel_kills_jobs_in_groups_of_their_own() {
    leaves_nothing("set -m; sleep 1000 & echo $!; bash -c 'sleep 1000 & echo $!; wait' & wait", 2).await;
}

#[tokio::test]
async fn cancel_kills_orphans_whose_parent_is_gone() {
    leaves_nothing("(sleep 1000 & echo $!); sleep 1000 & echo $!; wait", 2).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn cancel_kills_children_in_sessions_of_their_own() {
    leaves_nothing("setsid sleep 1000 & echo $!; setsid bash -c 'sleep 1000 & echo $!; wait' & wait", 2)
        .await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn cancel_kills_stubborn_children_of_a_parent_that_obeys() {
    let mut project = Project::new();
    project.ctx.limits.grace = Duration::from_millis(50);
    let stubborn = "setsid bash -c 'trap \"\" TERM; echo $$; while :; do sleep 0.05; done' & wait";
    let (_, pids) = cancelled(&mut project, stubborn, 1).await;
    until("gone", || is_gone(&pids[0])).await;
}

#[tokio::test]
async fn cancel_kills_what_does_not_want_to_end() {
    let mut project = Project::new();
    project.ctx.limits.grace = Duration::from_millis(50);
    let command = "trap '' TERM INT HUP; echo $$; while :; do sleep 0.05; done";
    let (_, pids) = cancelled(&mut project, command, 1).await;
    until("gone", || is_gone(&pids[0])).await;
}

#[tokio::test]
async fn a_stopped_command_may_clean_up() {
    let mut project = Project::new();
    // A stop that used up this time would hang the test.
    project.ctx.limits.grace = Duration::from_secs(3600);
    let command = "trap 'rm lock; echo cleaned; exit 1' TERM; touch lock; echo $$; sleep 1000 & wait";
    let (outcome, _) = cancelled(&mut project, command, 1).await;
    assert!(!project.path("lock").exists());
    let text = outcome.plain_text();
    let after = text.split_once('\n').unwrap().1;
    check(
        after,
        expect![[r#"
            cleaned

            [cancelled: stopped with all it had started except daemons]
        "#]],
    );
}

fn check(text: &str, expect: Expect) {
    expect.assert_eq(&format!("{text}\n"));
}

#[tokio::test]
async fn time_out_kills_grandchildren_too() {
    let mut project = Project::new();
    project.ctx.limits.command_time = Duration::from_millis(500);
    let outcome = project.call("bash", json!({ "command": "bash -c 'sleep 1000 & echo $!; wait'" })).await;
    let pid = outcome.plain_text().lines().next().unwrap().to_owned();
    until("gone", || is_gone(&pid)).await;
    assert_eq!(outcome.details["timedOut"], true);
}

#[tokio::test]
async fn a_dropped_call_kills_everything() {
    let mut project = Project::new();
    let mut listener: mpsc::Receiver<Live> = project.listen();
    let pids = {
        let call = project
            .call("bash", json!({ "command": "bash -c 'sleep 1000 & echo $!; wait' & echo $!; wait" }));
        tokio::pin!(call);
        tokio::select! {
            outcome = &mut call => panic!("ended by itself: {outcome:?}"),
            pids = lines(&mut listener, 2) => pids,
        }
    };
    for pid in pids {
        until("gone", || is_gone(&pid)).await;
    }
}

#[tokio::test]
async fn cancel_works_under_a_flood_of_output() {
    let mut project = Project::new();
    project.ctx.limits.full_output = 1 << 20;
    let mut listener = project.listen();
    let call = project.call("bash", json!({ "command": "echo $$; yes" }));
    let cancel = async {
        lines(&mut listener, 1).await;
        project.ctx.cancel.cancel();
    };
    let (outcome, ()) = within(async { tokio::join!(call, cancel) }).await;
    assert_eq!(outcome.details["cancelled"], true);
}
