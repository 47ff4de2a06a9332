//! Prompts, replies and questions.

use osier_testkit::browser::BrowserWindow;
use serde_json::json;

use super::{ENTER, ESCAPE, LivePage, REPLIES};
use crate::run_support::ModelServer;
use crate::server::TestGateway;

const PHONE: BrowserWindow = BrowserWindow { width: 390, height: 800, dark: true };

#[tokio::test]
async fn a_reply_streams_to_every_browser_and_survives_a_refresh() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    let session = gateway.create().await;
    page.show(&session).await;
    page.prompt("hello").await;
    let mut request = model.next_request();
    request.send_text("A **bold** begin");
    page.wait("document.querySelector('.draft strong')?.textContent === 'bold'").await;
    let other = LivePage::open(&gateway, PHONE).await.unwrap();
    other.show(&session).await;
    other.wait("document.querySelector('.draft strong')").await;
    page.browser.refresh().await;
    page.wait("document.querySelector('.draft strong')").await;
    request.send_text("ning and an end");
    page.sees("beginning and an end").await;
    request.finish("stop");
    for shown in [&page, &other] {
        shown.wait(&format!("{REPLIES} === 1 && !document.querySelector('.draft')")).await;
        shown.sees("beginning and an end").await;
        shown.is_consistent().await;
    }
}

#[tokio::test]
async fn a_question_shows_the_diff_and_takes_every_answer() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&gateway.create().await).await;
    let write = |path: &str| json!({ "path": path, "content": "made <b>\n" });
    page.prompt("write").await;
    model.next_request().reply_with_call("write", &write("a.txt"));
    page.wait("document.querySelector('.question .diff .added')?.textContent.includes('made <b>')").await;
    page.browser.type_into(".refusal input", &format!("not now{ENTER}")).await;
    let refused = model.next_request();
    assert!(refused.messages().iter().any(|message| message.contains("not now")), "{:?}", refused.messages());
    refused.reply_with_call("write", &write("b.txt"));
    page.wait("document.querySelector('.question')?.textContent.includes('b.txt')").await;
    page.browser.click(".question button.primary").await;
    model.next_request().reply_with_call("write", &write("c.txt"));
    page.wait("document.querySelector('.question')?.textContent.includes('c.txt')").await;
    page.browser.click(".answers > button:nth-child(2)").await;
    model.next_request().reply_with_call("write", &write("d.txt"));
    model.next_request().reply("Done.");
    page.sees("Done.").await;
    let made = |name: &str| gateway.env.path(name).exists();
    assert_eq!([made("a.txt"), made("b.txt"), made("c.txt"), made("d.txt")], [false, true, true, true]);
    page.becomes("document.querySelectorAll('.question').length", json!(0)).await;
}

#[tokio::test]
async fn prompts_steer_wait_and_return_when_the_turn_is_stopped() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&gateway.create().await).await;
    page.prompt("first").await;
    let mut request = model.next_request();
    request.send_text("working");
    page.sees("working").await;
    page.prompt("steer it").await;
    page.browser.type_into("#prompt", "and later").await;
    page.browser.click("#queue-prompt").await;
    page.wait("document.querySelectorAll('.queued').length === 2").await;
    request.finish("stop");
    let mut request = model.next_request();
    assert!(request.messages().iter().any(|message| message.contains("steer it")));
    request.send_text("steered");
    page.sees("steered").await;
    page.browser.type_into("#prompt", ESCAPE).await;
    page.wait("document.querySelector('#prompt').value === 'and later'").await;
    page.wait(
        "document.querySelector('#cancel').hidden && document.querySelectorAll('.queued').length === 0",
    )
    .await;
}

/// The same with keys: Alt+Enter queues, and Alt+Up returns what is queued, without stopping the turn.
#[tokio::test]
async fn keys_queue_prompts_and_return_them() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&gateway.create().await).await;
    page.prompt("first").await;
    let mut request = model.next_request();
    request.send_text("working");
    page.sees("working").await;
    // A modifier holds until it is pressed again.
    let (alt, up) = ("\u{e00a}", "\u{e013}");
    page.browser.type_into("#prompt", &format!("later{alt}{ENTER}{alt}")).await;
    page.wait("document.querySelector('.queued')?.textContent === 'Queuedlater' && document.querySelector('#prompt').value === ''").await;
    page.browser.type_into("#prompt", &format!("{alt}{up}{alt}")).await;
    page.wait("!document.querySelector('.queued') && document.querySelector('#prompt').value === 'later'")
        .await;
    page.wait("!document.querySelector('#cancel').hidden").await;
    request.finish("stop");
    page.turn_ended(1).await;
}

