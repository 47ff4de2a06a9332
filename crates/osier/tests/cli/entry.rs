//! `entry`: one entry as text and as JSON.

use osier_testkit::expect;
use serde_json::json;

use crate::support::{TestEnv, check};

#[test]
fn entry_is_shown_with_its_position_in_the_tree() {
    check(
        "say a; reply b calls read x; label mine on b; say c; move b",
        &[
            "entry s.jsonl 00000002",
            "entry s.jsonl 00000003",
            "entry s.jsonl 00000001 --json",
            "entry s.jsonl 99999999",
        ],
        expect![[r#"
            $ entry s.jsonl 00000002
               entry  00000002
                kind  message
              parent  00000001
            children  00000003, 00000005
                time  2026-01-01T00:00:01.000Z
               label  mine
               place  on the active path

            ── assistant
            b
            → read {"path":"x"}
            $ entry s.jsonl 00000003
               entry  00000003
                kind  label
              parent  00000002
            children  00000004
                time  2026-01-01T00:00:02.000Z
               place  on another branch

            {
              "type": "label",
              "id": "00000003",
              "parentId": "00000002",
              "timestamp": "2026-01-01T00:00:02.000Z",
              "targetId": "00000002",
              "label": "mine"
            }
            $ entry s.jsonl 00000001 --json
            {"type":"message","id":"00000001","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":[{"type":"text","text":"a"}],"timestamp":1767225600000}}
            $ entry s.jsonl <1>
            ! osier: no entry <1> in this session; `osier sessions tree --ids` lists the entries
            exit 1
        "#]],
    );
}

#[test]
fn fork_accepts_at_and_exact() {
    let env = TestEnv::with("say a; reply b; say c; reply d");
    for line in ["fork s.jsonl --at 00000003", "fork s.jsonl 00000003 --at", "fork s.jsonl 00000003 --exact"]
    {
        let forked = env.json(line);
        assert_eq!((&forked["leafId"], forked.get("editorText")), (&json!("00000003"), None), "{line}");
    }
    env.fails(2, "fork s.jsonl --at");
    env.fails(2, "fork s.jsonl 00000003 --at 00000001");
}
