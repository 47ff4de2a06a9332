//! What extensions show and ask, with an extension that really runs.

use osier_testkit::browser::BrowserWindow;
use serde_json::json;

use super::{ENTER, LivePage};
use crate::server::TestGateway;
use crate::support::TestEnv;

/// Commands that open every dialog, and that show something beside the editor.
const EXTENSION: &str = r#"
import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";

export default function (pi: ExtensionAPI) {
	pi.registerCommand("ask", {
		handler: async (_args, ctx) => {
			const choice = await ctx.ui.select("Which?", ["red", "<b>blue"]);
			const sure = await ctx.ui.confirm("Sure?", "It is final.");
			const name = await ctx.ui.input("Name?", "a name");
			const text = await ctx.ui.editor("Edit", "old");
			const nothing = await ctx.ui.select("Cancel this", ["x"]);
			ctx.ui.notify(JSON.stringify([choice, sure, name, text, nothing ?? "none"]));
		},
	});
	pi.registerCommand("show", {
		handler: async (_args, ctx) => {
			ctx.ui.setStatus("a", "3 tests");
			ctx.ui.setWidget("w", ["one", "<b>two"]);
			ctx.ui.setEditorText("try this");
		},
	});
	pi.registerCommand("type", {
		handler: async (_args, ctx) => ctx.ui.setEditorText("!echo not typed"),
	});
	pi.registerCommand("hide", {
		handler: async (_args, ctx) => {
			ctx.ui.setStatus("a", undefined);
			ctx.ui.setWidget("w", undefined);
			ctx.ui.notify("Hidden <b>");
		},
	});
}
"#;

/// A page in a session of a gateway that has the extension.
async fn open_with_extension() -> Option<(TestGateway, LivePage)> {
    let env = TestEnv::new();
    let file = env.path("x.ts");
    std::fs::write(&file, EXTENSION).unwrap();
    let gateway = TestGateway::start_in(env, &["-e", file.to_str().unwrap()]);
    let (session, _) = gateway.create_with(&["first"]).await;
    let page = LivePage::open(&gateway, BrowserWindow::default()).await?;
    page.show(&session).await;
    page.wait("document.querySelectorAll('.row').length === 1").await;
    Some((gateway, page))
}

#[tokio::test]
async fn a_shell_command_that_an_extension_wrote_needs_your_consent() {
    let Some((_gateway, page)) = open_with_extension().await else { return };
    page.prompt("/type").await;
    page.wait("document.querySelector('#prompt').value === '!echo not typed'").await;
    page.browser.type_into("#prompt", ENTER).await;
    page.wait("document.querySelector('dialog').open && document.querySelector('dialog').textContent.includes('Run this shell command?echo not typed')").await;
    page.browser.click("dialog button.cancel").await;
    page.wait("!document.querySelector('dialog').open && document.querySelector('#prompt').value === '!echo not typed'").await;
    page.browser.type_into("#prompt", ENTER).await;
    page.confirm().await;
    page.wait(
        "document.querySelectorAll('.row').length === 2 && document.querySelector('#prompt').value === ''",
    )
    .await;
    // What you type yourself needs none.
    page.prompt("!echo typed").await;
    page.wait("document.querySelectorAll('.row').length === 3").await;
}

#[tokio::test]
async fn dialogs_of_extensions_are_answered() {
    let Some((_gateway, page)) = open_with_extension().await else { return };
    let asks = async |title: &str| {
        page.wait(&format!("document.querySelector('.question h2')?.textContent === {title:?}")).await;
    };
    page.prompt("/ask").await;
    asks("Which?").await;
    page.wait("document.querySelector('.question').textContent.includes('From the extension ')").await;
    page.browser.click(".answers > button:nth-child(2)").await;
    asks("Sure?").await;
    page.wait("document.querySelector('.question').textContent.includes('It is final.')").await;
    page.browser.click(".answers > button.primary").await;
    asks("Name?").await;
    page.wait("document.querySelector('.dialog-answer').placeholder === 'a name'").await;
    page.browser.type_into(".dialog-answer", &format!("Ada{ENTER}")).await;
    asks("Edit").await;
    page.wait("document.querySelector('textarea.dialog-answer').value === 'old'").await;
    // A dialog that is open survives a refresh.
    page.browser.refresh().await;
    asks("Edit").await;
    page.browser.type_into(".dialog-answer", " and new").await;
    page.browser.click(".answers > button.primary").await;
    asks("Cancel this").await;
    page.browser.click(".refusal button").await;
    let answers = json!(["<b>blue", true, "Ada", "old and new", "none"]).to_string();
    page.wait(&format!("document.querySelector('#message').textContent === {}", json!(answers))).await;
    page.wait("!document.querySelector('.question')").await;
}

#[tokio::test]
async fn extensions_show_texts_beside_the_editor() {
    let Some((gateway, page)) = open_with_extension().await else { return };
    page.prompt("/show").await;
    let text = "document.querySelector('#extensions').innerText";
    page.wait(&format!("{text}.includes('one\\n<b>two') && {text}.includes('3 tests')")).await;
    page.wait("document.querySelector('#prompt').value === 'try this'").await;
    // They are there after a refresh, too.
    page.refresh().await;
    page.wait(&format!("{text}.includes('one\\n<b>two') && {text}.includes('3 tests')")).await;
    page.wait("document.querySelector('#prompt').value === 'try this'").await;
    page.evaluate("document.querySelector('#prompt').value = ''").await;
    page.prompt("/hide").await;
    page.wait("document.querySelector('#message').textContent === 'Hidden <b>'").await;
    page.wait(&format!("{text} === ''")).await;
    // What an extension showed in a gateway that died is not there any more.
    page.prompt("/show").await;
    page.wait(&format!("{text}.includes('3 tests')")).await;
    let port = gateway.port();
    let _gateway = TestGateway::start_on(gateway.kill(), port);
    page.wait(&format!("document.body.dataset.connection === 'connected' && {text} === ''")).await;
}
