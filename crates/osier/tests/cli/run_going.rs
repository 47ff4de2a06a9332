//! Going places in the chat, on a real terminal.

use std::fs;

use osier_testkit::{Script, expect};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::run_support::{Server, Terminal, osier};
use crate::support::World;

fn chat(world: &World, args: &[&str]) -> Terminal {
    Terminal::start(osier(world, args))
}

/// Goes on with the session of a script, as if the server had been its model all the time.
fn with_script(server: &Server, script: &str) -> (World, Terminal) {
    let world = server.world();
    let file = String::from_utf8(Script::run(script).file()).unwrap();
    let ours = r#""provider":"local","model":"test""#;
    world.write("s.jsonl", file.replace(r#""provider":"anthropic","model":"claude""#, ours));
    let chat = chat(&world, &["--session", "s.jsonl"]);
    (world, chat)
}

/// Keeps little, so that small sessions can be compacted.
fn keeping_little(world: &World) {
    let config = world.home().join("config.toml");
    let settings = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("compaction.keep_recent_tokens = 1\n{settings}")).unwrap();
}

fn leave(mut chat: Terminal) {
    chat.say("/quit");
    assert_eq!(chat.end().0, 0);
}

fn last(world: &World) -> Value {
    serde_json::from_str(world.lines("s.jsonl").last().unwrap()).unwrap()
}

const SCRIPT: &str = "say one; reply first; say two; reply second";

#[test]
fn a_row_of_the_tree_is_gone_to_and_an_empty_line_says_the_text_again() {
    let server = Server::new();
    let (world, mut chat) = with_script(&server, SCRIPT);
    chat.say("/tree");
    let mut seen = chat.say("/tree 3");
    seen += &chat.until("? ");
    seen += &chat.until("? ");
    chat.type_in("n\n");
    seen += &chat.until("> ");
    expect![[r#"

          1 00000001  user: "one"
          2 00000002  assistant: "first"
          3 00000003  user: "two"
          4 00000004  assistant: "second"  ← active
        /tree N goes to a row, an id or root; /tree user-only, no-tools, labeled-only or all shows others

        > 
        A summary of what you leave?   n: no   y: yes   or say what it should tell
        ? n
        now here:
        user: "one"
        assistant: "first"
        Enter says this again; or say it differently:
          two

        > "#]]
    .assert_eq(&seen);
    assert_eq!(
        (&last(&world)["customType"], &last(&world)["parentId"]),
        (&json!("osier.leaf"), &json!("00000002"))
    );
    chat.type_in("\n");
    let asked = server.next();
    assert_eq!(asked.messages(), ["user: one", "assistant: first", "user: two"]);
    asked.answer("another second");
    chat.until("another second");
    // It was said; an empty line says nothing more.
    chat.say("");
    chat.say("/undo");
    let seen = chat.until("> ");
    assert!(seen.contains("assistant: \"second\""), "{seen}");
    chat.type_in("/redo\n");
    leave(chat);
}

#[test]
fn a_summary_streams_and_becomes_the_first_entry_of_the_new_branch() {
    let server = Server::new();
    let (world, mut chat) = with_script(&server, SCRIPT);
    chat.say("/tree 00000002");
    chat.until("? ");
    chat.until("? ");
    chat.type_in("only the number\n");
    let mut asked = server.next();
    assert!(asked.messages().concat().ends_with("Additional focus: only the number"));
    asked.text("It was ");
    let mut seen = chat.until("It was ");
    asked.answer("two.");
    seen += &chat.say("three");
    expect![[r#"
        only the number
        summarizing what is left behind
        It was two.
        now here:
        user: "one"
        assistant: "first"
        ══ summary of the branch left at 00000004 ══
           It was two.

        > "#]]
    .assert_eq(&world.named(&seen));
    let asked = server.next();
    let messages = asked.messages();
    assert_eq!((messages[0].as_str(), messages[3].as_str()), ("user: one", "user: three"), "{messages:?}");
    assert!(messages[2].contains("It was two."), "{messages:?}");
    asked.answer("third");
    chat.until("third");
    leave(chat);
}

#[test]
fn ctrl_c_stops_a_summary_and_a_question_and_nothing_is_changed() {
    let server = Server::new();
    let (world, mut chat) = with_script(&server, SCRIPT);
    let before = world.read("s.jsonl");
    chat.say("/tree 00000002");
    chat.until("? ");
    chat.until("? ");
    chat.signal(Signal::INT);
    chat.until("nothing was changed");
    chat.say("/tree 00000002");
    chat.until("? ");
    chat.until("? ");
    chat.type_in("y\n");
    let mut asked = server.next();
    asked.text("It was");
    chat.until("It was");
    chat.type_in("are you there?\n");
    chat.until("a move or a summary is under way");
    chat.signal(Signal::INT);
    asked.until_hung_up();
    chat.until("stopped; nothing was changed");
    assert_eq!(world.read("s.jsonl"), before);
    leave(chat);
    assert_eq!(world.read("s.jsonl"), before);
}

#[test]
fn a_fork_goes_on_elsewhere_with_the_text_in_hand() {
    let server = Server::new();
    let (world, mut chat) = with_script(&server, SCRIPT);
    let before = world.read("s.jsonl");
    chat.say("/fork");
    let list = chat.say("/fork 1");
    assert!(list.contains("  two\n") && list.contains("/fork N begins a new session before it"), "{list}");
    chat.until("going on in session");
    let seen = chat.until("Enter says this again; or say it differently:\n".replace('\n', "\r\n").as_str());
    assert!(seen.contains("assistant: \"first\""), "{seen}");
    chat.say("");
    let asked = server.next();
    assert_eq!(asked.messages(), ["user: one", "assistant: first", "user: two"]);
    asked.answer("elsewhere");
    chat.until("elsewhere");
    chat.say("/branch");
    chat.until("going on in session");
    leave(chat);
    assert_eq!(world.read("s.jsonl"), before);
    assert_eq!(world.session_files().len(), 2);
}

#[test]
fn compacting_is_drawn_shown_and_taken_back() {
    let server = Server::new();
    let (world, chat) = with_script(&server, SCRIPT);
    leave(chat);
    keeping_little(&world);
    let mut chat = self::chat(&world, &["--session", "s.jsonl"]);
    chat.say("/compact the numbers");
    let asked = server.next();
    assert!(asked.messages().concat().ends_with("Additional focus: the numbers"));
    asked.answer("## Goal\nNumbers.");
    let asked = server.next();
    asked.answer("Two was asked.");
    let mut seen = chat.say("/compaction");
    seen += &chat.say("three");
    expect![[r#"

        summarizing the older part of the conversation
        ## Goal
        Numbers.

        Two was asked.
        ══ compacted: 110 tokens, kept from 00000004 ══
           ## Goal
           Numbers.
           ---
           **The turn that goes on below began so:**
           …
        110 tokens before, about 22 after

        > 
        compaction <1>
        110 tokens before, about 22 after
        3 entries dropped, kept from 00000004
          00000001  user: "one"
          00000002  assistant: "first"
          00000003  user: "two"

        ## Goal
        Numbers.

        ---

        **The turn that goes on below began so:**

        Two was asked.

        > "#]]
    .assert_eq(&world.named(&seen));
    server.next().answer("third");
    chat.until("third");
    chat.say("/compaction undo");
    let seen = chat.until("? ") + &chat.until("n: no\r\n? ");
    assert!(seen.contains("2 messages came after it and stay on the other branch"), "{seen}");
    chat.type_in("y\n");
    chat.until("now here:");
    let seen = chat.until("> ");
    assert!(seen.trim_end().ends_with("assistant: \"second\"\n\n>"), "{seen}");
    chat.type_in("four\n");
    let asked = server.next();
    assert_eq!(asked.messages().len(), 5, "everything is sent again: {:?}", asked.messages());
    asked.answer("fourth");
    chat.until("fourth");
    leave(chat);
}

#[test]
fn branches_are_compared_and_grafted_by_their_rows() {
    let server = Server::new();
    let (world, mut chat) =
        with_script(&server, "say one; reply first; say two; reply second; move first; say other");
    chat.say("/tree");
    let mut seen = chat.say("/compare 4");
    seen += &chat.say("/graft 4");
    seen += &chat.until("? ");
    seen += &chat.until("? ");
    chat.type_in("n\n");
    seen += &chat.say("/quit");
    assert_eq!(chat.end().0, 0);
    expect![[r#"

          1 00000001  user: "one"
          2 00000002  assistant: "first"
          3 ├─ 00000003  user: "two"
          4 │  00000004  assistant: "second"
          5 └─ 00000006  user: "other"  ← active
        /tree N goes to a row, an id or root; /tree user-only, no-tools, labeled-only or all shows others

        > 
        in common up to 00000002
        00000006                                                   │ 00000004
        1 message, 0 tokens, $0                                    │ 2 messages, 110 tokens, $0.110
                                                                   │
        user: "other"                                              │ user: "two"
                                                                   │ assistant: "second"

        > 
        In the words of a model?   n: as it was concluded there   y: yes   or say what it should tell
        ? n
        now here:
        user: "one"
        assistant: "first"
        user: "other"
        ══ grafted from the branch that ends in 00000004 ══
           Grafted from [entry 00000004]: entries [entry 00000003] to [entry 00000004], parted from here at [entry 00000002].
           Asked there:
           - two [entry 00000003]
           Concluded there [entry 00000004]:
           …

        > "#]].assert_eq(&world.named(&seen));
    assert_eq!(
        (&last(&world)["type"], &last(&world)["fromId"]),
        (&json!("branch_summary"), &json!("00000004"))
    );
}

#[test]
fn what_makes_no_sense_is_said_and_nothing_happens() {
    let server = Server::new();
    let (world, mut chat) = with_script(&server, SCRIPT);
    let before = world.read("s.jsonl");
    let lines = [
        "/tree 99",
        "/tree zzz",
        "/fork 00000009",
        "/compare",
        "/graft",
        "/graft 1",
        "/compaction",
        "/undo",
        "/compact",
    ];
    let mut seen = String::new();
    for line in lines {
        seen += &chat.say(line);
    }
    seen += &chat.say("/quit");
    assert_eq!(chat.end().0, 0);
    expect![[r#"
        osier in ~/code, with local/test
        /help lists the commands; Ctrl-C stops a turn, Ctrl-D leaves
        user: "one"
        assistant: "first"
        user: "two"
        assistant: "second"

        > 
        there is no row 99 in the tree as it was drawn last; /tree draws it anew

        > 
        no entry zzz in this session; `osier sessions tree --ids` shows what there is

        > 
        no entry 00000009 in this session; the nearest: 00000001, 00000002, 00000003, 00000004

        > 
        /compare takes the last entry of a branch, or of two: numbers or ids that /tree shows

        > 
        /graft takes the last entry of another branch: a number or an id that /tree shows

        > 
        00000001 is on the path already, so it has nothing to bring here; choose the end of another branch

        > 
        no compaction on the path to the leaf; this session has none; `osier sessions compact` makes one

        > 
        there is no move to undo

        > 
        nothing to compact: all of it is recent, or not answered yet

        > "#]]
    .assert_eq(&seen);
    assert_eq!(world.read("s.jsonl"), before);
}

#[test]
fn a_return_of_the_model_is_drawn_when_it_happens_and_when_the_session_is_resumed() {
    let server = Server::new();
    let world = server.world();
    let mut talk = chat(&world, &[]);
    talk.say("find the bug");
    server.next().calls("ls", &json!({}));
    server.next().calls("backtrack", &json!({ "checkpoint_id": 0, "note": "it is in a.rs" }));
    let asked = server.next();
    let messages = asked.messages();
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert!(messages[1].contains("Note from your future self: it is in a.rs"), "{messages:?}");
    asked.answer("Found it.");
    let seen = talk.until("Found it.");
    expect![[r#"

        [ls: .]
        ══ backtracked to checkpoint 0, 4 messages left behind ══
           returned to: find the bug
           note: it is in a.rs
        Found it."#]]
    .assert_eq(&world.named(&seen));
    leave(talk);
    let mut talk = chat(&world, &["-c"]);
    let seen = talk.say("/quit");
    assert!(
        seen.contains(
            "══ backtracked to checkpoint 0, 4 messages left behind ══\n   returned to: find the bug\n"
        ),
        "{seen}"
    );
    assert_eq!(talk.end().0, 0);
}

#[test]
fn returning_can_be_switched_off_with_the_marks() {
    let server = Server::new();
    let world = server.world();
    let offers = |args: &[&str]| {
        let mut talk = chat(&world, args);
        talk.say("hello");
        let asked = server.next();
        let tools = asked.body["tools"].to_string();
        let both =
            (tools.contains("\"backtrack\""), asked.body["messages"].to_string().contains("Checkpoint 0"));
        asked.answer("Hi.");
        talk.until("Hi.");
        leave(talk);
        both
    };
    assert_eq!(offers(&[]), (true, true));
    assert_eq!(offers(&["--tools", "read"]), (false, false));
    assert_eq!(offers(&["--tools", "backtrack"]), (true, true));
    assert_eq!(offers(&["--no-tools"]), (false, false));
    let config = world.home().join("config.toml");
    let settings = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("backtracking = false\n{settings}")).unwrap();
    assert_eq!(offers(&[]), (false, false));
    assert_eq!(offers(&["--tools", "read,backtrack"]), (false, false));
}
