//! What a branch summary is made of: from the place left back to the common ancestor, newest first within a budget.

use expect_test::{Expect, expect};
use osier_testkit::Script;
use osier_tree::SessionTree;

/// Leaves the leaf of a script for an entry, and shows what a summariser would be told.
#[track_caller]
fn check(script: &str, chosen: &str, expected: Expect) {
    check_within(script, chosen, 0, expected);
}

#[track_caller]
fn check_within(script: &str, chosen: &str, budget: u64, expected: Expect) {
    let script = Script::run(script);
    let chosen = (chosen != "root").then(|| script.seq(chosen));
    let leaving = script.tree.leaving(script.tree.leaf(), chosen);
    let left = leaving.prepare(&script.tree, budget, &script.lines);
    let ancestor = leaving.ancestor.map_or("root".to_owned(), |seq| name(&script.tree, seq));
    let ids: Vec<String> = leaving.entries.iter().map(|seq| name(&script.tree, *seq)).collect();
    let told = left.text.split("\n\n").map(|text| text.split(" xx").next().unwrap_or_default());
    let told: Vec<&str> = told.filter(|text| !text.is_empty()).collect();
    expected.assert_eq(&format!(
        "from {ancestor}: {}\n{} tokens in {}\n{}{}\n",
        ids.join(" "),
        left.tokens,
        left.told.len(),
        told.join("\n"),
        left.files.blocks()
    ));
}

fn name(tree: &SessionTree, seq: osier_tree::Seq) -> String {
    tree.id(seq).as_str().trim_start_matches('0').to_owned()
}

#[test]
fn what_lies_below_the_common_ancestor_is_told() {
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
fn nothing_is_left_on_going_further_down() {
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
fn a_message_that_is_to_be_said_again_is_not_left() {
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
fn everything_is_left_on_going_before_the_first() {
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
fn calls_are_told_and_results_are_not() {
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
fn a_compaction_stands_for_what_it_hides() {
    check(
        "say a; reply b; say c; reply d calls edit z; result ok; say e; reply f; compact keep e so-far; say g; reply h",
        "b",
        expect![[r#"
            from 2: 3 4 5 6 7 8 9 a
            6 tokens in 5
            [User]: The conversation up to here is told by this summary:
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
fn a_compaction_of_the_common_part_is_not_told() {
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
fn a_compaction_that_hides_only_the_common_part_tells_nothing_of_the_branch() {
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
fn files_of_earlier_summaries_are_carried_along() {
    check(
        r#"say a; reply b
           entry {"type":"branch_summary","fromId":"root","summary":"earlier","details":{"readFiles":["r","m"],"modifiedFiles":["m"]}}
           entry {"type":"branch_summary","fromId":"root","summary":"by hook","fromHook":true,"details":{"readFiles":["hook"],"modifiedFiles":[]}}
           reply c calls read m, read n; result ok; result ok"#,
        "b",
        expect![[r#"
            from 2: 3 4 5 6 7
            13 tokens in 3
            [User]: A branch of this conversation was left; this is its summary:
            <summary>
            earlier
            </summary>
            [User]: A branch of this conversation was left; this is its summary:
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
            [User]: The conversation up to here is told by this summary:
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
fn the_newest_is_told_first_and_files_count_where_they_were_seen() {
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
    // Of a message that does not fit at all, the beginning.
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
fn a_long_summary_is_told_unless_hardly_any_room_is_left() {
    let script = "say a; reply b; say c; summarize earlier ~100 at b; say d ~20; say e ~20";
    check_within(
        script,
        "b",
        50,
        expect![[r#"
        from 2: 4 5 6
        140 tokens in 3
        [User]: A branch of this conversation was left; this is its summary:
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
fn what_models_do_not_see_is_not_told() {
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
fn nothing_said_is_nothing_told() {
    check(
        "say a; reply b; label x; model p/m",
        "b",
        expect![[r#"
        from 2: 3 4
        0 tokens in 0

    "#]],
    );
}
