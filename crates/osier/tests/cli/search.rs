//! `osier search`: sessions of all directories, with the lines that match.

use std::fs;

use osier_testkit::expect;
use serde_json::{Value, json};

use crate::support::TestEnv;

/// Two sessions, one of them in another directory.
fn two_sessions() -> TestEnv {
    let env = TestEnv::new();
    env.ok("append --name Parser 'the first question\nabout the cursor\nof a page'");
    let folder = env.path("elsewhere");
    fs::create_dir(&folder).unwrap();
    let append = ["sessions", "append", "an order of 光标 and CURSOR"];
    assert!(env.command().current_dir(&folder).args(append).status().unwrap().success());
    env
}

fn search(env: &TestEnv, args: &[&str]) -> String {
    let args: Vec<&str> = ["search"].iter().chain(args).copied().collect();
    env.with_stable_names(&env.args(&args).to_string())
}

#[test]
fn matching_lines_are_shown_with_their_session_and_entry() {
    let env = two_sessions();
    let found = search(&env, &["cursor"]);
    assert!(found.contains("now  Parser  $DIR/code\n"), "{found}");
    assert!(found.contains("  user\n    2: about the cursor\n"), "{found}");
    assert!(found.contains("    1: an order of 光标 and CURSOR\n"), "{found}");
    assert!(!search(&env, &["cursor", "--here"]).contains("光标"));
    let around = search(&env, &["cursor", "-C", "1", "--here"]);
    assert!(
        around.contains("    1- the first question\n    2: about the cursor\n    3- of a page\n"),
        "{around}"
    );
    let found = search(&env, &["标", "orde"]);
    assert!(found.contains("光标") && !found.contains("Parser"), "parts of words: {found}");
}

#[test]
fn search_without_matches_prints_a_notice() {
    let env = two_sessions();
    expect![[r#"
        ! no sessions match cursor willow
    "#]]
    .assert_eq(&search(&env, &["cursor", "willow"]));
    assert_eq!(env.args(&["search", "willow", "--json"]).out.trim(), "[]");
    let invalid = env.args(&["search", "re:("]);
    assert_eq!((invalid.code, invalid.out.as_str()), (2, ""));
    assert_eq!(env.args(&["search", " "]).code, 2);
}

#[test]
fn results_can_be_limited_and_are_json_on_request() {
    let env = two_sessions();
    let found: Value = serde_json::from_str(&env.args(&["search", "order", "--json"]).out).unwrap();
    let [result] = found.as_array().unwrap().as_slice() else { panic!("{found}") };
    assert_eq!(result["session"]["firstMessage"], "an order of 光标 and CURSOR");
    let hit = &result["matches"][0];
    assert_eq!((&hit["role"], hit["entryId"].as_str().unwrap().len()), (&json!("user"), 8));
    let lines = json!([{ "number": 1, "text": "an order of 光标 and CURSOR", "isMatch": true }]);
    assert_eq!(hit["lines"], lines);
    let limited = env.args(&["search", "cursor", "--limit", "1"]);
    assert!(limited.err.contains("only 1 session is shown; --limit shows more"), "{}", limited.err);
}

#[test]
fn a_search_sees_what_was_appended_and_deleted_since_the_last_one() {
    let env = two_sessions();
    let ids = |word: &str| -> Vec<String> {
        let found: Value = serde_json::from_str(&env.args(&["search", word, "--json"]).out).unwrap();
        found
            .as_array()
            .unwrap()
            .iter()
            .map(|result| result["session"]["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let first = ids("question").remove(0);
    env.ok(&format!("append {first} 'now about a willow'"));
    assert_eq!(ids("willow"), std::slice::from_ref(&first));
    let entry = env.json("list --search willow")[0]["leafId"].as_str().unwrap().to_owned();
    env.ok(&format!("delete-branch {first} {entry}"));
    assert_eq!(ids("willow"), [""; 0]);
    env.ok(&format!("restore-branch {first} {entry}"));
    assert_eq!(ids("willow"), std::slice::from_ref(&first));
    env.ok(&format!("delete {first} --yes"));
    assert_eq!(ids("question"), [""; 0]);
    let cache = env.home().join("cache/texts");
    // Texts of logs that changed a moment ago are not kept, so there may be no cache.
    for file in fs::read_dir(cache).into_iter().flatten() {
        let bytes = fs::read(file.unwrap().path()).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains("question"), "text of a deleted session remains");
    }
}
