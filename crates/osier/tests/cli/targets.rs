//! Naming sessions and entries: ids, prefixes, paths.

use std::fs;

use osier_testkit::{ScriptedSession, expect};
use serde_json::{Value, json};

use crate::support::TestEnv;

/// A world with sessions that have these ids.
fn stored(ids: &[&str]) -> TestEnv {
    let env = TestEnv::new();
    for (number, id) in ids.iter().enumerate() {
        put(&env, id, &format!("2026-01-01T00-00-0{number}-000Z_{id}.jsonl"));
    }
    env
}

fn put(env: &TestEnv, id: &str, name: &str) {
    let file = String::from_utf8(ScriptedSession::run("say a").file()).unwrap();
    let folder = env.home().join("sessions/somewhere");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(name), file.replace("5e551011-0000-4000-8000-000000000001", id)).unwrap();
}

#[test]
fn a_session_is_found_by_a_prefix_of_its_id() {
    let env = stored(&["4f89da11-5e7b", "4f90aaaa-0000"]);
    for word in ["4f89da11-5e7b", "4f89da11", "4f8"] {
        assert_eq!(env.json(&format!("show {word}"))["id"], "4f89da11-5e7b", "{word}");
    }
}

#[test]
fn a_full_id_wins_over_ids_that_start_with_it() {
    let env = stored(&["abcd", "abcd-2"]);
    assert_eq!(env.json("show abcd")["id"], "abcd");
    assert_eq!(env.json("show abcd-")["id"], "abcd-2");
    env.fails(1, "show abc");
}

