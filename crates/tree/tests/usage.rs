//! The usage of a session.
#![allow(clippy::unwrap_used, reason = "test helpers may panic")]

use expect_test::{Expect, expect};
use osier_testkit::ScriptedSession;
use osier_tree::entry::parse_entry;
use osier_tree::projection::Lines;
use osier_tree::projection::usage::{
    UsageMeter, UsageReport, UsageTotals, format_cost, format_tokens, usage_entries,
};
use osier_tree::scan::RawJson;

fn report(script: &ScriptedSession) -> UsageReport {
    let mut meter = UsageMeter::default();
    for seq in usage_entries(&script.tree) {
        meter.add_entry(seq, &script.lines.entry(seq).unwrap());
    }
    meter.report(&script.tree, script.tree.leaf())
}

fn tokens(script: &str) -> (u64, u64, u64) {
    let report = report(&ScriptedSession::run(script));
    (report.session.total_tokens, report.path.total_tokens, report.session.requests)
}

/// Compares one line per branch: first entry, tip, entries and tokens.
fn check_branches(script: &str, expected: Expect) {
    let script = ScriptedSession::run(script);
    let text = |id: &str| {
        let entry = script.lines.entry(script.tree.find(id).unwrap()).unwrap();
        osier_tree::projection::preview::full_text(&entry)
    };
    let mut drawing = String::new();
    for branch in report(&script).branches {
        let marks = [(branch.active, " active"), (branch.deleted, " deleted")];
        let marks: String = marks.into_iter().filter(|(on, _)| *on).map(|(_, mark)| mark).collect();
        drawing += &format!(
            "{}..{}: {} entries, {} tokens{marks}\n",
            text(&branch.first),
            text(&branch.tip),
            branch.entries,
            branch.usage.total_tokens
        );
    }
    expected.assert_eq(&drawing);
}

#[test]
fn every_source_counts_once() {
    assert_eq!(tokens(""), (0, 0, 0));
    assert_eq!(tokens("say a; reply b; spend 7"), (117, 117, 2));
    let summaries = r#"say a; entry {"type":"compaction","summary":"s","firstKeptEntryId":"00000001","usage":{"input":5,"output":2}}
        entry {"type":"branch_summary","summary":"s","usage":{"input":1}}
        entry {"type":"message","message":{"role":"toolResult","usage":{"input":3,"totalTokens":30}}}"#;
    assert_eq!(tokens(summaries), (38, 38, 3));
}

#[test]
fn the_session_total_includes_other_and_deleted_branches() {
    assert_eq!(tokens("say a; reply b; move a; reply c"), (220, 110, 2));
    assert_eq!(tokens("say a; reply b; move a; reply c; delete b"), (220, 110, 2));
    assert_eq!(tokens("say a; reply b; root"), (110, 0, 1));
}

#[test]
fn a_replaced_line_is_not_counted() {
    let line =
        r#"{"type":"message","id":"1","parentId":null,"message":{"role":"assistant","usage":{"input":5}}}"#;
    let later = line.replace(":5", ":6");
    assert_eq!(report(&ScriptedSession::from_lines([line, &*later])).session.total_tokens, 6);
    let script = ScriptedSession::from_lines([line, &*later]);
    let mut streamed = UsageMeter::default();
    for (at, line) in script.lines.iter().enumerate() {
        streamed.add_entry(osier_tree::Seq::new(at), &parse_entry(line).unwrap());
        streamed.add_entry(osier_tree::Seq::new(at), &parse_entry(line).unwrap());
    }
    assert_eq!(streamed.report(&script.tree, None).session.total_tokens, 6);
}

