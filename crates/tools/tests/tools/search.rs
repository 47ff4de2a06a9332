//! `grep`, `find` and `ls`.

use expect_test::expect;
use serde_json::json;

use crate::support::TestProject;

fn sample() -> TestProject {
    TestProject::with(&[
        (".gitignore", "target/\n*.log\n"),
        (".hidden", "needle\n"),
        (".git/config", "needle\n"),
        ("a.txt", "hay\nNeedle one\nhay\nneedle (two)\nhay\nhay\nneedle three\n"),
        ("src/b.rs", "fn needle() {}\n"),
        ("src/deep/c.rs", "// nothing\n"),
        ("src/.gitignore", "generated.rs\n"),
        ("src/generated.rs", "needle\n"),
        ("target/out", "needle\n"),
        ("run.log", "needle\n"),
    ])
}

#[tokio::test]
async fn matches_are_grouped_by_file_with_line_numbers() {
    let project = sample();
    project
        .check(
            [("grep", json!({ "pattern": "needle" }))],
            expect![[r#"
                > grep {"pattern":"needle"}
                a.txt
                4: needle (two)
                7: needle three

                src/b.rs
                1: fn needle() {}
            "#]],
        )
        .await;
    let details = project.call("grep", json!({ "pattern": "needle" })).await.details;
    assert_eq!(
        (&details["matches"], &details["files"], &details["truncated"]),
        (&json!(3), &json!(2), &json!(false))
    );
}

#[tokio::test]
async fn ignore_case_literal_glob_and_path_work() {
    let project = sample();
    project
        .check(
            [
                ("grep", json!({ "pattern": "NEEDLE", "ignoreCase": true, "glob": "*.txt" })),
                ("grep", json!({ "pattern": "(two)", "literal": true })),
                ("grep", json!({ "pattern": "needle", "path": "src" })),
                ("grep", json!({ "pattern": "needle", "path": "./src/b.rs" })),
                ("grep", json!({ "pattern": "needle", "path": "../project/src", "glob": "**/b.*" })),
            ],
            expect![[r#"
                > grep {"pattern":"NEEDLE","ignoreCase":true,"glob":"*.txt"}
                a.txt
                2: Needle one
                4: needle (two)
                7: needle three
                > grep {"pattern":"(two)","literal":true}
                a.txt
                4: needle (two)
                > grep {"pattern":"needle","path":"src"}
                src/b.rs
                1: fn needle() {}
                > grep {"pattern":"needle","path":"./src/b.rs"}
                src/b.rs
                1: fn needle() {}
                > grep {"pattern":"needle","path":"../project/src","glob":"**/b.*"}
                src/b.rs
                1: fn needle() {}
            "#]],
        )
        .await;
}

#[tokio::test]
async fn context_lines_are_shown_around_matches() {
    let project = sample();
    project
        .check(
            [("grep", json!({ "pattern": "needle", "context": 1, "glob": "a.txt" }))],
            expect![[r#"
                > grep {"pattern":"needle","context":1,"glob":"a.txt"}
                a.txt
                3- hay
                4: needle (two)
                5- hay
                6- hay
                7: needle three
            "#]],
        )
        .await;
}

#[tokio::test]
async fn ignored_and_hidden_files_are_skipped_unless_requested() {
    let project = sample();
    project
        .check(
            [
                ("grep", json!({ "pattern": "needle", "hidden": true, "glob": "!*.{txt,rs}" })),
                ("grep", json!({ "pattern": "needle", "path": "run.log" })),
                ("grep", json!({ "pattern": "needle", "path": "target" })),
                ("grep", json!({ "pattern": "absent" })),
            ],
            expect![[r#"
                > grep {"pattern":"needle","hidden":true,"glob":"!*.{txt,rs}"}
                .hidden
                1: needle
                > grep {"pattern":"needle","path":"run.log"}
                run.log
                1: needle
                > grep {"pattern":"needle","path":"target"}
                target/out
                1: needle
                > grep {"pattern":"absent"}
                [no matches; hidden and ignored files were not searched]
            "#]],
        )
        .await;
}

#[tokio::test]
async fn too_many_matches_are_truncated_with_a_hint() {
    let project = sample();
    project
        .check(
            [("grep", json!({ "pattern": "needle", "limit": 1 }))],
            expect![[r#"
                > grep {"pattern":"needle","limit":1}
                a.txt
                4: needle (two)

                [more than 1 match; narrow the search with path, glob or pattern, or raise limit]
            "#]],
        )
        .await;
    let exact = project.call("grep", json!({ "pattern": "needle", "limit": 3 })).await;
    assert_eq!(exact.details["truncated"], false, "exactly the limit is not truncated");
    let project = TestProject::with(&[("a", &"x".repeat(2000))]);
    let text = project.result_text("grep", json!({ "pattern": "x" })).await;
    assert_eq!(text, format!("a\n1: {}…\n", "x".repeat(500)));
    let project = TestProject::with(&[("a", &format!("{}\n", "y".repeat(400)).repeat(1000))]);
    let text = project.result_text("grep", json!({ "pattern": "y", "limit": 100_000 })).await;
    assert!(text.len() < 60_000, "{}", text.len());
}

#[tokio::test]
async fn invalid_pattern_is_explained() {
    let project = sample();
    project
        .check(
            [
                ("grep", json!({ "pattern": "fn main(" })),
                ("grep", json!({ "pattern": "a\nb" })),
                ("grep", json!({ "pattern": "x", "glob": "{a" })),
                ("grep", json!({ "pattern": "x", "path": "nowhere" })),
            ],
            expect![[r#"
                > grep {"pattern":"fn main("}
                error: `pattern` is not a valid regular expression for single lines: regex parse error:
                    (?:fn main()
                    ^
                error: unclosed group
                to search for plain text, set literal to true
                > grep {"pattern":"a\nb"}
                error: `pattern` is not a valid regular expression for single lines: the literal "\n" is not allowed in a regex
                each line is searched separately; remove the line break
                > grep {"pattern":"x","glob":"{a"}
                error: `glob` is not a valid glob: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?); examples: *.rs, src/**/*.{ts,tsx}
                > grep {"pattern":"x","path":"nowhere"}
                error: cannot search nowhere: no such file or folder; use find or ls to see what is there
            "#]],
        )
        .await;
}

#[tokio::test]
async fn binary_files_links_and_link_loops_are_skipped() {
    let project = TestProject::with(&[("a", "needle\n"), ("../outside/b", "needle\n")]);
    project.write_file("bin", b"needle\0\0");
    project.link("circle", ".");
    project.link("away", "../outside");
    project
        .check(
            [
                ("grep", json!({ "pattern": "needle" })),
                ("find", json!({ "pattern": "*" })),
                ("grep", json!({ "pattern": "needle", "path": "away" })),
            ],
            expect![[r#"
                > grep {"pattern":"needle"}
                a
                1: needle
                > find {"pattern":"*"}
                a
                away
                bin
                circle
                > grep {"pattern":"needle","path":"away"}
                <base>/outside/b
                1: needle

                [away resolves through a symbolic link to <base>/outside]
            "#]],
        )
        .await;
}

#[tokio::test]
async fn utf16_files_with_a_byte_order_mark_are_searched() {
    let project = TestProject::new();
    project.write_file("wide.txt", b"\xff\xfen\0e\0e\0d\0l\0e\0\n\0");
    project
        .check(
            [("grep", json!({ "pattern": "needle" }))],
            expect![[r#"
                > grep {"pattern":"needle"}
                wide.txt
                1: needle
            "#]],
        )
        .await;
}

#[tokio::test]
async fn names_are_found_by_glob() {
    let project = sample();
    project
        .check(
            [
                ("find", json!({ "pattern": "*.rs" })),
                ("find", json!({ "pattern": "src/*" })),
                ("find", json!({ "pattern": "**/c.rs" })),
                ("find", json!({ "pattern": "*.rs", "path": "src/deep" })),
                ("find", json!({ "pattern": "*", "hidden": true })),
                ("find", json!({ "pattern": "*", "limit": 2 })),
                ("find", json!({ "pattern": "*.py" })),
                ("find", json!({ "pattern": "*", "path": "a.txt" })),
                ("find", json!({ "pattern": "[" })),
            ],
            expect![[r#"
                > find {"pattern":"*.rs"}
                src/b.rs
                src/deep/c.rs
                > find {"pattern":"src/*"}
                src/b.rs
                src/deep/
                > find {"pattern":"**/c.rs"}
                src/deep/c.rs
                > find {"pattern":"*.rs","path":"src/deep"}
                src/deep/c.rs
                > find {"pattern":"*","hidden":true}
                .gitignore
                .hidden
                a.txt
                src/
                src/.gitignore
                src/b.rs
                src/deep/
                src/deep/c.rs
                > find {"pattern":"*","limit":2}
                a.txt
                src/

                [more than 2 names; narrow the glob, give a path, or raise limit]
                > find {"pattern":"*.py"}
                [no matches; hidden and ignored files were not searched]
                > find {"pattern":"*","path":"a.txt"}
                error: a.txt is not a folder; give the folder to search
                > find {"pattern":"["}
                error: `pattern` is not a valid glob: unclosed character class; missing ']'; examples: *.rs, src/**/*.{ts,tsx}
            "#]],
        )
        .await;
}

#[tokio::test]
async fn folder_listing_leaves_out_ignored_files() {
    let project = sample();
    project.link("way", "src");
    project
        .check(
            [
                ("ls", json!({})),
                ("ls", json!({ "all": true })),
                ("ls", json!({ "path": "target" })),
                ("ls", json!({ "path": "way" })),
                ("ls", json!({ "limit": 2 })),
                ("ls", json!({ "path": "a.txt" })),
                ("ls", json!({ "path": "nowhere" })),
                ("ls", json!({ "path": "../outside" })),
            ],
            expect![[r#"
                > ls {}
                .git/
                .gitignore
                .hidden
                a.txt
                src/
                way -> src

                [2 names are ignored by .gitignore; set all to see them]
                > ls {"all":true}
                .git/
                .gitignore
                .hidden
                a.txt
                run.log
                src/
                target/
                way -> src
                > ls {"path":"target"}
                out
                > ls {"path":"way"}
                .gitignore
                b.rs
                deep/

                [1 name is ignored by .gitignore; set all to see them]
                [way resolves through a symbolic link to src]
                > ls {"limit":2}
                .git/
                .gitignore

                [4 more names; raise limit, or use find to select some]
                [2 names are ignored by .gitignore; set all to see them]
                > ls {"path":"a.txt"}
                error: a.txt is not a folder; use read to see its content
                > ls {"path":"nowhere"}
                error: cannot list nowhere: no such file or folder; use find or ls to see what is there
                > ls {"path":"../outside"}
                [the folder is empty]
            "#]],
        )
        .await;
}

#[tokio::test]
async fn search_can_be_canceled() {
    let project = sample();
    project.ctx.cancel.cancel();
    for (name, arguments) in
        [("grep", json!({ "pattern": "x" })), ("find", json!({ "pattern": "*" })), ("ls", json!({}))]
    {
        assert_eq!(project.call(name, arguments).await.details["cancelled"], true, "{name}");
    }
}

#[tokio::test]
async fn listing_is_limited_in_bytes() {
    let project = TestProject::new();
    for number in 0..400 {
        project.write_file(&format!("{number:03}{}", "x".repeat(200)), b"");
    }
    let outcome = project.call("ls", json!({ "limit": 4_000_000_000u32 })).await;
    let text = outcome.plain_text();
    assert!(text.len() < project.ctx.limits.bytes + 100, "{}", text.len());
    assert!(text.ends_with(" more names; raise limit, or use find to select some]"), "{text}");
    assert_eq!((&outcome.details["entries"], &outcome.details["truncated"]), (&json!(400), &json!(true)));
}

#[tokio::test]
async fn file_with_a_too_long_line_is_skipped_and_reported() {
    let project = TestProject::with(&[("a", "needle\n"), ("z", "needle\n")]);
    project.write_file("long", format!("{}\nneedle\n", "x".repeat(20 << 20)).as_bytes());
    project
        .check(
            [("grep", json!({ "pattern": "needle" }))],
            expect![[r#"
                > grep {"pattern":"needle"}
                a
                1: needle

                z
                1: needle

                [1 file was not searched to the end: a line is longer than 8.0 MB; use bash for it]
            "#]],
        )
        .await;
}

/// A cloned repository may contain any of these; reading one would hang the search or fill the memory.
#[tokio::test]
async fn ignore_files_that_are_not_regular_files_are_not_opened() {
    let hostile: [fn(&TestProject, &str); 3] = [
        |project, name| project.link(name, "/dev/zero"),
        |project, name| project.make_fifo(name),
        |project, name| {
            let file = std::fs::File::create(project.path(name)).unwrap();
            file.set_len(1 << 40).unwrap();
        },
    ];
    for make in hostile {
        for name in [".gitignore", ".ignore", "sub/.gitignore", "sub/.git"] {
            let project =
                TestProject::with(&[("a.txt", "word"), ("sub/b.txt", "word"), ("deep/c.txt", "word")]);
            make(&project, name);
            for (tool, arguments) in [
                ("grep", json!({ "pattern": "word" })),
                ("find", json!({ "pattern": "*.txt" })),
                ("ls", json!({})),
            ] {
                let text = project.call(tool, arguments).await.plain_text();
                assert!(text.contains("a.txt"), "{name}, {tool}: {text}");
            }
            let seen: Vec<_> = osier_tools::unignored_files(&project.path(""))
                .map(|entry| entry.path().to_owned())
                .collect();
            assert!(seen.iter().any(|path| path.ends_with("deep/c.txt")), "{name}: {seen:?}");
        }
    }
}
