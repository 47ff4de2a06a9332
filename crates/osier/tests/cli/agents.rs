//! `osier agents`: the agents that a model can delegate tasks to.

use osier_testkit::{Expect, expect};

use crate::support::TestEnv;

fn check(env: &TestEnv, expect: Expect) {
    expect.assert_eq(&env.with_stable_names(&env.args(&["agents"]).to_string()));
}

#[test]
fn built_in_agents_are_listed() {
    check(
        &TestEnv::new(),
        expect![[r#"
            explore  Answers a question about the project. It reads and searches, and cannot change anything.
                     read grep find ls · the current model · built in
            general  Does any task on its own, with the same tools as you, and reports the result.
                     all tools · the current model · built in
        "#]],
    );
}

#[test]
fn agents_of_a_project_need_trust() {
    let env = TestEnv::new();
    std::fs::create_dir_all(env.cwd().join(".git")).unwrap();
    env.write(
        ".claude/agents/reviewer.md",
        "---\nname: reviewer\ndescription: Reviews.\ntools: Read, WebFetch\nmodel: sonnet\n---\nReview.",
    );
    env.write(".osier/agents/tester.md", "---\ndescription: Tests.\nmodel: a/b\n---\nTest.");
    let names = |env: &TestEnv| -> Vec<String> {
        let listed: Vec<serde_json::Value> =
            serde_json::from_str(&env.args(&["agents", "--json"]).out).unwrap();
        listed.iter().map(|agent| agent["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&env), ["explore", "general"]);
    let refused = env.args(&["agents"]).err;
    assert!(refused.contains("ignored its settings and folders: agents/, .claude/agents/"), "{refused}");
    assert_eq!(env.args(&["trust", "--yes"]).code, 0);
    assert_eq!(names(&env), ["explore", "general", "reviewer", "tester"]);
    let listed = env.args(&["agents"]);
    assert!(listed.out.contains("Reviews."), "{listed}");
    assert!(listed.err.contains("these tools do not exist here: WebFetch"), "{listed}");
    // Trust covers what the files contain now.
    env.write(".claude/agents/reviewer.md", "---\nname: reviewer\ndescription: Other.\n---\nObey me.");
    assert_eq!(names(&env), ["explore", "general"]);
}

#[test]
fn unknown_tools_and_models_of_agents_are_reported() {
    let env = TestEnv::new();
    env.write(
        "../home/agents/typo.md",
        "---\ndescription: D.\ntools: reed, grep\nmodel: nosuch/model\n---\nX.",
    );
    let listed = env.args(&["agents"]);
    assert_eq!(listed.code, 0, "{listed}");
    assert!(listed.err.contains("typo.md: no tool reed is built in; did you mean read?"), "{listed}");
    assert!(listed.err.contains("typo.md: cannot use the model nosuch/model: no such model"), "{listed}");
    assert!(!listed.err.contains("no tool grep"), "{listed}");
}

#[test]
fn tasks_are_events_in_json_mode_and_their_sessions_are_listed_below_their_parent() {
    let env = TestEnv::new();
    env.write("a.txt", "marmalade\n");
    let output = env.args(&["--mode", "json", "delegate list .; read a.txt"]);
    assert_eq!(output.code, 0, "{output}");
    let lines: Vec<serde_json::Value> =
        output.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let statuses: Vec<&str> = lines
        .iter()
        .filter(|line| line["type"] == "subagent_task" && line["panel"]["sortOrder"] == 1)
        .map(|line| line["panel"]["status"].as_str().unwrap())
        .collect();
    assert_eq!((statuses[0], statuses[1], *statuses.last().unwrap()), ("queued", "running", "completed"));
    let cards = |args: &str| -> Vec<serde_json::Value> { serde_json::from_str(&env.ok(args)).unwrap() };
    assert_eq!(cards("list --json").len(), 1);
    let with_tasks = cards("list --subagents --json");
    let children = with_tasks.iter().filter(|card| card["parentToolCallId"].is_string());
    assert_eq!((with_tasks.len(), children.count()), (3, 2));
    let id = lines[0]["id"].as_str().unwrap();
    // A replay from the snapshot shows what was shown live.
    let mut live: std::collections::BTreeMap<u64, &serde_json::Value> = Default::default();
    for panel in lines.iter().filter(|line| line["type"] == "subagent_task").map(|line| &line["panel"]) {
        live.insert(panel["sortOrder"].as_u64().unwrap(), panel);
    }
    let live: Vec<&serde_json::Value> = live.into_values().collect();
    let snapshot = env.json(&format!("snapshot {id}"));
    let entries = snapshot["entries"].as_array().unwrap();
    let result = entries.iter().find(|entry| entry["type"] == "subagent_result").unwrap();
    let projection = &result["metadata"]["subagentProjection"];
    assert_eq!(projection["taskPanels"].to_string(), serde_json::json!(live).to_string());
    assert_eq!(projection["processEvents"], result["metadata"]["processEvents"]);
    // Tokens of the tasks are listed separately.
    let usage = env.ok(&format!("show --usage {id}"));
    let row = usage.lines().find(|line| line.starts_with("sub-agents")).unwrap_or_else(|| panic!("{usage}"));
    // Each task called the model twice.
    assert_eq!(row.split_whitespace().nth(1), Some("4"), "{usage}");
}
