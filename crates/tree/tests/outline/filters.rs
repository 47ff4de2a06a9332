//! The filters of the tree view.

use super::*;

const MIXED: &str = r#"
    model anthropic/claude; thinking low; system be good; say a
    reply b calls read x.txt; result one; reply calls bash ls, grep foo; result two; error three
    reply c; label good; name title; custom state; note info hello; hidden info secret; omit a
    config mode=yolo; spend 5; summarize left at b; compact keep left "sum"; bash ls; say d; backtrack 0 again
    fail boom; abort; batch one, two; entry {"type":"brand new"}; move c; delete d; move b
"#;

#[test]
fn default_hides_bookkeeping() {
    check(
        MIXED,
        expect![[r#"
            user: "a"
            ├─ assistant: "b"  ← active
            │  ├─ [read: x.txt]
            │  │  [bash: ls]
            │  │  [grep: /foo/ in .]
            │  │  [good] assistant: "c"
            │  │  [info]: hello
            │  └─ [branch summary]: left
            │     [compaction: 12k tokens]
            │     [bash]: ls
            └─ [backtrack to checkpoint 0: again]
               assistant: boom
               assistant: (aborted)
               [subagents: 2 tasks, running]
               [brand new]
        "#]],
    );
}

#[test]
fn no_tools_hides_results_too() {
    filtered(OutlineFilter::NoTools)(
        "say a; reply b calls read x; result one; reply c",
        expect![[r#"
            user: "a"
            assistant: "b"
            assistant: "c"  ← active
        "#]],
    );
}

#[test]
fn user_only_shows_user_messages() {
    filtered(OutlineFilter::UserOnly)(
        "say a; reply b; say c; reply d; move b; say e; bash ls; reply f",
        expect![[r#"
            user: "a"
            ├─ user: "c"
            └─ user: "e"  ← active
        "#]],
    );
}

#[test]
fn labeled_only_shows_labeled_entries() {
    filtered(OutlineFilter::LabeledOnly)(
        "say a; label x; reply b; say c; label y; move b; say d; label z; label gone on b; unlabel b; hidden t h; label no on h",
        expect![[r#"
            [x] user: "a"
            ├─ [y] user: "c"
            └─ [z] user: "d"  ← active
        "#]],
    );
}

#[test]
fn all_shows_everything_except_usage_and_replies_with_only_calls() {
    filtered(OutlineFilter::All)(
        MIXED,
        expect![[r#"
            [model: claude]
            [thinking: low]
            [system]
            user: "a"
            ├─ assistant: "b"  ← active
            │  ├─ [read: x.txt]
            │  │  [bash: ls]
            │  │  [grep: /foo/ in .]
            │  │  [good] assistant: "c"
            │  │  ├─ [label: good]
            │  │  │  [title: title]
            │  │  │  [custom: state]
            │  │  │  [info]: hello
            │  │  │  [info]: secret
            │  │  │  [context omit: 00000004]
            │  │  │  [config: mode=yolo]
            │  │  ├─ [moved]
            │  │  └─ [deleted branch]
            │  ├─ [branch summary]: left
            │  │  [compaction: 12k tokens]
            │  │  [bash]: ls
            │  └─ [moved]
            └─ [backtrack to checkpoint 0: again]
               assistant: boom
               assistant: (aborted)
               [subagents: 2 tasks, running]
               [brand new]
        "#]],
    );
}

#[test]
fn a_reply_with_only_calls_is_shown_at_the_leaf() {
    check(
        "say a; reply calls read x",
        expect![[r#"
            user: "a"
            assistant: (no content)  ← active
        "#]],
    );
    check(
        "say a; reply calls read x; label stuck",
        expect![[r#"
            user: "a"
            [stuck] assistant: (no content)  ← active
        "#]],
    );
    check(
        "say a; reply calls read x; result r",
        expect![[r#"
            user: "a"
            [read: x]  ← active
        "#]],
    );
}

#[test]
fn deleted_branches_are_shown_on_request_only() {
    let script = "say a; reply b; say c; reply d; move b; say e; delete c";
    check(
        script,
        expect![[r#"
            user: "a"
            assistant: "b"
            user: "e"  ← active
        "#]],
    );
    with(OutlineOptions { show_deleted: true, ..OutlineOptions::default() })(
        script,
        expect![[r#"
            user: "a"
            assistant: "b"
            ├─ user: "c"
            │  assistant: "d"
            └─ user: "e"  ← active
        "#]],
    );
    check(
        &format!("{script}; restore c"),
        expect![[r#"
            user: "a"
            assistant: "b"
            ├─ user: "c"
            │  assistant: "d"
            └─ user: "e"  ← active
        "#]],
    );
    check(
        "say a; reply b; say c; reply d; delete c",
        expect![[r#"
            user: "a"
            assistant: "b"  ← active
        "#]],
    );
}

#[test]
fn filters_cycle() {
    let mut filter = OutlineFilter::Default;
    for _ in 0..5 {
        assert_eq!(filter.next().previous(), filter);
        assert_eq!(OutlineFilter::from_name(filter.name()), Some(filter));
        filter = filter.next();
    }
    assert_eq!(filter, OutlineFilter::Default);
    assert_eq!(OutlineFilter::All.toggled(OutlineFilter::All), OutlineFilter::Default);
    assert_eq!(OutlineFilter::All.toggled(OutlineFilter::UserOnly), OutlineFilter::UserOnly);
}
