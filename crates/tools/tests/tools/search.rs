//! `grep`, `find` and `ls`.

use expect_test::expect;
use serde_json::json;

use crate::support::Project;

fn sample() -> Project {
    Project::with(&[
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
async fn case_literal_glob_and_path() {
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
async fn context_lines_stand_around_matches() {
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
async fn ignored_files_are_left_out_unless_named_and_hidden_ones_unless_asked_for() {
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
                [no match; hidden and ignored files were not searched]
            "#]],
        )
        .await;
}

#[tokio::test]
async fn too_many_matches_are_cut_with_advice() {
    let project = sample();
    project
        .check(
            [("grep", json!({ "pattern": "needle", "limit": 1 }))],
            expect![[r#"
                > grep {"pattern":"needle","limit":1}
                a.txt
                4: needle (two)

                [more than 1 match: narrow the search with path, glob or pattern, or set limit]
            "#]],
        )
        .await;
    let exact = project.call("grep", json!({ "pattern": "needle", "limit": 3 })).await;
    assert_eq!(exact.details["truncated"], false, "as many as allowed are not too many");
    let project = Project::with(&[("a", &"x".repeat(2000))]);
    let told = project.told("grep", json!({ "pattern": "x" })).await;
    assert_eq!(told, format!("a\n1: {}…\n", "x".repeat(500)));
    let project = Project::with(&[("a", &format!("{}\n", "y".repeat(400)).repeat(1000))]);
    let told = project.told("grep", json!({ "pattern": "y", "limit": 100_000 })).await;
    assert!(told.len() < 60_000, "{}", told.len());
}

#[tokio::test]
async fn a_bad_pattern_is_explained() {
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
                error: `pattern` is no regular expression for single lines: regex parse error:
                    (?:fn main()
                    ^
                error: unclosed group
                if it is meant as plain text, set literal to true
                > grep {"pattern":"a\nb"}
                error: `pattern` is no regular expression for single lines: the literal "\n" is not allowed in a regex
                each line is searched by itself: leave the line break out
                > grep {"pattern":"x","glob":"{a"}
                error: `glob` is no glob: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?); examples: *.rs, src/**/*.{ts,tsx}
                > grep {"pattern":"x","path":"nowhere"}
                error: cannot search nowhere: no such file or folder; use find or ls to see what is there
            "#]],
        )
        .await;
}

#[tokio::test]
async fn binary_files_links_and_circles_are_passed_by() {
    let project = Project::with(&[("a", "needle\n"), ("../outside/b", "needle\n")]);
    project.put("bin", b"needle\0\0");
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

                [away leads through a symbolic link to <base>/outside]
            "#]],
        )
        .await;
}

#[tokio::test]
async fn utf16_files_with_a_mark_are_searched_too() {
    let project = Project::new();
    project.put("wide.txt", b"\xff\xfen\0e\0e\0d\0l\0e\0\n\0");
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

                [more than 2 names: narrow the glob or give a path, or set limit]
                > find {"pattern":"*.py"}
                [nothing matches; hidden and ignored files were left out]
                > find {"pattern":"*","path":"a.txt"}
                error: a.txt is not a folder: give the folder to search
                > find {"pattern":"["}
                error: `pattern` is no glob: unclosed character class; missing ']'; examples: *.rs, src/**/*.{ts,tsx}
            "#]],
        )
        .await;
}

#[tokio::test]
async fn a_folder_is_listed_without_what_is_ignored() {
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

                [2 names that .gitignore leaves out: set all to see them]
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

                [1 name that .gitignore leaves out: set all to see them]
                [way leads through a symbolic link to src]
                > ls {"limit":2}
                .git/
                .gitignore

                [4 names more: set limit, or use find to pick some]
                [2 names that .gitignore leaves out: set all to see them]
                > ls {"path":"a.txt"}
                error: a.txt is not a folder: use read to see what is in it
                > ls {"path":"nowhere"}
                error: cannot list nowhere: no such file or folder; use find or ls to see what is there
                > ls {"path":"../outside"}
                [the folder is empty]
            "#]],
        )
        .await;
}

#[tokio::test]
async fn a_search_can_be_cancelled() {
    let project = sample();
    project.ctx.cancel.cancel();
    for (name, arguments) in
        [("grep", json!({ "pattern": "x" })), ("find", json!({ "pattern": "*" })), ("ls", json!({}))]
    {
        assert_eq!(project.call(name, arguments).await.details["cancelled"], true, "{name}");
    }
}

#[tokio::test]
async fn a_list_of_names_has_an_end() {
    let project = Project::new();
    for number in 0..400 {
        project.put(&format!("{number:03}{}", "x".repeat(200)), b"");
    }
    let outcome = project.call("ls", json!({ "limit": 4_000_000_000u32 })).await;
    let text = outcome.plain_text();
    assert!(text.len() < project.ctx.limits.bytes + 100, "{}", text.len());
    assert!(text.ends_with(" more: set limit, or use find to pick some]"), "{text}");
    assert_eq!((&outcome.details["entries"], &outcome.details["truncated"]), (&json!(400), &json!(true)));
}

#[tokio::test]
async fn a_file_with_an_endless_line_is_given_up_and_told() {
    let project = Project::with(&[("a", "needle\n"), ("z", "needle\n")]);
    project.put("long", format!("{}\nneedle\n", "x".repeat(20 << 20)).as_bytes());
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

/// A cloned repository may bring any of these along; each would hang the search, or fill the memory.
#[tokio::test]
async fn ignore_files_that_are_no_files_are_not_opened() {
    let hostile: [fn(&Project, &str); 3] = [
        |project, name| project.link(name, "/dev/zero"),
        |project, name| project.pipe(name),
        |project, name| {
            let file = std::fs::File::create(project.path(name)).unwrap();
            file.set_len(1 << 40).unwrap();
        },
    ];
    for make in hostile {
        for name in [".gitignore", ".ignore", "sub/.gitignore", "sub/.git"] {
            let project = Project::with(&[("a.txt", "word"), ("sub/b.txt", "word"), ("deep/c.txt", "word")]);
            make(&project, name);
            for (tool, arguments) in [
                ("grep", json!({ "pattern": "word" })),
                ("find", json!({ "pattern": "*.txt" })),
                ("ls", json!({})),
            ] {
                let told = project.call(tool, arguments).await.plain_text();
                assert!(told.contains("a.txt"), "{name}, {tool}: {told}");
            }
            let seen: Vec<_> =
                osier_tools::files(&project.path("")).map(|entry| entry.path().to_owned()).collect();
            assert!(seen.iter().any(|path| path.ends_with("deep/c.txt")), "{name}: {seen:?}");
        }
    }
}