#[test]
fn unknown_and_ambiguous_ids_list_similar_ones() {
    let env = stored(&["4f89da11-5e7b", "4f90bbbb-0000", "77777777-0000"]);
    env.check(
        &["show 4f", "show 4f91", "show 7", "show x"],
        expect![[r#"
        $ show 4f
        ! osier: 4f is ambiguous: it could mean 2 sessions: <1>, <2>; give more characters
        exit 1
        $ show 4f91
        ! osier: no session 4f91; did you mean <2>?
        exit 1
        $ show 7
        a
               id  <3>-0000
             file  $DIR/home/sessions/somewhere/2026-01-01T00-00-02-000Z_77777777-0000.jsonl
        directory  /code
          created  2026-01-01T00:00:00.000Z
         modified  2026-01-01T00:00:00.000Z
          entries  1 (1 message, 1 branch)
             used  0 tokens, $0
             leaf  00000001

        ## User · 2026-01-01 00:00

        a
        $ show x
        ! osier: no session x; `osier sessions list --all` lists the sessions
        exit 1
    "#]],
    );
}

/// Three sessions that pi created within one second: its ids start with the time.
const OF_PI: [&str; 3] = [
    "019b7ca9-a7f6-74ba-af75-068de155e02b",
    "019b7ca9-a812-7001-8d1f-0e4c5f1a2b3c",
    "019b7ca9-a812-7f31-9a77-1b2c3d4e5f60",
];

#[test]
fn short_ids_are_as_long_as_necessary() {
    let mut ids = OF_PI.to_vec();
    ids.push("4f89da11-5e7b-4c1d-9a3e-2b6f0c8d7e15");
    let env = stored(&ids);
    let short = ["019b7ca9-a7", "019b7ca9-a812-70", "019b7ca9-a812-7f", "4f89da11"];
    let cards = env.json("list --all");
    for (id, short) in ids.iter().zip(short) {
        let card = cards.as_array().unwrap().iter().find(|card| card["id"] == *id).unwrap();
        assert_eq!(card["shortId"], short);
        let shown = env.json(&format!("show {short}"));
        assert_eq!((&shown["id"], &shown["shortId"]), (&json!(id), &json!(short)));
        assert_eq!(env.json(&format!("snapshot {short}"))["session"]["shortId"], short);
        assert_eq!(env.json(&format!("export {short}"))["session"]["shortId"], short);
    }
    let rows = env.ok("list --all");
    let mut shown: Vec<&str> = rows.lines().map(|row| row.split(' ').next().unwrap()).collect();
    shown.sort_unstable();
    assert_eq!(shown, short);
    let limited = env.ok("list --all --limit 1");
    assert!(
        short.contains(&limited.split(' ').next().unwrap()),
        "others count that are not listed: {limited}"
    );
    let output = env.run(&format!("delete {} --yes", OF_PI[1])).err;
    assert!(output.starts_with("019b7ca9-a812-70  "), "{output}");
}

#[test]
fn prefixes_of_session_ids_are_case_insensitive() {
    let env = stored(&["4f89da11-5e7b", "ABCD1234-00", "abcd1234-01"]);
    for (word, id) in
        [("4F89DA11", "4f89da11-5e7b"), ("4F89da11-5E7B", "4f89da11-5e7b"), ("ABCD1234-01", "abcd1234-01")]
    {
        assert_eq!(env.json(&format!("show {word}"))["id"], id, "{word}");
    }
    env.check(
        &["show abcd", "show ABCD1", "show 4F8A"],
        expect![[r#"
            $ show abcd
            ! osier: abcd is ambiguous: it could mean 2 sessions: ABCD1234-00, <1>-01; give more characters
            exit 1
            $ show ABCD1
            ! osier: ABCD1 is ambiguous: it could mean 2 sessions: ABCD1234-00, <1>-01; give more characters
            exit 1
            $ show 4F8A
            ! osier: no session 4F8A; did you mean <2>?
            exit 1
        "#]],
    );
}

/// Every argument that takes an entry id also takes a prefix.
#[test]
fn entries_are_found_by_unique_prefixes_of_their_ids() {
    let env = TestEnv::new();
    for (id, text) in [("xyza0001", "a"), ("xyzb0002", "b"), ("zzzz0003", "c")] {
        let entry = json!({ "type": "message", "id": id, "message": { "role": "user", "content": text } });
        env.ok(&format!("append s.jsonl --entry '{entry}'"));
    }
    let ids = |line: &str| crate::support::ids(&env.json(line)).join(" ");
    assert_eq!(ids("path s.jsonl --at XYZB"), "xyza0001 xyzb0002");
    assert_eq!(env.json("context s.jsonl --at xyzb")["leafId"], "xyzb0002");
    assert!(env.ok("tree s.jsonl --at xyza").starts_with("user: \"a\"  ← active\n"));
    assert!(!env.ok("export s.jsonl --at xyzb").contains("\nc\n"));
    assert_eq!(env.json("label s.jsonl z third"), json!({ "zzzz0003": "third" }));
    assert_eq!(env.json("label s.jsonl z"), json!({ "zzzz0003": "third" }));
    assert_eq!(env.json("move s.jsonl xyza --exact --expect Z")["leafId"], "xyza0001");
    env.ok("move s.jsonl XYZB --exact --label first --expect xyza");
    assert_eq!(env.json("label s.jsonl xyzb"), json!({ "xyzb0002": "first" }));
    let below = env.json("append s.jsonl --parent xyzb below")["id"].as_str().unwrap().to_owned();
    assert_eq!(ids(&format!("path s.jsonl --at {below}")), format!("xyza0001 xyzb0002 {below}"));
    let entry = json!({ "type": "custom", "customType": "x" });
    let custom = env.json(&format!("append s.jsonl --parent xyza --entry '{entry}'"));
    assert_eq!(
        ids(&format!("path s.jsonl --at {}", custom["id"].as_str().unwrap())).split(' ').next(),
        Some("xyza0001")
    );
    assert_eq!(env.json("compare s.jsonl xyzb z")["commonId"], "xyzb0002");
    env.ok("move s.jsonl root");
    env.ok("move s.jsonl xyza --exact");
    assert_eq!(env.json("graft s.jsonl zz")["fromId"], "zzzz0003");
    assert_eq!(env.json("delete-branch s.jsonl ZZ")["entries"], 2);
    assert_eq!(env.json("restore-branch s.jsonl zz")["entries"], 2);
    let fork = env.json("fork s.jsonl xyzb --exact")["session"].as_str().unwrap().to_owned();
    assert!(ids(&format!("path {fork}")).starts_with("xyza0001 xyzb0002"));
}

#[test]
fn an_ambiguous_prefix_of_an_entry_lists_the_candidates() {
    let env = TestEnv::with("say a; reply b; say c");
    env.check(
        &[
            "move s.jsonl 0000",
            "label s.jsonl 0 x",
            "path s.jsonl --at 00000",
            "append s.jsonl x --parent 0",
            "move s.jsonl root --expect 00",
            "path s.jsonl --at ''",
        ],
        expect![[r#"
            $ move s.jsonl 0000
            ! osier: 0000 is ambiguous: it could mean 00000001, 00000002, 00000003; give more characters
            exit 1
            $ label s.jsonl 0 x
            ! osier: 0 is ambiguous: it could mean 00000001, 00000002, 00000003; give more characters
            exit 1
            $ path s.jsonl --at 00000
            ! osier: 00000 is ambiguous: it could mean 00000001, 00000002, 00000003; give more characters
            exit 1
            $ append s.jsonl x --parent 0
            ! osier: 0 is ambiguous: it could mean 00000001, 00000002, 00000003; give more characters
            exit 1
            $ move s.jsonl root --expect 00
            ! osier: 00 is ambiguous: it could mean 00000001, 00000002, 00000003; give more characters
            exit 1
            $ path s.jsonl --at ''
            ! osier: no entry  in this session; `osier sessions tree --ids` lists the entries
            exit 1
        "#]],
    );
    let many = (0..12).map(|at| format!("say {at}")).collect::<Vec<_>>().join("; ");
    let error = TestEnv::with(&many).fails(1, "move s.jsonl 0");
    assert!(error.ends_with(", 0000000a and 2 more; give more characters\n"), "{error}");
}

#[test]
fn a_file_is_found_by_its_path() {
    let env = TestEnv::with("say a");
    fs::create_dir(env.path("sub")).unwrap();
    fs::copy(env.path("s.jsonl"), env.path("sub/other")).unwrap();
    let absolute = env.path("s.jsonl");
    for word in ["s.jsonl", "./s.jsonl", "sub/other", absolute.to_str().unwrap()] {
        let card = env.json(&format!("show {word}"));
        assert_eq!(card["firstMessage"], "a", "{word}");
    }
}

#[test]
fn files_that_are_not_sessions_are_reported_and_unchanged() {
    let env = TestEnv::new();
    env.write("empty.jsonl", "");
    env.write("text.jsonl", "hello\nworld\n");
    env.write("headless.jsonl", "{\"type\":\"message\",\"id\":\"a\"}\n");
    env.write("x.jsonl/inside", "");
    env.check(
        &["show nowhere.jsonl", "show ./nowhere", "show empty.jsonl", "show text.jsonl", "append text.jsonl x", "show headless.jsonl", "show x.jsonl", "verify nowhere.jsonl", "verify text.jsonl"],
        expect![[r#"
            $ show nowhere.jsonl
            ! osier: no file nowhere.jsonl
            exit 1
            $ show ./nowhere
            ! osier: no file ./nowhere
            exit 1
            $ show empty.jsonl
            ! osier: $DIR/code/empty.jsonl is not a session: it has no session header; the file was not changed
            exit 1
            $ show text.jsonl
            ! osier: $DIR/code/text.jsonl is not a session: it has no session header; the file was not changed
            exit 1
            $ append text.jsonl x
            ! osier: $DIR/code/text.jsonl is not a session: it has no session header; the file was not changed
            exit 1
            $ show headless.jsonl
            ! osier: $DIR/code/headless.jsonl is not a session: it does not begin with a session header; the file was not changed
            exit 1
            $ show x.jsonl
            ! osier: x.jsonl is a folder; give a .jsonl file in it
            exit 1
            $ verify nowhere.jsonl
            ! osier: no file nowhere.jsonl
            exit 1
            $ verify text.jsonl
            ! osier: $DIR/code/text.jsonl is not a session: it has no session header; the file was not changed
            exit 1
        "#]],
    );
    assert_eq!(env.read("text.jsonl"), b"hello\nworld\n");
}

/// The header of a file determines its session id, even if the file was renamed or copied.
#[test]
fn a_session_is_found_by_its_header_not_its_file_name() {
    let env = TestEnv::new();
    put(&env, "4f89da11-5e7b", "my favorite.jsonl");
    assert_eq!(env.json("list --all")[0]["shortId"], "4f89da11");
    for word in ["4f89da11-5e7b", "4f89da11", "4f"] {
        assert_eq!(env.json(&format!("show {word}"))["firstMessage"], "a", "{word}");
    }
    env.ok("append 4f89 b");
    let Value::Array(path) = env.json("path 4f89") else { panic!("a path is a list") };
    assert_eq!(path.len(), 2);
}

#[test]
fn two_copies_of_one_session_are_ambiguous() {
    let env = stored(&["4f89da11-5e7b"]);
    put(&env, "4f89da11-5e7b", "2026-02-02T00-00-00-000Z_4f89da11-5e7b.jsonl");
    let error = env.fails(1, "show 4f89");
    assert!(error.starts_with("osier: 4f89 is ambiguous: it could mean 2 sessions: /"), "{error}");
    assert!(error.ends_with("_4f89da11-5e7b.jsonl; give one of these files\n"), "{error}");
    env.fails(1, "append 4f89da11-5e7b x");
}
