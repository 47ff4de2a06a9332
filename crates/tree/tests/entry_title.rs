//! One-line titles of special entries.
#![allow(clippy::unwrap_used)]

use osier_testkit::{Expect, ScriptedSession, expect};
use osier_tree::entry::parse_entry;
use osier_tree::projection::entry_title::title;

fn check(script: &str, expect: Expect) {
    let file = ScriptedSession::run(script).file();
    let last = file.trim_ascii_end().split(|byte| *byte == b'\n').next_back().unwrap();
    expect.assert_eq(&title(&parse_entry(last).unwrap()).unwrap_or_else(|| "none".to_owned()));
}

#[test]
fn special_entries_have_a_title() {
    check(
        "say fix it; reply b; say c; reply d; return 0 the cause is elsewhere",
        expect!["backtracked to checkpoint 0, 3 messages left behind"],
    );
    check(
        "say a; reply b; say c; compact keep c \"so far\"",
        expect!["compacted: 12k tokens, kept from 00000003"],
    );
    check("say a; reply b; move a; summarize it failed", expect!["summary of the branch left at 00000001"]);
    check("say a; reply b", expect!["none"]);
}
