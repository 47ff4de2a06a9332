//! The text of an abandoned branch for the summarizer: up to the common ancestor, newest first within a budget.

use expect_test::{Expect, expect};
use osier_testkit::ScriptedSession;
use osier_tree::SessionTree;

/// Moves from the leaf of a script to an entry, and compares the text for the summarizer.
#[track_caller]
fn check(script: &str, chosen: &str, expected: Expect) {
    check_within(script, chosen, 0, expected);
}

#[track_caller]
fn check_within(script: &str, chosen: &str, budget: u64, expected: Expect) {
    let script = ScriptedSession::run(script);
    let chosen = (chosen != "root").then(|| script.seq(chosen));
    let branch = script.tree.abandoned_branch(script.tree.leaf(), chosen);
    let left = branch.collect_text(&script.tree, budget, &script.lines);
    let ancestor = branch.ancestor.map_or("root".to_owned(), |seq| name(&script.tree, seq));
    let ids: Vec<String> = branch.entries.iter().map(|seq| name(&script.tree, *seq)).collect();
    let paragraphs = left.text.split("\n\n").map(|text| text.split(" xx").next().unwrap_or_default());
    let paragraphs: Vec<&str> = paragraphs.filter(|text| !text.is_empty()).collect();
    expected.assert_eq(&format!(
        "from {ancestor}: {}\n{} tokens in {}\n{}{}\n",
        ids.join(" "),
        left.tokens,
        left.entries.len(),
        paragraphs.join("\n"),
        left.files.summary_blocks()
    ));
}

fn name(tree: &SessionTree, seq: osier_tree::Seq) -> String {
    tree.id(seq).as_str().trim_start_matches('0').to_owned()
}

