//! Path resolution: links, paths outside the project, pipes, devices, hostile names.

use expect_test::expect;
use serde_json::json;

use crate::support::TestProject;

#[tokio::test]
async fn reading_outside_the_project_is_allowed_and_recorded() {
    let project = TestProject::with(&[("../outside/a", "x"), ("../home/b", "y")]);
    for (path, text) in [("../outside/a", "x\n"), ("~/b", "y\n")] {
        assert_eq!(project.result_text("read", json!({ "path": path })).await, text);
        assert_eq!(project.call("read", json!({ "path": path })).await.details["outside"], true);
    }
    let absolute = project.path("../outside/a");
    assert_eq!(project.call("read", json!({ "path": absolute })).await.details["outside"], true);
}

#[tokio::test]
async fn absolute_path_into_the_project_is_inside() {
    let project = TestProject::with(&[("a", "x")]);
    let details = project.call("read", json!({ "path": project.path("a") })).await.details;
    assert_eq!((details["path"].as_str(), details.get("outside")), (Some("a"), None));
}

#[tokio::test]
async fn link_is_followed_and_reported() {
    let project = TestProject::with(&[("real/a", "x"), ("../outside/b", "y")]);
    project.link("short", "real/a");
    project.link("away", "../outside");
    project
        .check(
            [("read", json!({ "path": "short" })), ("read", json!({ "path": "away/b" }))],
            expect![[r#"
                > read {"path":"short"}
                x

                [short resolves through a symbolic link to real/a]
                > read {"path":"away/b"}
                y

                [away/b resolves through a symbolic link to <base>/outside/b]
            "#]],
        )
        .await;
    // `..` after a link is the parent of the link target.
    project.write_file("../outside/deep/c", b"");
    project.link("deep", "../outside/deep");
    let details = project.call("read", json!({ "path": "deep/../b" })).await.details;
    assert_eq!(details["outside"], true);
}

#[tokio::test]
async fn link_loops_are_reported() {
    let project = TestProject::new();
    project.link("a", "b");
    project.link("b", "a");
    project.link("self", "self/deeper");
    project
        .check(
            [("read", json!({ "path": "a" })), ("write", json!({ "path": "self", "content": "" }))],
            expect![[r#"
                > read {"path":"a"}
                error: cannot resolve a: its symbolic links form a loop
                > write {"path":"self","content":""}
                error: cannot resolve self: its symbolic links form a loop
            "#]],
        )
        .await;
}

#[tokio::test]
async fn project_reached_through_a_link_is_still_inside() {
    let mut project = TestProject::with(&[("a", "x")]);
    project.link("../way", "<base>/project");
    project.ctx.cwd = project.path("../way");
    let details = project.call("read", json!({ "path": "a" })).await.details;
    assert_eq!((details.get("outside"), details.get("link")), (None, None));
}

#[tokio::test]
async fn writing_through_a_link_changes_the_target_and_keeps_the_link() {
    let project = TestProject::with(&[("real", "old")]);
    project.link("link", "real");
    project.link("dangling", "new/file");
    project
        .check(
            [("write", json!({ "path": "link", "content": "new" }))],
            expect![[r#"
                > write {"path":"link","content":"new"}
                wrote real (1 line, 3 bytes)
                [link resolves through a symbolic link to real]
            "#]],
        )
        .await;
    assert_eq!(project.read_file("real"), b"new");
    assert!(project.path("link").is_symlink());
    project.call("write", json!({ "path": "dangling", "content": "made" })).await;
    assert_eq!(project.read_file("new/file"), b"made");
    assert!(project.path("dangling").is_symlink());
}

#[tokio::test]
async fn link_to_the_outside_counts_as_outside() {
    let project = TestProject::with(&[("../outside/a", "x")]);
    project.link("link", "../outside/a");
    project.link("folder", "<base>/outside");
    project.link("dangling", "<base>/outside/not-yet");
    for path in ["link", "folder/new", "dangling", "../outside/b", "~/c"] {
        let preview = project.preview("write", json!({ "path": path, "content": "" })).await.unwrap();
        assert!(preview.touches.any_outside(), "{path}");
    }
    for path in ["new", "deep/new", "../project/new", "nowhere/../new"] {
        let preview = project.preview("write", json!({ "path": path, "content": "" })).await.unwrap();
        assert!(!preview.touches.any_outside(), "{path}");
    }
}

#[tokio::test]
async fn devices_and_kernel_files_are_refused() {
    let project = TestProject::new();
    project.link("zero", "/dev/zero");
    project
        .check(
            [
                ("read", json!({ "path": "/dev/zero" })),
                ("read", json!({ "path": "zero" })),
                ("read", json!({ "path": "/proc/self/environ" })),
                ("write", json!({ "path": "/dev/null", "content": "" })),
                ("grep", json!({ "pattern": "x", "path": "/proc" })),
                ("ls", json!({ "path": "/dev/fd" })),
            ],
            expect![[r#"
                > read {"path":"/dev/zero"}
                error: /dev/zero is in /dev, which contains devices and kernel data; if you need it, use bash
                > read {"path":"zero"}
                error: zero is in /dev, which contains devices and kernel data; if you need it, use bash
                > read {"path":"/proc/self/environ"}
                error: /proc/self/environ is in /proc, which contains devices and kernel data; if you need it, use bash
                > write {"path":"/dev/null","content":""}
                error: /dev/null is in /dev, which contains devices and kernel data; if you need it, use bash
                > grep {"pattern":"x","path":"/proc"}
                error: /proc is in /proc, which contains devices and kernel data; if you need it, use bash
                > ls {"path":"/dev/fd"}
                error: /dev/fd is in /proc, which contains devices and kernel data; if you need it, use bash
            "#]],
        )
        .await;
}

#[tokio::test]
async fn pipe_does_not_block_any_tool() {
    let project = TestProject::with(&[("a", "x")]);
    project.make_fifo("pipe");
    project.link("way", "pipe");
    project
        .check(
            [
                ("read", json!({ "path": "pipe" })),
                ("read", json!({ "path": "way" })),
                ("write", json!({ "path": "pipe", "content": "" })),
                ("edit", json!({ "path": "pipe", "edits": [{ "oldText": "a", "newText": "b" }] })),
                ("grep", json!({ "pattern": "x" })),
                ("grep", json!({ "pattern": "x", "path": "pipe" })),
            ],
            expect![[r#"
                > read {"path":"pipe"}
                error: pipe is a pipe, not a file
                > read {"path":"way"}
                error: pipe is a pipe, not a file
                > write {"path":"pipe","content":""}
                error: pipe is a pipe, not a file
                > edit {"path":"pipe","edits":[{"oldText":"a","newText":"b"}]}
                error: pipe is a pipe, not a file
                > grep {"pattern":"x"}
                a
                1: x
                > grep {"pattern":"x","path":"pipe"}
                error: pipe is a pipe, not a file
            "#]],
        )
        .await;
    assert_eq!(project.result_text("ls", json!({})).await, "a\npipe\nway -> pipe\n");
}

#[tokio::test]
async fn hostile_names_stay_on_one_line() {
    let project = TestProject::with(&[
        ("a\nb", "x"),
        ("bell\u{7}", "x"),
        ("turn\u{202e}txt.exe", "x"),
        (" space ", "x"),
        ("-rf", "x"),
    ]);
    use std::os::unix::ffi::OsStrExt;
    std::fs::write(project.path("").join(std::ffi::OsStr::from_bytes(b"broken\xff")), "x").unwrap();
    project
        .check(
            [
                ("ls", json!({})),
                ("find", json!({ "pattern": "*" })),
                ("read", json!({ "path": "a\nb" })),
                ("read", json!({ "path": "c\nd" })),
            ],
            expect![[r#"
                > ls {}
                 space 
                -rf
                a\nb
                bell\u{7}
                broken\xff
                turn\u{202e}txt.exe
                > find {"pattern":"*"}
                 space 
                -rf
                a\nb
                bell\u{7}
                broken\xff
                turn\u{202e}txt.exe
                > read {"path":"a\nb"}
                x
                > read {"path":"c\nd"}
                error: cannot read c\nd: no such file or folder; use find or ls to see what is there
            "#]],
        )
        .await;
    assert!(project.result_text("grep", json!({ "pattern": "x" })).await.contains("a\\nb\n1: x\n"));
}

#[tokio::test]
async fn tilde_is_expanded_only_at_the_start() {
    let mut project = TestProject::with(&[("~x", "here"), ("a/~", "there")]);
    assert_eq!(project.result_text("read", json!({ "path": "~x" })).await, "here\n");
    assert_eq!(project.result_text("read", json!({ "path": "a/~" })).await, "there\n");
    project.ctx.env = Default::default();
    project
        .check(
            [("read", json!({ "path": "~/x" }))],
            expect![[r#"
                > read {"path":"~/x"}
                error: cannot expand `~`: the home folder is unknown; use an absolute path
            "#]],
        )
        .await;
}