#[tokio::test]
async fn model_thinking_and_approval_mode_are_switched_below_the_prompt() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    let session = gateway.create().await;
    page.show(&session).await;
    page.choose_value("#approval", "autoEdit").await;
    page.prompt("write").await;
    let write = json!({ "path": "a.txt", "content": "x" });
    model.next_request().reply_with_call("write", &write);
    model.next_request().reply("No question.");
    page.sees("No question.").await;
    page.wait("document.querySelector('#approval').value === 'autoEdit'").await;
    page.wait("/\\d+% of/.test(document.querySelector('#context-text').textContent)").await;
}

/// They stay returned until the next prompt is sent. A page that connects again must not add them again.
#[tokio::test]
async fn prompts_that_a_gateway_left_when_it_died_return_to_the_editor_once() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    let session = gateway.create().await;
    page.show(&session).await;
    page.prompt("hello").await;
    let mut request = model.next_request();
    // The page knows that its own prompt has arrived, and does not return that one.
    request.send_text("Half an answer");
    page.sees("Half an answer").await;
    gateway.post(&format!("{session}/prompt"), json!({ "text": "later", "when": "follow_up" })).await;
    let (port, mut gateway) = (gateway.port(), gateway);
    for number in ["one", "two", "three"] {
        let env = gateway.kill();
        page.wait("document.body.dataset.connection === 'lost'").await;
        gateway = TestGateway::start_on(env, port);
        page.wait("document.body.dataset.connection === 'connected'").await;
        // It arrives as an event, so the page is attached again.
        let message = json!({ "message": { "role": "user", "content": format!("number {number}") } });
        gateway.post(&format!("{session}/messages"), message).await;
        page.sees(&format!("number {number}")).await;
        assert_eq!(
            page.evaluate("return document.querySelector('#prompt').value").await,
            "later",
            "{number}"
        );
    }
}

#[tokio::test]
async fn output_of_a_tool_is_shown_while_it_runs() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&gateway.create().await).await;
    page.prompt("run").await;
    let wait = "echo started; until [ -e on ]; do sleep 0.05; done; echo more; until [ -e go ]; do sleep 0.05; done; echo ended";
    model.next_request().reply_with_call("bash", &json!({ "command": wait }));
    page.wait("document.querySelector('.question')").await;
    page.browser.click(".question button.primary").await;
    let output = "document.querySelector('.result.running pre')?.textContent";
    page.wait(&format!("{output}?.includes('started')")).await;
    // A refresh shows the same, and what follows.
    page.browser.refresh().await;
    page.wait(&format!(
        "{output} === 'started\\n' && document.querySelector('.result.running').textContent.includes('bash')"
    ))
    .await;
    std::fs::write(gateway.env.path("on"), "").unwrap();
    page.wait(&format!("{output} === 'started\\nmore\\n'")).await;
    std::fs::write(gateway.env.path("go"), "").unwrap();
    model.next_request().reply("It ran.");
    page.sees("It ran.").await;
    page.wait("!document.querySelector('.result.running')").await;
}

/// A call whose process died says so, as in the terminal: not while it runs, but also when the turn goes on.
#[tokio::test]
async fn a_call_without_a_result_says_that_it_was_interrupted() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let port = gateway.port();
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&gateway.create().await).await;
    page.prompt("run").await;
    model.next_request().reply_with_call("bash", &json!({ "command": "echo started; sleep 600" }));
    page.wait("document.querySelector('.question')").await;
    page.browser.click(".question button.primary").await;
    page.wait("document.querySelector('.result.running pre')?.textContent.includes('started')").await;
    let calls = "[...document.querySelectorAll('.entry .call')].map((call) => call.textContent.split('sleep 600')[1])";
    page.becomes(calls, json!([""])).await;
    page.refresh().await;
    page.wait("document.querySelector('.result.running pre')?.textContent.includes('started')").await;
    page.becomes(calls, json!([""])).await;
    let _gateway = TestGateway::start_on(gateway.kill(), port);
    page.becomes(calls, json!(["interrupted, no result"])).await;
    page.refresh().await;
    page.becomes(calls, json!(["interrupted, no result"])).await;
    page.click_part("document.querySelector('#running .unfinished button')").await;
    let mut request = model.next_request();
    request.send_text("It goes on");
    page.sees("It goes on").await;
    page.becomes(calls, json!(["interrupted, no result"])).await;
    request.finish("stop");
    page.turn_ended(2).await;
    page.becomes(calls, json!(["interrupted, no result"])).await;
}

