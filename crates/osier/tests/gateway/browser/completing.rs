//! Completion of files and commands in the prompt.

use osier_testkit::browser::BrowserWindow;
use serde_json::json;

use super::{ENTER, ESCAPE, LivePage};
use crate::run_support::ModelServer;
use crate::server::TestGateway;

const DOWN: &str = "\u{e015}";
const TAB: &str = "\u{e004}";

/// The suggestions, with `>` before the selected one.
const SUGGESTIONS: &str = "[...document.querySelectorAll('#completion:not([hidden]) li')].map((item) => (item.ariaSelected === 'true' ? '>' : '') + item.querySelector('.candidate').textContent)";

/// A page in an empty session whose project has some files, and a template.
async fn open(model: &ModelServer) -> Option<(TestGateway, LivePage)> {
    let env = model.env();
    for file in ["src/main.rs", "src/list.rs", "tests/list.rs", "notes to self.txt"] {
        let path = env.path(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("the content of {file}")).unwrap();
    }
    let templates = env.home().join("prompts");
    std::fs::create_dir_all(&templates).unwrap();
    std::fs::write(
        templates.join("review.md"),
        "---\ndescription: Review <b>the</b> changes\n---\nReview $1 now.\n",
    )
    .unwrap();
    let gateway = TestGateway::start_in(env, &[]);
    let page = LivePage::open(&gateway, BrowserWindow::default()).await?;
    page.show(&gateway.create().await).await;
    Some((gateway, page))
}

async fn suggests(page: &LivePage, expected: &[&str]) {
    let expected = json!(expected);
    page.wait(&format!("JSON.stringify({SUGGESTIONS}) === {}", json!(expected.to_string()))).await;
}

#[tokio::test]
async fn files_are_completed_and_sent() {
    let model = ModelServer::new();
    let Some((_gateway, page)) = open(&model).await else { return };
    let press = async |keys: &str| page.browser.type_into("#prompt", keys).await;
    press("read @li").await;
    suggests(&page, &[">@src/list.rs", "@tests/list.rs"]).await;
    // The focus stays in the prompt, which names the selected suggestion.
    let active = "document.activeElement.id === 'prompt' && document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))";
    page.wait(&format!("{active}.textContent === '@src/list.rs' && {active}.role === 'option' && {active}.parentElement.role === 'listbox'")).await;
    press(DOWN).await;
    suggests(&page, &["@src/list.rs", ">@tests/list.rs"]).await;
    press(DOWN).await;
    suggests(&page, &[">@src/list.rs", "@tests/list.rs"]).await;
    press(ENTER).await;
    page.wait("document.querySelector('#prompt').value === 'read @src/list.rs '").await;
    suggests(&page, &[]).await;
    page.wait("!document.querySelector('#prompt').hasAttribute('aria-activedescendant')").await;
    press("and @main").await;
    suggests(&page, &[">@src/main.rs"]).await;
    press(TAB).await;
    page.wait("document.querySelector('#prompt').value === 'read @src/list.rs and @src/main.rs '").await;
    press(ENTER).await;
    let request = model.next_request();
    assert!(request.text.contains("the content of src/list.rs"), "{}", request.text);
    assert!(request.text.contains("the content of src/main.rs"), "{}", request.text);
    request.reply("done");
    page.sees("done").await;
}

#[tokio::test]
async fn commands_are_completed_at_the_start_only() {
    let model = ModelServer::new();
    let Some((_gateway, page)) = open(&model).await else { return };
    let press = async |keys: &str| page.browser.type_into("#prompt", keys).await;
    press("/rev").await;
    suggests(&page, &[">/review"]).await;
    page.wait(
        "document.querySelector('#completion .description').textContent === 'Review <b>the</b> changes'",
    )
    .await;
    // Escape closes the list and keeps the text.
    press(ESCAPE).await;
    suggests(&page, &[]).await;
    page.wait("document.querySelector('#prompt').value === '/rev'").await;
    press("i").await;
    suggests(&page, &[">/review"]).await;
    page.browser.click("#completion li").await;
    page.wait(
        "document.querySelector('#prompt').value === '/review ' && document.activeElement.id === 'prompt'",
    )
    .await;
    press("this /rev").await;
    suggests(&page, &[]).await;
    press(&format!("{}{ENTER}", "\u{e003}".repeat(5))).await;
    let request = model.next_request();
    assert!(
        request.messages().iter().any(|message| message.contains("Review this now.")),
        "{:?}",
        request.messages()
    );
    request.reply("done");
    page.sees("done").await;
}

/// A command that is typed in full is sent with one Enter, and Enter in a list sends nothing.
#[tokio::test]
async fn enter_sends_what_is_already_complete() {
    let model = ModelServer::new();
    let Some((_gateway, page)) = open(&model).await else { return };
    page.browser.type_into("#prompt", "/review").await;
    suggests(&page, &[">/review"]).await;
    page.browser.type_into("#prompt", ENTER).await;
    model.next_request().reply("done");
    page.sees("done").await;
}

/// The model gets no commands that nobody knows. Those of the terminal have a menu entry here, and paths are no commands.
#[tokio::test]
async fn unknown_commands_are_not_sent() {
    let model = ModelServer::new();
    let Some((_gateway, page)) = open(&model).await else { return };
    let said = "document.querySelector('#message').textContent";
    for (text, answer) in [
        ("/undo", "/undo is a command of the terminal; here, choose “Undo the last move” under More"),
        (
            "/compact now",
            "/compact is a command of the terminal; here, choose “Compact the context…” under More",
        ),
        ("/quit", "/quit is a command of the terminal"),
        ("/nosuch x", "Unknown command /nosuch; the list after / has those that can be used here"),
        ("/constructor", "Unknown command /constructor; the list after / has those that can be used here"),
    ] {
        page.prompt(text).await;
        page.becomes(said, json!(answer)).await;
        // It stays in the editor.
        page.becomes("document.querySelector('#prompt').value", json!(text)).await;
        page.evaluate("document.querySelector('#prompt').select()").await;
    }
    page.prompt("/tmp/x is a path").await;
    let request = model.next_request();
    let messages = request.messages();
    assert!(messages.iter().any(|message| message == "user: /tmp/x is a path"), "{messages:?}");
    assert!(!messages.iter().any(|message| message.contains("/undo") || message.contains("/nosuch")));
    request.reply("done");
    page.turn_ended(1).await;
}
