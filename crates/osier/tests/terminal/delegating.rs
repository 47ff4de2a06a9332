//! Tasks of sub-agents, and tries of a prompt.

use serde_json::json;

use crate::run_support::{ModelServer, osier_command};
use crate::screen::{ALT_A, ESCAPE, READY, Screen};

#[test]
fn a_task_is_opened_while_it_works_steered_there_and_read_later() {
    let model = ModelServer::new();
    let env = model.env();
    let mut screen = Screen::start(osier_command(&env, &[]), 100, 30);
    screen.wait_for(READY);
    screen.submit("delegate");
    let task = json!({ "prompt": "Count the files", "description": "Files" });
    model.next_request().reply_with_call("task", &json!({ "tasks": [task] }));
    let work = model.next_request();
    screen.wait_for("0 of 1 task done");
    screen.wait_for("general  Files");
    screen.press(ALT_A);
    screen.wait_for("general: Files");
    screen.press("\r");
    screen.wait_for("> Count the files");
    screen.submit("Only those that git knows");
    screen.wait_for("Only those that git knows");
    work.reply("I count.");
    let steered = model.next_request();
    assert_eq!(steered.messages().last().unwrap(), "user: Only those that git knows");
    steered.reply("There are seven.");
    screen.wait_for("There are seven.");
    // The turn of the parent has gone on.
    let end = model.next_request();
    assert!(
        end.messages().iter().any(|message| message.contains("There are seven.")),
        "{:?}",
        end.messages()
    );
    screen.press(ALT_A);
    screen.wait_for("✓ general  Files");
    end.reply("Seven.");
    screen.wait_for("Seven.");
    screen.press(ALT_A);
    screen.wait_for("general: Files");
    screen.press("\r");
    screen.wait_for("I count.");
    screen.quit();
}

#[test]
fn tries_are_shown_compared_kept_and_removed() {
    let model = ModelServer::new();
    let env = model.env();
    env.write("list.txt", "one\n");
    let mut screen = Screen::start(osier_command(&env, &[]), 120, 34);
    screen.wait_for(READY);
    screen.submit("/explore 2 Add a line");
    for (request, line) in [model.next_request(), model.next_request()].into_iter().zip(["left", "right"]) {
        let edits = json!([{ "oldText": "one\n", "newText": format!("one\n{line}\n") }]);
        request.reply_with_call("edit", &json!({ "path": "list.txt", "edits": edits }));
        model.next_request().reply(&format!("I added {line}"));
    }
    screen.wait_for("/explore keep 1");
    let text = screen.text();
    assert!(text.contains("✓ 1    completed  1") && text.contains("✓ 2    completed  1"), "{text}");
    assert_eq!(env.read("list.txt"), b"one\n");
    screen.submit("/explore compare 1 2");
    screen.wait_for("Try 1 and try 2");
    screen.wait_for("I added left");
    screen.press(ESCAPE);
    screen.wait_gone("Try 1 and try 2");
    screen.submit("/explore keep 2");
    screen.wait_for("Kept try 2; 1 file changed:");
    let kept = String::from_utf8(env.read("list.txt")).unwrap();
    assert!(["one\nleft\n", "one\nright\n"].contains(&kept.as_str()), "{kept}");
    screen.submit("/explore remove");
    screen.wait_for("Removed the copies");
    screen.submit("/explore");
    screen.wait_for("the copies were removed");
    screen.wait_for("kept       1");
    screen.quit();
}
