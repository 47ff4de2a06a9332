//! Which session is meant: ids, prefixes, paths.

use std::fs;

use osier_testkit::{Script, expect};
use serde_json::Value;

use crate::support::World;

/// A world whose store holds sessions with these ids.
fn stored(ids: &[&str]) -> World {
    let world = World::new();
    for (number, id) in ids.iter().enumerate() {
        put(&world, id, &format!("2026-01-01T00-00-0{number}-000Z_{id}.jsonl"));
    }
    world
}

fn put(world: &World, id: &str, name: &str) {
    let file = String::from_utf8(Script::run("say a").file()).unwrap();
    let folder = world.home().join("sessions/somewhere");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(name), file.replace("5e551011-0000-4000-8000-000000000001", id)).unwrap();
}

#[test]
fn a_session_is_named_by_the_first_digits_of_its_id() {
    let world = stored(&["4f89da11-5e7b", "4f90aaaa-0000"]);
    for word in ["4f89da11-5e7b", "4f89da11", "4f8"] {
        assert_eq!(world.json(&format!("show {word}"))["id"], "4f89da11-5e7b", "{word}");
    }
}

#[test]
fn an_id_that_is_the_beginning_of_another_is_meant_when_it_is_whole() {
    let world = stored(&["abcd", "abcd-2"]);
    assert_eq!(world.json("show abcd")["id"], "abcd");
    assert_eq!(world.json("show abcd-")["id"], "abcd-2");
    world.fails(1, "show abc");
}

#[test]
fn unknown_and_ambiguous_ids_list_the_nearest() {
    let world = stored(&["4f89da11-5e7b", "4f90bbbb-0000", "77777777-0000"]);
    world.check(
        &["show 4f", "show 4f91", "show 7", "show x"],
        expect![[r#"
        $ show 4f
        ! osier: 4f could mean 2 sessions: <1>-5e7b, <2>-0000; say more of it
        exit 1
        $ show 4f91
        ! osier: no session 4f91; the nearest: <2>-0000
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
        ! osier: no session x; `osier sessions list --all` shows what there is
        exit 1
    "#]],
    );
}

#[test]
fn a_file_is_named_by_its_path() {
    let world = World::with("say a");
    fs::create_dir(world.path("sub")).unwrap();
    fs::copy(world.path("s.jsonl"), world.path("sub/other")).unwrap();
    let absolute = world.path("s.jsonl");
    for word in ["s.jsonl", "./s.jsonl", "sub/other", absolute.to_str().unwrap()] {
        let card = world.json(&format!("show {word}"));
        assert_eq!(card["firstMessage"], "a", "{word}");
    }
}

#[test]
fn what_is_no_session_is_told_and_left_alone() {
    let world = World::new();
    world.write("empty.jsonl", "");
    world.write("text.jsonl", "hello\nworld\n");
    world.write("headless.jsonl", "{\"type\":\"message\",\"id\":\"a\"}\n");
    world.write("x.jsonl/inside", "");
    world.check(
        &["show nowhere.jsonl", "show ./nowhere", "show empty.jsonl", "show text.jsonl", "append text.jsonl x", "show headless.jsonl", "show x.jsonl", "verify nowhere.jsonl", "verify text.jsonl"],
        expect![[r#"
            $ show nowhere.jsonl
            ! osier: no file nowhere.jsonl
            exit 1
            $ show ./nowhere
            ! osier: no file ./nowhere
            exit 1
            $ show empty.jsonl
            ! osier: $DIR/code/empty.jsonl is not a session: it has no session header; it was left as it is
            exit 1
            $ show text.jsonl
            ! osier: $DIR/code/text.jsonl is not a session: it has no session header; it was left as it is
            exit 1
            $ append text.jsonl x
            ! osier: $DIR/code/text.jsonl is not a session: it has no session header; it was left as it is
            exit 1
            $ show headless.jsonl
            ! osier: $DIR/code/headless.jsonl is not a session: it does not begin with a session header; it was left as it is
            exit 1
            $ show x.jsonl
            ! osier: x.jsonl is a folder; name a .jsonl file in it
            exit 1
            $ verify nowhere.jsonl
            ! osier: no file nowhere.jsonl
            exit 1
            $ verify text.jsonl
            ! osier: $DIR/code/text.jsonl is not a session: it has no session header; it was left as it is
            exit 1
        "#]],
    );
    assert_eq!(world.read("text.jsonl"), b"hello\nworld\n");
}

/// A file that was renamed, or copied from elsewhere, is the session that its header names.
#[test]
fn a_session_is_found_by_its_header_whatever_its_file_is_called() {
    let world = World::new();
    put(&world, "4f89da11-5e7b", "my favourite.jsonl");
    assert_eq!(world.json("list --all")[0]["shortId"], "4f89da11");
    for word in ["4f89da11-5e7b", "4f89da11", "4f"] {
        assert_eq!(world.json(&format!("show {word}"))["firstMessage"], "a", "{word}");
    }
    world.ok("append 4f89 b");
    let Value::Array(path) = world.json("path 4f89") else { panic!("a path is a list") };
    assert_eq!(path.len(), 2);
}

#[test]
fn of_two_copies_of_one_session_neither_is_taken_for_the_other() {
    let world = stored(&["4f89da11-5e7b"]);
    put(&world, "4f89da11-5e7b", "2026-02-02T00-00-00-000Z_4f89da11-5e7b.jsonl");
    let told = world.fails(1, "show 4f89");
    assert!(told.starts_with("osier: 4f89 could mean 2 sessions: /"), "{told}");
    assert!(told.ends_with("_4f89da11-5e7b.jsonl; name one of these files\n"), "{told}");
    world.fails(1, "append 4f89da11-5e7b x");
}