#[test]
fn the_text_starts_below_the_common_ancestor() {
    check(
        "say a; reply b; say c; reply d; move b; say e; reply f",
        "d",
        expect![[r#"
        from 2: 6 7
        2 tokens in 2
        [User]: e
        [Assistant]: f
    "#]],
    );
}

#[test]
fn moving_down_the_same_branch_abandons_nothing() {
    check(
        "say a; reply b; say c; move a",
        "c",
        expect![[r#"
        from 1: 
        0 tokens in 0

    "#]],
    );
    check(
        "say a; reply b",
        "b",
        expect![[r#"
        from 2: 
        0 tokens in 0

    "#]],
    );
}

#[test]
fn a_message_chosen_for_editing_is_not_included() {
    check(
        "say a; reply b; say c; reply d",
        "c",
        expect![[r#"
        from 3: 4
        1 tokens in 1
        [Assistant]: d
    "#]],
    );
}

#[test]
fn moving_before_the_first_entry_abandons_everything() {
    check(
        "say a; reply b; label x; say c",
        "root",
        expect![[r#"
        from root: 1 2 3 4
        3 tokens in 3
        [User]: a
        [Assistant]: b
        [User]: c
    "#]],
    );
}

#[test]
fn calls_are_included_and_results_are_not() {
    check(
        "say a; reply b; say c; reply d calls read x, bash ls; result lots; result more; reply e calls write y; result ok",
        "b",
        expect![[r#"
            from 2: 3 4 5 6 7 8
            16 tokens in 3
            [User]: c
            [Assistant]: d
            [Assistant tool calls]: read(path="x"); bash(command="ls")
            [Assistant]: e
            [Assistant tool calls]: write(path="y")

            <read-files>
            x
            </read-files>

            <modified-files>
            y
            </modified-files>
        "#]],
    );
}

#[test]
fn a_compaction_represents_what_it_hides() {
    check(
        "say a; reply b; say c; reply d calls edit z; result ok; say e; reply f; compact keep e so-far; say g; reply h",
        "b",
        expect![[r#"
            from 2: 3 4 5 6 7 8 9 a
            6 tokens in 5
            [User]: This is a summary of the conversation so far:
            <summary>
            so-far
            </summary>
            [User]: e
            [Assistant]: f
            [User]: g
            [Assistant]: h
        "#]],
    );
}

#[test]
fn a_compaction_on_the_shared_path_is_not_included() {
    check(
        "say a; reply b; say c; compact keep c so-far; say d; reply e; say f",
        "e",
        expect![[r#"
            from 6: 7
            1 tokens in 1
            [User]: f
        "#]],
    );
    check(
        "say a; reply b; say c; reply d; compact keep b so-far; say e; move d",
        "a",
        expect![[r#"
        from 1: 2 3 4
        3 tokens in 3
        [Assistant]: b
        [User]: c
        [Assistant]: d
    "#]],
    );
}

#[test]
fn a_compaction_that_hides_only_the_shared_part_is_not_included() {
    let script = "say a; reply b; say c; reply d; compact keep c so-far; say e; reply f";
    check(
        script,
        "d",
        expect![[r#"
        from 4: 5 6 7
        2 tokens in 2
        [User]: e
        [Assistant]: f
    "#]],
    );
    check(
        script,
        "b",
        expect![[r#"
        from 2: 3 4 5 6 7
        4 tokens in 4
        [User]: c
        [Assistant]: d
        [User]: e
        [Assistant]: f
    "#]],
    );
    let nothing_kept =
        r#"say a; reply b; entry {"type":"compaction","firstKeptEntryId":"gone","summary":"so far"}; say c"#;
    check(
        nothing_kept,
        "b",
        expect![[r#"
        from 2: 3 4
        1 tokens in 1
        [User]: c
    "#]],
    );
}

#[test]
fn files_of_earlier_summaries_are_included() {
    check(
        r#"say a; reply b
           entry {"type":"branch_summary","fromId":"root","summary":"earlier","details":{"readFiles":["r","m"],"modifiedFiles":["m"]}}
           entry {"type":"branch_summary","fromId":"root","summary":"by hook","fromHook":true,"details":{"readFiles":["hook"],"modifiedFiles":[]}}
           reply c calls read m, read n; result ok; result ok"#,
        "b",
        expect![[r#"
            from 2: 3 4 5 6 7
            13 tokens in 3
            [User]: This is a summary of another branch of this conversation:
            <summary>
            earlier
            </summary>
            [User]: This is a summary of another branch of this conversation:
            <summary>
            by hook
            </summary>
            [Assistant]: c
            [Assistant tool calls]: read(path="m"); read(path="n")

            <read-files>
            n
            r
            </read-files>

            <modified-files>
            m
            </modified-files>
        "#]],
    );
    check(
        r#"say a; reply b; say c
           entry {"type":"compaction","firstKeptEntryId":"00000003","tokensBefore":9,"summary":"so far","details":{"readFiles":["r"],"modifiedFiles":["m"]}}
           reply d calls write n; result ok"#,
        "a",
        expect![[r#"
            from 1: 2 3 4 5 6
            8 tokens in 3
            [User]: This is a summary of the conversation so far:
            <summary>
            so far
            </summary>
            [User]: c
            [Assistant]: d
            [Assistant tool calls]: write(path="n")

            <read-files>
            r
            </read-files>

            <modified-files>
            m
            n
            </modified-files>
        "#]],
    );
}

#[test]
fn the_newest_entries_fit_first_and_only_their_files_are_listed() {
    let script = "say a; reply b; say c ~20; reply d ~20 calls read far; result ok; reply e ~20 calls read near; result ok; say f ~20";
    check_within(
        script,
        "b",
        100,
        expect![[r#"
        from 2: 3 4 5 6 7 8
        90 tokens in 4
        [User]: c
        [Assistant]: d
        [Assistant tool calls]: read(path="far")
        [Assistant]: e
        [Assistant tool calls]: read(path="near")
        [User]: f

        <read-files>
        far
        near
        </read-files>
    "#]],
    );
    check_within(
        script,
        "b",
        60,
        expect![[r#"
        from 2: 3 4 5 6 7 8
        45 tokens in 2
        [Assistant]: e
        [Assistant tool calls]: read(path="near")
        [User]: f

        <read-files>
        far
        near
        </read-files>
    "#]],
    );
    check_within(
        script,
        "b",
        30,
        expect![[r#"
        from 2: 3 4 5 6 7 8
        20 tokens in 1
        [User]: f

        <read-files>
        near
        </read-files>
    "#]],
    );
    // A message that does not fit at all is truncated.
    check_within(
        script,
        "b",
        10,
        expect![[r#"
            from 2: 3 4 5 6 7 8
            10 tokens in 1
            [User]: f
            [... 48 more characters truncated]
        "#]],
    );
}

#[test]
fn a_long_summary_is_included_unless_the_budget_is_nearly_used() {
    let script = "say a; reply b; say c; summarize earlier ~100 at b; say d ~20; say e ~20";
    check_within(
        script,
        "b",
        50,
        expect![[r#"
        from 2: 4 5 6
        140 tokens in 3
        [User]: This is a summary of another branch of this conversation:
        <summary>
        earlier
        [User]: d
        [User]: e
    "#]],
    );
    check_within(
        script,
        "b",
        42,
        expect![[r#"
        from 2: 4 5 6
        40 tokens in 2
        [User]: d
        [User]: e
    "#]],
    );
}

#[test]
fn content_excluded_from_the_context_is_not_included() {
    check(
        r#"say a; reply b; system prompt; aside secret; bash ls; note t noted; hidden t unseen
           entry {"type":"custom_message","customType":"t","content":"not for models","display":true,"inContext":false}
           entry {"type":"message","message":{"role":"odd","content":"odd"}}
           model p/m; custom state; say c; say d; omit c; edit d D"#,
        "b",
        expect![[r#"
            from 2: 3 4 5 6 7 8 9 a b c d e f
            6 tokens in 4
            [User]: The user ran `ls`:
            ```
            ok
            ```
            [User]: noted
            [User]: unseen
            [User]: D
        "#]],
    );
}

#[test]
fn a_branch_without_messages_gives_no_text() {
    check(
        "say a; reply b; label x; model p/m",
        "b",
        expect![[r#"
        from 2: 3 4
        0 tokens in 0

    "#]],
    );
}
