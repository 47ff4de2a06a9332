//! Search in the tree view.

use super::*;

fn find(search: &str, expected: Expect) {
    let script = "say Fix the parser; reply done; label milestone; say write docs; bash cargo test; move done; reply parser again calls read parser.rs; result fn parse";
    with(OutlineOptions { search: search.to_owned(), ..OutlineOptions::default() })(script, expected);
}

#[test]
fn all_words_must_match_ignoring_case() {
    find(
        "PARSER",
        expect![[r#"
            user: "Fix the parser"
            assistant: "parser again"
            [read: parser.rs]  ← active
        "#]],
    );
    find(
        "the fix",
        expect![[r#"
            user: "Fix the parser"  ← active
        "#]],
    );
    find("fix nothing", expect![[""]]);
}

#[test]
fn labels_roles_commands_and_tools_are_searched() {
    find(
        "mileSTONE",
        expect![[r#"
            [milestone] assistant: "done"  ← active
        "#]],
    );
    find(
        "user",
        expect![[r#"
            user: "Fix the parser"  ← active
            user: "write docs"
        "#]],
    );
    find(
        "cargo",
        expect![[r#"
            [bash]: cargo test
        "#]],
    );
    find(
        "parser.rs",
        expect![[r#"
            [read: parser.rs]  ← active
        "#]],
    );
    find(
        "toolresult",
        expect![[r#"
            [read: parser.rs]  ← active
        "#]],
    );
}
