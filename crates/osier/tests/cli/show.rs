//! `show`: the details of a session and its conversation.

use osier_testkit::expect;
use serde_json::json;

use crate::support::{TestEnv, check};

#[test]
fn show_prints_details_and_then_the_conversation() {
    check(
        "say a; reply b calls read x.txt; result c; reply d; label good; say e; bash ls; name Talk",
        &["show s.jsonl"],
        expect![[r#"
            $ show s.jsonl
            Talk
                   id  5e551011-0000-4000-8000-000000000001
                 file  $DIR/code/s.jsonl
            directory  /code
              created  2026-01-01T00:00:00.000Z
             modified  2026-01-01T00:00:05.000Z
              entries  8 (6 messages, 1 branch)
                 used  220 tokens, $0.220
                 leaf  00000008

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

            e

            ## Command · 2026-01-01 00:00

            ```console
            $ ls
            ok
            ```
        "#]],
    );
}

#[test]
fn an_empty_session_has_no_conversation() {
    check(
        "",
        &["show s.jsonl"],
        expect![[r#"
        $ show s.jsonl
        (no messages)
               id  5e551011-0000-4000-8000-000000000001
             file  $DIR/code/s.jsonl
        directory  /code
          created  2026-01-01T00:00:00.000Z
         modified  2026-01-01T00:00:00.000Z
          entries  0 (0 messages, 0 branches)
             used  0 tokens, $0
             leaf  before the first entry
    "#]],
    );
}

#[test]
fn a_session_at_its_start_says_so() {
    check(
        "say a; reply b; root",
        &["show s.jsonl"],
        expect![[r#"
        $ show s.jsonl
        a
               id  5e551011-0000-4000-8000-000000000001
             file  $DIR/code/s.jsonl
        directory  /code
          created  2026-01-01T00:00:00.000Z
         modified  2026-01-01T00:00:01.000Z
          entries  3 (2 messages, 1 branch)
             used  110 tokens, $0.110
             leaf  before the first entry
    "#]],
    );
}

#[test]
fn the_card_is_exact_json() {
    let env = TestEnv::with("say a; reply b; move a; reply c; name Talk; config summary=about a");
    assert_eq!(
        env.json("show s.jsonl"),
        json!({
            "id": "5e551011-0000-4000-8000-000000000001",
            "shortId": "5e551011",
            "store": "file",
            "file": env.path("s.jsonl"),
            "cwd": "/code",
            "agentId": "main",
            "name": "Talk",
            "summary": "about a",
            "firstMessage": "a",
            "messageCount": 3,
            "entryCount": 6,
            "branches": 2,
            "created": "2026-01-01T00:00:00.000Z",
            "modified": "2026-01-01T00:00:03.000Z",
            "leafId": "00000006",
            "tokens": 220,
            "cost": 0.22,
        })
    );
}

#[test]
fn usage_is_a_table_by_model_by_branch_and_in_total() {
    check(
        "say a; reply b; say c; reply d; move b; say e; reply f; reply g; spend 5000; delete c",
        &["show s.jsonl --usage"],
        expect![[r#"
            $ show s.jsonl --usage
                                      requests  input  output  cache read  cache write  tokens    cost
            anthropic/claude                 5   5.4k      40           0            0    5.4k   $5.44
            branch 00000004, deleted         1    100      10           0            0     110  $0.110
            branch 00000008, active          3   5.2k      20           0            0    5.2k   $5.22
            path to the leaf                 4   5.3k      30           0            0    5.3k   $5.33
            session                          5   5.4k      40           0            0    5.4k   $5.44
        "#]],
    );
}

#[test]
fn usage_as_json_has_the_same_numbers() {
    let env = TestEnv::with("say a; reply b; say c; reply d; move b; say e; reply f");
    let usage = env.json("show s.jsonl --usage");
    assert_eq!(usage["session"]["totalTokens"], 330);
    assert_eq!(usage["session"]["requests"], 3);
    assert_eq!(usage["path"]["totalTokens"], 220);
    assert_eq!(usage["models"][0]["model"], "claude");
    assert_eq!(usage["branches"].as_array().unwrap().len(), 2);
}

#[test]
fn odd_lines_are_mentioned() {
    let env = TestEnv::with("say a");
    let mut file = env.read("s.jsonl");
    file.extend_from_slice(b"not json\nnull\n");
    env.write("s.jsonl", file);
    let out = env.ok("show s.jsonl");
    assert!(
        out.contains("2 lines of the file are not entries; run `osier sessions verify` for details\n"),
        "{out}"
    );
}