#[test]
fn a_branch_counts_only_its_own_entries() {
    check_branches(
        "say a; reply b; say c; reply d; reply e; move b; say f; reply g; label x; spend 5",
        expect![[r#"
            c..e: 3 entries, 220 tokens
            f..g: 2 entries, 115 tokens active
        "#]],
    );
    check_branches(
        "say a; reply b; move a",
        expect![[r#"
            a..b: 2 entries, 110 tokens active
        "#]],
    );
    check_branches(
        "say a; reply b; say c; reply d; move b; reply e; delete c",
        expect![[r#"
            c..d: 2 entries, 110 tokens deleted
            e..e: 1 entries, 110 tokens active
        "#]],
    );
    check_branches(
        "say a; reply b; root; say c; reply d",
        expect![[r#"
            a..b: 2 entries, 110 tokens
            c..d: 2 entries, 110 tokens active
        "#]],
    );
    check_branches("name n", expect![[""]]);
}

#[test]
fn models_are_sorted_by_cost() {
    let script = ScriptedSession::run(
        r#"say a; reply b; reply c
           entry {"type":"message","message":{"role":"assistant","provider":"p","model":"m","responseModel":"m-2","usage":{"input":1,"cost":{"total":2}}}}
           entry {"type":"message","message":{"role":"toolResult","usage":{"input":3,"cost":{"total":0.001}}}}
           entry {"type":"branch_summary","summary":"s","usage":{"input":1}}
           entry {"type":"usage","provider":"p","model":"m-2","usage":{"output":9}}"#,
    );
    let json = serde_json::to_string_pretty(&report(&script).models).unwrap();
    expect![[r#"
        [
          {
            "provider": "p",
            "model": "m-2",
            "input": 1,
            "output": 9,
            "cacheRead": 0,
            "cacheWrite": 0,
            "totalTokens": 10,
            "requests": 2,
            "cost": 2.0
          },
          {
            "provider": "anthropic",
            "model": "claude",
            "input": 200,
            "output": 20,
            "cacheRead": 0,
            "cacheWrite": 0,
            "totalTokens": 220,
            "requests": 2,
            "cost": 0.22
          },
          {
            "provider": null,
            "model": null,
            "input": 4,
            "output": 0,
            "cacheRead": 0,
            "cacheWrite": 0,
            "totalTokens": 4,
            "requests": 2,
            "cost": 0.001
          }
        ]"#]]
    .assert_eq(&json);
}

#[test]
fn a_report_serializes_to_json() {
    let json = serde_json::to_string(&report(&ScriptedSession::run("say a; reply b"))).unwrap();
    expect![[r#"{"session":{"input":100,"output":10,"cacheRead":0,"cacheWrite":0,"totalTokens":110,"requests":1,"cost":0.11},"path":{"input":100,"output":10,"cacheRead":0,"cacheWrite":0,"totalTokens":110,"requests":1,"cost":0.11},"models":[{"provider":"anthropic","model":"claude","input":100,"output":10,"cacheRead":0,"cacheWrite":0,"totalTokens":110,"requests":1,"cost":0.11}],"branches":[{"tip":"00000002","first":"00000001","entries":2,"active":true,"deleted":false,"input":100,"output":10,"cacheRead":0,"cacheWrite":0,"totalTokens":110,"requests":1,"cost":0.11}]}"#]].assert_eq(&json);
}

#[test]
fn invalid_numbers_are_ignored() {
    let read = |text: &str| UsageTotals::parse(RawJson::parse(text.as_bytes()).unwrap());
    assert_eq!(read("7"), None);
    assert_eq!(read("{}").unwrap().total_tokens, 0);
    let odd =
        read(r#"{"input":-5,"output":1e300,"cacheRead":"9","cost":{"input":1,"output":-2,"total":null}}"#)
            .unwrap();
    assert_eq!((odd.input, odd.output, odd.cache_read, odd.cost), (0, u64::MAX, 0, 1.0));
    let mut sum = odd;
    sum.add(&odd);
    assert_eq!(sum.output, u64::MAX);
    assert_eq!(read(r#"{"cost":0.5}"#).unwrap().cost, 0.5);
}

#[test]
fn cost_and_tokens_are_formatted_briefly() {
    let money: Vec<String> =
        [0.0, -1.0, 0.00012, 0.0123, 0.5, 1.0, 12.345].into_iter().map(format_cost).collect();
    assert_eq!(money, ["$0", "$0", "$0.0001", "$0.012", "$0.500", "$1.00", "$12.35"]);
    let tokens: Vec<String> =
        [0, 999, 1_000, 1_250, 9_949, 9_960, 12_400, 999_499, 999_500, 1_200_000, 12_000_000]
            .into_iter()
            .map(format_tokens)
            .collect();
    assert_eq!(tokens, ["0", "999", "1.0k", "1.2k", "9.9k", "10k", "12k", "999k", "1.0M", "1.2M", "12M"]);
}
