//! Tasks of sub-agents, and tries of a prompt.

use rustix::process::Signal;
use serde_json::json;

use crate::run_support::{ModelRequest, ModelServer, RunningCommand, osier_command};
use crate::screen::{ALT_A, DOWN, ESCAPE, READY, Screen};

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
fn a_running_task_stays_live_after_a_visit_to_one_that_ended() {
    let model = ModelServer::new();
    let env = model.env();
    let mut screen = Screen::start(osier_command(&env, &[]), 100, 30);
    screen.wait_for(READY);
    screen.submit("delegate");
    let task = |name: &str| json!({ "prompt": format!("Do {name}"), "description": name });
    let tasks = json!({ "tasks": [task("alpha"), task("beta")] });
    model.next_request().reply_with_call("task", &tasks);
    let (first, second) = (model.next_request(), model.next_request());
    let is_beta = first.messages().iter().any(|message| message == "user: Do beta");
    let (alpha, beta) = if is_beta { (second, first) } else { (first, second) };
    screen.wait_for("0 of 2 tasks done");
    screen.press(ALT_A);
    screen.wait_for("general: beta");
    screen.press(DOWN);
    screen.press("\r");
    screen.wait_for("> Do beta");
    beta.reply("Beta is done.");
    screen.wait_for("Beta is done.");
    screen.press(ALT_A);
    screen.wait_for("1 of 2 tasks done");
    alpha.reply("Alpha is done.");
    model.next_request().reply("Both are done.");
    screen.wait_for("Both are done.");
    screen.quit();
}

#[test]
fn retry_shows_the_tasks_that_it_continues_live() {
    let model = ModelServer::new();
    let env = model.env();
    let mut screen = Screen::start(osier_command(&env, &[]), 100, 30);
    screen.wait_for(READY);
    screen.submit("delegate");
    let tasks = json!({ "tasks": [{ "prompt": "Do alpha" }, { "prompt": "Do beta" }] });
    model.next_request().reply_with_call("task", &tasks);
    let requests = [model.next_request(), model.next_request()];
    screen.wait_for("0 of 2 tasks done");
    screen.signal(Signal::KILL);
    screen.wait_for_exit();
    requests.into_iter().for_each(ModelRequest::wait_for_disconnect);
    let mut screen = Screen::start(osier_command(&env, &["-c"]), 100, 30);
    screen.wait_for("2 tasks interrupted");
    screen.wait_for("The last turn did not finish");
    screen.submit("/retry");
    let requests = [model.next_request(), model.next_request()];
    screen.wait_for("0 of 2 tasks done");
    screen.wait_gone("The last turn did not finish");
    requests.into_iter().for_each(|request| request.reply("Done."));
    model.next_request().reply("Both are done.");
    screen.wait_for("Both are done.");
    screen.quit();
}

#[test]
fn a_session_with_nothing_but_tries_says_where_they_are() {
    let model = ModelServer::new();
    let env = model.env();
    let running = RunningCommand::start(osier_command(&env, &["explore", "2", "Think"]));
    for request in [model.next_request(), model.next_request()] {
        request.reply("Thought.");
    }
    assert_eq!(running.wait().code, 0);
    let mut screen = Screen::start(osier_command(&env, &["-c"]), 120, 30);
    screen.wait_for("2 tries of a prompt on other branches; /explore shows them");
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
