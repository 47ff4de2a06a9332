//! Scenes in which a model answers: a turn, completion, sub-agents, tries.

use serde_json::json;

use crate::model::ModelServer;
use crate::screens::Pictures;

const ENTER: &str = "\u{e007}";
const NO_TURN: &str = "document.querySelector('#cancel').hidden";

/// A reply while it is written, a question with a diff, and a tool that runs.
pub(crate) async fn take_turn(pictures: &Pictures<'_>, model: &ModelServer) {
    let browser = pictures.browser;
    browser.type_into("#prompt", &format!("Print a total at the end{ENTER}")).await;
    let mut reply = model.next();
    reply.thinking("The total goes to standard error, so that the output stays one object per line.");
    reply.text("I will add it to `list`, after the loop:\n\n```rust\neprintln!(\"{} items\", items.len());\n```\n\nIt goes to standard ");
    browser.wait_until("document.querySelector('.draft figure.code')").await;
    pictures.take("streaming").await;
    browser.type_into("#prompt", &format!("And run the tests{ENTER}")).await;
    browser.wait_until("document.querySelector('.queued')").await;
    pictures.take("queued").await;
    pictures
        .show(
            "document.querySelector('#queue > button').click()",
            "!document.querySelector('.queued') && document.querySelector('#prompt').value !== ''",
        )
        .await;
    browser.evaluate("document.querySelector('#prompt').value = ''").await;
    reply.text("error.");
    let edit = json!({ "path": "src/list.rs", "edits": [{ "oldText": "        println!(\"{item}\");\n    }\n", "newText": "        println!(\"{item}\");\n    }\n    eprintln!(\"{} items\", items.len());\n" }] });
    reply.call("edit", &edit);
    browser.wait_until("document.querySelector('.question .diff')").await;
    pictures.take("question").await;
    browser.click(".answers > button:nth-child(1)").await;
    let run = "for number in 1 2 3 4; do echo \"test list::case_$number ... ok\"; done; until [ -e done ]; do sleep 0.1; done";
    model.next().call("bash", &json!({ "command": run }));
    browser.wait_until("document.querySelector('.question')").await;
    browser.click(".answers > button:nth-child(1)").await;
    browser.wait_until("document.querySelector('.result.running pre')?.textContent.includes('case_4')").await;
    pictures.take("running").await;
    browser.click("#cancel").await;
    browser.wait_until(NO_TURN).await;
}

async fn start_session(pictures: &Pictures<'_>) {
    pictures.show("location.hash = '#'", "document.querySelector('.session-link')").await;
    pictures.browser.click("#new-session").await;
    pictures.browser.wait_until("document.querySelector('dialog').open").await;
    pictures.browser.click("dialog button.primary").await;
    let is_open = "document.body.dataset.session && document.querySelector('.empty h2') && document.querySelector('#model').value !== ''";
    pictures.browser.wait_until(is_open).await;
}

/// A new session, and suggestions in its prompt.
pub(crate) async fn take_empty(pictures: &Pictures<'_>) {
    start_session(pictures).await;
    pictures.take("empty").await;
    for (name, typed) in [("files", "Explain @li"), ("commands", "/")] {
        pictures.browser.type_into("#prompt", typed).await;
        pictures.browser.wait_until("document.querySelector('#completion li')").await;
        pictures.take(name).await;
        let clear = "const prompt = document.querySelector('#prompt'); prompt.value = ''; prompt.dispatchEvent(new Event('input'))";
        pictures.show(clear, "document.querySelector('#completion').hidden").await;
    }
}

/// Tasks while they run, and their results with a timeline.
pub(crate) async fn take_delegation(pictures: &Pictures<'_>, model: &ModelServer) {
    let browser = pictures.browser;
    browser.type_into("#prompt", &format!("Who calls list, and is it documented?{ENTER}")).await;
    let task = |what: &str, prompt: &str| json!({ "description": what, "prompt": prompt });
    let tasks = json!([
        task("Find the callers", "Find all callers of list"),
        task("Check the docs", "Is list documented?")
    ]);
    model.next().call("task", &json!({ "tasks": tasks }));
    let replies = [model.next(), model.next()];
    browser.wait_until("document.querySelectorAll('.task[data-status=running]').length === 2").await;
    pictures.take("tasks").await;
    for mut reply in replies {
        let is_first = reply.is_about("Find all callers");
        reply.text(if is_first { "Three: `main.rs`, `watch.rs` and `export.rs`." } else { "Not yet." });
        reply.end("stop");
    }
    let mut reply = model.next();
    reply.text("Three files call it, and it is not documented yet.");
    reply.end("stop");
    browser.wait_until(NO_TURN).await;
    // The card may still be drawn anew.
    let open =
        "document.querySelectorAll('.kind-subagent_result .timeline').forEach((part) => (part.open = true))";
    browser.wait_until(&format!("({open}, document.querySelector('.timeline[open]'))")).await;
    browser.evaluate("document.querySelector('.entry.kind-subagent_batch').scrollIntoView()").await;
    pictures.take("cards").await;
}

/// The form, the table while tries run and after them, and two of them side by side.
pub(crate) async fn take_explore(pictures: &Pictures<'_>, model: &ModelServer) {
    let browser = pictures.browser;
    pictures.choose("document.querySelector('#session-actions').click()", "Explore a prompt").await;
    browser.wait_until("document.querySelector('dialog').open").await;
    browser.type_into("#field-prompt", "Count the items in list").await;
    browser.evaluate("document.querySelector('#field-count').value = '2'").await;
    pictures.take("explore-form").await;
    browser.click("dialog button.primary").await;
    browser.wait_until("document.querySelectorAll('dialog.explore tbody tr').length === 2").await;
    let replies = [model.next(), model.next()];
    pictures.take("explore-running").await;
    for (reply, new) in replies.into_iter().zip(["total += 1;", "count.add(item);"]) {
        let line = "println!(\"{item}\");";
        let edit = json!([{ "oldText": line, "newText": format!("{line}\n        {new}") }]);
        reply.call("edit", &json!({ "path": "src/list.rs", "edits": edit }));
        let mut reply = model.next();
        reply.text(&format!("`list` now counts the items: `{new}`"));
        reply.end("stop");
    }
    browser.wait_until("document.querySelectorAll('dialog.explore .try-actions button').length === 4").await;
    pictures.take("explore").await;
    for number in [1, 2] {
        browser.click(&format!("[data-focus=box-{number}]")).await;
    }
    pictures
        .show(
            "document.querySelector('dialog .dialog-buttons button').click()",
            "document.querySelector('dialog .column')",
        )
        .await;
    pictures.take("explore-compare").await;
    browser.click("dialog button.cancel").await;
    browser.wait_until("document.querySelector('dialog.explore[open]')").await;
    pictures.close_dialog().await;
}
