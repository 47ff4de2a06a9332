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
