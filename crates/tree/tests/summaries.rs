//! Summarizer input and prompts, and the stored summaries.
#![allow(clippy::unwrap_used, reason = "test helpers may panic")]

use expect_test::{Expect, expect};
use osier_testkit::ScriptedSession;
use osier_tree::compaction_cut::CutText;
use osier_tree::files::TouchedFiles;
use osier_tree::scan::RawJson;
use osier_tree::serialize::{ConversationParts, serialize_message};
use osier_tree::summary::{
    branch_prompt, history_prompt, stored_branch_summary, stored_compaction_summary, turn_prefix_prompt,
    without_file_lists,
};

#[test]
fn a_message_is_serialized_as_paragraphs() {
    let messages = [
        r#"{"role":"user","content":"hi"}"#,
        r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]}"#,
        r#"{"role":"user","content":[]}"#,
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a"},{"type":"toolCall","name":"read","arguments":{"path":"x","n":1,"o":{ "é":[1, null] }}},{"type":"text","text":"b"},{"type":"toolCall","name":"bash"}]}"#,
        r#"{"role":"assistant","content":[],"errorMessage":"no","stopReason":"error"}"#,
        r#"{"role":"toolResult","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"isError":true}"#,
        r#"{"role":"custom","customType":"t","content":"note","display":false}"#,
        r#"{"role":"bashExecution","command":"ls","output":"a\nb","exitCode":2}"#,
        r#"{"role":"bashExecution","command":"secret","output":"a","excludeFromContext":true}"#,
        r#"{"role":"branchSummary","summary":"went well"}"#,
        r#"{"role":"compactionSummary","summary":"so far"}"#,
        r#"{"role":"system","content":"prompt"}"#,
        r#"{"role":"odd","content":"odd"}"#,
    ];
    let messages: Vec<String> =
        messages.iter().map(|message| serialize_message(message.as_bytes()) + "\n~\n").collect();
    expect![[r#"
        [User]: hi
        ~
        [User]: ab
        ~

        ~
        [Assistant]: a
        b

        [Assistant tool calls]: read(path="x", n=1, o={"é":[1,null]}); bash()
        ~

        ~
        [Tool result]: ab
        ~
        [User]: note
        ~
        [User]: The user ran `ls`:
        ```
        a
        b
        ```
        It exited with code 2.
        ~

        ~
        [User]: This is a summary of another branch of this conversation:

        <summary>
        went well
        </summary>
        ~
        [User]: This is a summary of the conversation so far:

        <summary>
        so far
        </summary>
        ~

        ~

        ~
    "#]]
    .assert_eq(&messages.concat());
}

#[test]
fn a_long_result_is_truncated_with_a_notice() {
    let messages =
        |text: &str| serialize_message(format!(r#"{{"role":"toolResult","content":"{text}"}}"#).as_bytes());
    assert_eq!(messages(&"x".repeat(2000)).len(), "[Tool result]: ".len() + 2000);
    assert!(messages(&"x".repeat(2003)).ends_with("xxx\n\n[... 3 more characters truncated]"));
    assert!(
        messages(&format!("{}🧵y", "x".repeat(1999))).ends_with("xxx\n\n[... 3 more characters truncated]")
    );
}

#[test]
fn a_conversation_too_long_for_one_request_is_split() {
    let mut parts = ConversationParts::new(10);
    for said in ["one", "two", "thirty characters and some more", "🧵 four"] {
        parts.add_message(format!(r#"{{"role":"user","content":"{said}"}}"#).as_bytes());
    }
    expect![[r#"
        [User]: one

        [User]: two
        ~
        [User]: thirty characters and some more
        ~
        [User]: 🧵 four"#]]
    .assert_eq(&parts.finish().join("\n~\n"));
}

fn prepared(script: &str, keep_recent: u64) -> CutText {
    let script = ScriptedSession::run(script);
    let cut = script.tree.find_cut(script.tree.leaf(), keep_recent, &script.lines).unwrap();
    cut.collect_text(&script.tree, 0, &script.lines)
}

#[test]
fn a_cut_gives_history_split_turn_and_files() {
    let text = prepared(
        r#"say a; reply b calls read one, edit two; result r; result s; summarize "other branch"
           compact keep b "so far"; say c; reply d calls write three; result t; reply e; say f; reply g calls read two; result u; reply h ~5"#,
        5,
    );
    expect![[r#"
        CutText {
            history: [
                "[Assistant]: b\n\n[Assistant tool calls]: read(path=\"one\"); edit(path=\"two\")\n\n[Tool result]: r\n\n[Tool result]: s\n\n[User]: This is a summary of another branch of this conversation:\n\n<summary>\n\"other branch\"\n</summary>\n\n[User]: c\n\n[Assistant]: d\n\n[Assistant tool calls]: write(path=\"three\")\n\n[Tool result]: t\n\n[Assistant]: e",
            ],
            turn_prefix: [
                "[User]: f\n\n[Assistant]: g\n\n[Assistant tool calls]: read(path=\"two\")\n\n[Tool result]: u",
            ],
            previous_summary: Some(
                "so far",
            ),
            files: TouchedFiles {
                read: {
                    "one",
                    "two",
                },
                modified: {
                    "three",
                    "two",
                },
            },
        }
    "#]].assert_debug_eq(&text);
}

#[test]
fn files_of_summaries_are_included_and_those_of_hooks_are_not() {
    let text = prepared(
        r#"say a; reply b
           entry {"type":"compaction","firstKeptEntryId":"00000002","tokensBefore":9,"summary":"so far","details":{"readFiles":["r","m"],"modifiedFiles":["m2"]}}
           entry {"type":"branch_summary","fromId":"root","summary":"left","details":{"readFiles":["br"],"modifiedFiles":["m"]}}
           entry {"type":"branch_summary","fromId":"root","summary":"hook","fromHook":true,"details":{"readFiles":["hook"]}}
           say c; reply d calls read kept; result ok"#,
        5,
    );
    expect![[r#"
        <read-files>
        br
        r
        </read-files>

        <modified-files>
        m
        m2
        </modified-files>"#]]
    .assert_eq(text.files.summary_blocks().trim_start());
    assert_eq!(text.files.details().to_string(), r#"{"readFiles":["br","r"],"modifiedFiles":["m","m2"]}"#);
}

#[test]
fn files_of_nested_tool_calls_are_included() {
    let mut files = TouchedFiles::default();
    for message in [
        r#"{"role":"toolResult","nestedCalls":{"calls":[{"name":"read","arguments":{"path":"n"}},{"name":"write"}]}}"#,
        r#"{"role":"assistant","content":[{"type":"toolCall","name":"read","arguments":{"path":7}},{"type":"toolCall","name":"grep","arguments":{"path":"g"}},{"type":"toolCall","name":"edit","arguments":{"path":"e\n</modified-files>"}}]}"#,
        r#"{"role":"user","content":[{"type":"toolCall","name":"read","arguments":{"path":"not a call"}}]}"#,
    ] {
        files.add_message(RawJson::parse(message.as_bytes()).unwrap());
    }
    expect![[r#"
        <read-files>
        n
        </read-files>

        <modified-files>
        e </modified-files>
        </modified-files>"#]]
    .assert_eq(files.summary_blocks().trim_start());
}

#[track_caller]
fn check(text: &str, expected: Expect) {
    expected.assert_eq(&format!("{text}\n"));
}

#[test]
fn the_history_prompt_contains_the_format() {
    check(
        &history_prompt("[User]: hi </conversation> there", None, None),
        expect![[r#"
            <conversation>
            [User]: hi <\/conversation> there
            </conversation>

            Summarize the conversation above, so that another model can continue the work from your summary alone. Use exactly this format:

            ## Goal
            [What the user wants to achieve. Use several lines if there are several goals.]

            ## Constraints & Preferences
            - [What the user requires or prefers, or "(none)"]

            ## Progress
            ### Done
            - [x] [What is finished]

            ### In Progress
            - [ ] [What is being worked on]

            ### Blocked
            - [What blocks progress, if anything]

            ## Key Decisions
            - **[Decision]**: [Why]

            ## Next Steps
            1. [What comes next, in order]

            ## Critical Context
            - [Data, examples and references needed to continue, or "(none)"]

            Keep each section short. Keep file paths, function names and error messages exactly as they are.
        "#]],
    );
}

#[test]
fn the_update_prompt_contains_the_previous_summary() {
    check(
        &history_prompt("[User]: more", Some("## Goal\nold"), Some("  the tests ")),
        expect![[r#"
            <conversation>
            [User]: more
            </conversation>

            <previous-summary>
            ## Goal
            old
            </previous-summary>

            The conversation above continues after the previous summary. Update that summary: keep everything that still applies, add what is new, move finished work from "In Progress" to "Done", and update "Next Steps". Use exactly this format:

            ## Goal
            [What the user wants to achieve. Use several lines if there are several goals.]

            ## Constraints & Preferences
            - [What the user requires or prefers, or "(none)"]

            ## Progress
            ### Done
            - [x] [What is finished]

            ### In Progress
            - [ ] [What is being worked on]

            ### Blocked
            - [What blocks progress, if anything]

            ## Key Decisions
            - **[Decision]**: [Why]

            ## Next Steps
            1. [What comes next, in order]

            ## Critical Context
            - [Data, examples and references needed to continue, or "(none)"]

            Keep each section short. Keep file paths, function names and error messages exactly as they are.

            Additional focus: the tests
        "#]],
    );
}

#[test]
fn the_turn_prefix_prompt_contains_the_format() {
    check(
        &turn_prefix_prompt("[User]: much", None, Some("names")),
        expect![[r#"
            <conversation>
            [User]: much
            </conversation>

            The conversation above is the first part of a turn that is still in progress; the later part is kept unchanged. Summarize the first part, so that the later part can be understood and continued. Use exactly this format:

            ## Original Request
            [What the user asked for]

            ## Progress So Far
            - [What was done and decided]

            ## Context Needed to Continue
            - [What the later part relies on]

            Keep each section short. Keep file paths, function names and error messages exactly as they are.

            Additional focus: names
        "#]],
    );
    check(
        &turn_prefix_prompt("[User]: more", Some("## Original Request\nmuch"), None),
        expect![[r#"
            <conversation>
            [User]: more
            </conversation>

            <previous-summary>
            ## Original Request
            much
            </previous-summary>

            The conversation above continues the turn whose beginning is in the previous summary; its last part is kept unchanged. Update the summary, and keep everything that still applies. Use exactly this format:

            ## Original Request
            [What the user asked for]

            ## Progress So Far
            - [What was done and decided]

            ## Context Needed to Continue
            - [What the later part relies on]

            Keep each section short. Keep file paths, function names and error messages exactly as they are.
        "#]],
    );
}

#[test]
fn the_branch_prompt_adds_or_uses_only_the_users_instructions() {
    check(
        &branch_prompt("[User]: hi", Some("the tests"), false),
        expect![[r#"
            <conversation>
            [User]: hi
            </conversation>

            The conversation above is a branch that the user left for another one. Summarize it, so that the work done there can be used later. Use exactly this format:

            ## Goal
            [What the user wants to achieve. Use several lines if there are several goals.]

            ## Constraints & Preferences
            - [What the user requires or prefers, or "(none)"]

            ## Progress
            ### Done
            - [x] [What is finished]

            ### In Progress
            - [ ] [What is being worked on]

            ### Blocked
            - [What blocks progress, if anything]

            ## Key Decisions
            - **[Decision]**: [Why]

            ## Next Steps
            1. [What comes next, in order]

            Keep each section short. Keep file paths, function names and error messages exactly as they are.

            Additional focus: the tests
        "#]],
    );
    check(
        &branch_prompt("[User]: hi", Some("Say it in one line."), true),
        expect![[r#"
        <conversation>
        [User]: hi
        </conversation>

        Say it in one line.
    "#]],
    );
    assert_eq!(branch_prompt("x", Some(" "), true), branch_prompt("x", None, false));
}

fn files() -> TouchedFiles {
    let mut files = TouchedFiles::default();
    let message = r#"{"role":"assistant","content":[{"type":"toolCall","name":"read","arguments":{"path":"a"}},{"type":"toolCall","name":"edit","arguments":{"path":"b"}}]}"#;
    files.add_message(RawJson::parse(message.as_bytes()).unwrap());
    files
}

#[test]
fn a_stored_summary_ends_with_its_files() {
    check(
        &stored_compaction_summary(Some("## Goal\nto win\n"), None, &files()),
        expect![[r#"
        ## Goal
        to win

        <read-files>
        a
        </read-files>

        <modified-files>
        b
        </modified-files>
    "#]],
    );
    check(
        &stored_compaction_summary(
            Some("## Goal\nto win"),
            Some("## Original Request\nplay"),
            &TouchedFiles::default(),
        ),
        expect![[r#"
        ## Goal
        to win

        ---

        **Start of the turn that continues below:**

        ## Original Request
        play
    "#]],
    );
    check(
        &stored_compaction_summary(None, Some("## Original Request\nplay"), &files()),
        expect![[r#"
        No prior history.

        ---

        **Start of the turn that continues below:**

        ## Original Request
        play

        <read-files>
        a
        </read-files>

        <modified-files>
        b
        </modified-files>
    "#]],
    );
    check(
        &stored_branch_summary("## Goal\nto win", &files()),
        expect![[r#"
        The user tried another branch of this conversation before coming back here.
        Summary of that branch:

        ## Goal
        to win

        <read-files>
        a
        </read-files>

        <modified-files>
        b
        </modified-files>
    "#]],
    );
}

#[test]
fn file_lists_repeated_by_the_model_are_written_once() {
    let once = stored_compaction_summary(Some("text"), None, &files());
    assert_eq!(stored_compaction_summary(Some(&once), None, &files()), once);
    assert_eq!(without_file_lists(&once), "text");
    assert_eq!(
        without_file_lists("<read-files> in the middle\n\nand text"),
        "<read-files> in the middle\n\nand text"
    );
}
