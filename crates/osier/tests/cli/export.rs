//! `export`: Markdown, JSON, JSONL and HTML.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use osier_testkit::expect;
use serde_json::{Value, json};

use crate::support::{TestEnv, ids};

const TALK: &str = "say a; reply b calls read x.txt; result c; reply d; label good; say e; compact keep e \"the story so far\"; \
    move d; say f; name Talk";

#[test]
fn exports_markdown() {
    let env = TestEnv::with(TALK);
    env.check(
        &["export s.jsonl"],
        expect![[r#"
        $ export s.jsonl
        # Talk

        ## User · 2026-01-01 00:00

        a

        ## Assistant (claude) · 2026-01-01 00:00

        b

        **Call** `read`

        ```json
        {"path":"x.txt"}
        ```

        **Result** of `read`

        ```
        c
        ```

        ## Assistant (claude) [good] · 2026-01-01 00:00

        d

        ## User · 2026-01-01 00:00

        f
    "#]],
    );
    assert_eq!(env.ok("export s.jsonl --format md"), env.ok("export s.jsonl"));
}

#[test]
fn exports_json() {
    let env = TestEnv::with(TALK);
    let export = env.json("export s.jsonl");
    assert_eq!(export["session"], env.json("show s.jsonl"));
    let items = export["transcript"].as_array().unwrap();
    assert_eq!(ids(&export["transcript"]), ["00000001", "00000002", "00000003", "00000004", "00000009"]);
    assert_eq!((&items[3]["text"], &items[3]["label"]), (&json!("d"), &json!("good")));
    assert_eq!(items[1]["toolCalls"][0]["arguments"], json!({ "path": "x.txt" }));
    assert_eq!(env.ok("export s.jsonl --format json"), env.ok("export s.jsonl --json"));
}

#[test]
fn exports_a_session_file_with_only_the_path() {
    let env = TestEnv::with(TALK);
    env.ok("export s.jsonl --output path.jsonl");
    env.check(
        &["tree path.jsonl --filter all"],
        expect![[r#"
        $ tree path.jsonl --filter all
        user: "a"
        assistant: "b"
        [read: x.txt]
        [good] assistant: "d"
        user: "f"
        [title: Talk]
        [label: good]  ← active
    "#]],
    );
    assert_eq!(env.json("context path.jsonl")["messages"], env.json("context s.jsonl")["messages"]);
    assert_eq!(env.json("verify path.jsonl")["sound"], true);
    let header: Value = serde_json::from_str(&env.lines("path.jsonl")[0]).unwrap();
    assert_eq!(header.get("parentSession"), None, "an export has no parent");
    assert_eq!(header["cwd"], "/code");
    assert_ne!(header["id"], "5e551011-0000-4000-8000-000000000001");
    let out = env.ok("export s.jsonl --format jsonl");
    assert_eq!(out.lines().count(), env.lines("path.jsonl").len());
}

#[test]
fn at_ends_the_path_at_another_entry() {
    let env = TestEnv::with(TALK);
    let items = env.json("export s.jsonl --at 00000007")["transcript"].clone();
    assert_eq!(items.as_array().unwrap().last().unwrap()["kind"], "compaction");
    assert_eq!(items.as_array().unwrap().len(), 6, "includes what the compaction hides from the model");
    env.fails(1, "export s.jsonl --at 0000000f");
}

#[test]
fn output_file_is_new_and_its_extension_selects_the_format() {
    let env = TestEnv::with(TALK);
    for (name, sign) in
        [("a.md", "# Talk"), ("a.json", "{"), ("a.jsonl", "{\"type\":\"session\""), ("a.txt", "# Talk")]
    {
        assert_eq!(env.ok(&format!("export s.jsonl -o {name}")), "");
        assert!(env.lines(name)[0].starts_with(sign), "{name}");
    }
    assert_eq!(fs::metadata(env.path("a.md")).unwrap().permissions().mode() & 0o777, 0o600);
    let error = env.fails(1, "export s.jsonl -o a.md");
    assert!(error.starts_with("osier: a.md already exists; choose another name"), "{error}");
    env.fails(1, "export s.jsonl -o no/such/folder/a.md");
    env.fails(2, "export s.jsonl --format md --json");
}

#[test]
fn unknown_extension_is_rejected() {
    let env = TestEnv::with(TALK);
    for name in ["x.docx", "x.PDF"] {
        let error = env.fails(2, &format!("export s.jsonl -o {name}"));
        let end = name[2..].to_lowercase();
        assert_eq!(
            error,
            format!(
                "osier: cannot export to .{end}: unknown format; use .md, .html, .json or .jsonl, or choose one with --format\n"
            )
        );
        assert!(!env.path(name).exists());
    }
    env.fails(2, "export s.jsonl --format pdf");
    env.ok("export s.jsonl -o x.MD");
    env.ok("export s.jsonl -o plain");
    env.ok("export s.jsonl --format md -o x.html");
    assert_eq!(env.read("x.html"), env.read("x.MD"), "--format overrides the extension");
}

/// The browser tests of the viewer check what a page shows; this checks what is in the file.
#[test]
fn exports_one_page_with_all_branches_except_deleted_ones() {
    let env = TestEnv::with(
        "say first; reply <b>second</b>; label kept; move first; reply zebra; delete zebra; unlabel first",
    );
    env.ok("export s.jsonl -o x.html");
    let page = String::from_utf8(env.read("x.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    assert!(page.contains("\\u003cp\\u003efirst") && page.contains("lt;b"), "{page}");
    assert!(page.contains(r#"["00000002","kept"]"#), "labels are in the page");
    assert!(!page.contains("zebra"), "deleted branches are not in the page");
    assert!(page.contains("2 in 1 branch<"), "nor are they counted");
    assert_eq!(env.ok("export s.jsonl --format html"), page);
}

/// A page that is shared says nothing about what was deleted or cleared.
#[test]
fn an_exported_page_has_no_labels_that_were_cleared_or_are_in_deleted_branches() {
    let env = TestEnv::with(
        "say first; label walrus; unlabel first; label ocelot; label kept on first; reply second; say gone; label okapi on gone; move second; say third; delete gone",
    );
    let page = env.ok("export s.jsonl --format html");
    for word in ["walrus", "ocelot", "okapi"] {
        assert!(!page.contains(word), "{word} in {page}");
    }
    assert!(page.contains("kept") && page.contains("third"));
    // What is saved from the page is the same session without them.
    let lines: Vec<String> = page
        .split("class=\"lines\"")
        .skip(1)
        .flat_map(|block| {
            let json = block.split_once('>').unwrap().1.split_once("</script>").unwrap().0;
            serde_json::from_str::<Vec<String>>(json).unwrap()
        })
        .collect();
    fs::write(env.path("saved.jsonl"), lines.join("\n") + "\n").unwrap();
    assert_eq!(env.ok("export saved.jsonl --format md"), env.ok("export s.jsonl --format md"));
}

#[test]
fn title_falls_back_to_summary_and_first_words() {
    let env = TestEnv::with("say what is this; reply b");
    assert!(env.ok("export s.jsonl").starts_with("# what is this\n"));
    env.ok("config s.jsonl 'summary=a question'");
    assert!(env.ok("export s.jsonl").starts_with("# a question\n"));
    env.ok("rename s.jsonl Name");
    assert!(env.ok("export s.jsonl").starts_with("# Name\n"));
}

#[test]
fn a_missing_folder_is_reported_without_the_name_of_a_temporary_file() {
    let env = TestEnv::with(TALK);
    let error = env.fails(1, "export s.jsonl -o nowhere/x.html");
    assert!(error.contains("nowhere/x.html: No such file or directory"), "{error}");
    assert!(!error.contains(".osier-"), "{error}");
}