/// What is asked about is shown in full, also on a phone.
#[tokio::test]
async fn the_command_of_a_question_is_not_cut() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some(page) = LivePage::open(&gateway, BrowserWindow { width: 500, height: 844, dark: false }).await
    else {
        return;
    };
    let phone = json!({ "width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": true });
    page.browser.devtools("Emulation.setDeviceMetricsOverride", phone).await;
    page.show(&gateway.create().await).await;
    page.prompt("run").await;
    let command = format!("echo {} {}", "word ".repeat(20), "x".repeat(100));
    model.next_request().reply_with_call("bash", &json!({ "command": command }));
    page.wait("document.querySelector('.question pre.command code')").await;
    let overflow = "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('.question pre.command'))";
    page.becomes(overflow, json!(0)).await;
    // An answer that lasts says how long.
    let always =
        "[...document.querySelectorAll('.answers > button')].slice(1).map((button) => button.textContent)";
    page.wait(&format!("{always}.length > 0 && {always}.every((name) => name.startsWith('Always allow ') && name.endsWith(' in this session'))")).await;
}

/// That a busy model is tried again is said until it answers.
#[tokio::test]
async fn a_pause_before_another_attempt_ends_with_the_reply() {
    let model = ModelServer::new();
    let env = model.env();
    let file = env.home().join("config.toml");
    let settings = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, settings.replace("retry.attempts = 1", "retry.attempts = 2")).unwrap();
    let gateway = TestGateway::start_in(env, &[]);
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&gateway.create().await).await;
    page.prompt("hello").await;
    model.next_request().refuse(503, "{}");
    page.sees("Trying again in").await;
    let mut request = model.next_request();
    request.send_text("Now it works");
    page.sees("Now it").await;
    page.wait("!document.querySelector('#running').textContent.includes('Trying again')").await;
    request.finish("stop");
    page.turn_ended(1).await;
}

#[tokio::test]
async fn thinking_streams_and_a_todo_list_is_drawn() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&gateway.create().await).await;
    page.prompt("plan").await;
    let mut request = model.next_request();
    request.send_thinking("First the plan");
    page.wait(
        "document.querySelector('.draft details.thinking[open]')?.textContent.includes('First the plan')",
    )
    .await;
    request.send_text("Here is the plan:");
    page.wait("document.querySelector('.draft .body > .markdown')?.textContent.includes('Here is the plan')")
        .await;
    let items = json!([{ "content": "Test <b>", "status": "completed" }, { "content": "Build", "status": "in_progress" }]);
    request.send_call("call_1", "todo", &json!({ "items": items }));
    request.finish("tool_calls");
    let request = model.next_request();
    page.wait("document.querySelector('.todos .completed')?.textContent === 'Test <b>' && document.querySelector('.todos .in-progress')").await;
    request.reply("Done.");
    page.sees("Done.").await;
    page.wait("document.querySelector('.entry details.thinking:not([open])')").await;
}

/// A file is read while the model writes it, as text is.
#[tokio::test]
async fn the_arguments_of_a_call_grow() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&gateway.create().await).await;
    page.prompt("write").await;
    let mut request = model.next_request();
    request.send_raw_call("call_1", "write", r#"{"path": "a.rs", "content": "fn one() {}\nfn t"#);
    page.wait("document.querySelector('.draft .call .summary')?.textContent === 'a.rs'").await;
    let shown = "document.querySelector('.draft .call details[open] code')?.textContent";
    page.becomes(shown, json!("fn one() {}\nfn t")).await;
    request.send_arguments(r"wo() {}\");
    page.becomes(shown, json!("fn one() {}\nfn two() {}")).await;
    request.send_arguments(r#"nend"}"#);
    page.becomes(shown, json!("fn one() {}\nfn two() {}\nend")).await;
    request.finish("tool_calls");
    page.wait("document.querySelector('.question .diff')").await;
}

/// A question shows what it is about, also if that cannot be rendered. An error that nobody catches would fail this test at its end.
#[tokio::test]
async fn a_change_that_cannot_be_rendered_is_shown_as_text() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&gateway.create().await).await;
    let fail = "const fetch = window.fetch; window.failed = 0;
        window.fetch = (path, options) => String(path).includes('/api/render') ? (window.failed++, Promise.reject(new TypeError('failed'))) : fetch(path, options);";
    page.evaluate(fail).await;
    page.prompt("write").await;
    model.next_request().reply_with_call("write", &json!({ "path": "a.txt", "content": "made" }));
    page.wait(
        "document.querySelector('.question .command')?.textContent.includes('+made') && window.failed > 0",
    )
    .await;
    page.browser.click(".question button.primary").await;
    model.next_request().reply("Done.");
    page.turn_ended(2).await;
}

#[tokio::test]
async fn an_entry_of_another_day_shows_its_date() {
    let gateway = TestGateway::start();
    let (session, _) = gateway.create_with(&["new"]).await;
    let old = json!({ "type": "message", "timestamp": "2025-01-15T12:00:00.000Z", "message": { "role": "user", "content": "old" } });
    gateway.post(&format!("{session}/entries"), old).await;
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&session).await;
    page.becomes(
        "[...document.querySelectorAll('.entry time')].map((time) => time.textContent.includes('2025'))",
        json!([false, true]),
    )
    .await;
}
