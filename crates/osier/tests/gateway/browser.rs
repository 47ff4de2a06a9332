//! The page in a real browser.

mod connection;
mod conversation;
mod sessions;
mod tree;

use osier_testkit::browser::{Browser, BrowserWindow};
use serde_json::Value;

use crate::server::TestGateway;

/// The Enter and Escape keys of a WebDriver.
pub(crate) const ENTER: &str = "\u{e007}";
pub(crate) const ESCAPE: &str = "\u{e00c}";

/// Replies that are stored and shown.
pub(crate) const REPLIES: &str = "document.querySelectorAll('.entry.role-assistant:not(.draft)').length";

/// A browser that is logged in.
pub(crate) struct LivePage {
    pub(crate) browser: Browser,
}

impl LivePage {
    /// Logs in with a new link. `None` if tests shall run without a browser.
    pub(crate) async fn open(gateway: &TestGateway, window: BrowserWindow) -> Option<LivePage> {
        let browser = Browser::start(window).await?;
        let link = gateway.env.args(&["token", "link", "--port", &gateway.port().to_string()]);
        browser.client.goto(link.out.trim()).await.unwrap();
        let page = LivePage { browser };
        page.wait("document.body.dataset.connection === 'connected'").await;
        Some(page)
    }

    pub(crate) async fn wait(&self, expression: &str) {
        self.browser.wait_until(expression).await;
    }

    pub(crate) async fn evaluate(&self, script: &str) -> Value {
        self.browser.evaluate(script).await
    }

    /// Opens a session by its address.
    pub(crate) async fn show(&self, session: &str) {
        let id = session.rsplit('/').next().unwrap();
        self.evaluate(&format!("location.hash = '#session={id}'")).await;
        self.wait("document.querySelector('#model').value !== ''").await;
    }

    pub(crate) async fn prompt(&self, text: &str) {
        self.browser.type_into("#prompt", &format!("{text}{ENTER}")).await;
    }

    /// Waits until the shown conversation contains a text.
    pub(crate) async fn sees(&self, text: &str) {
        self.wait(&format!("document.querySelector('#session-view').innerText.includes({text:?})")).await;
    }

    /// Selects the entry whose row in the tree contains a text.
    pub(crate) async fn select(&self, text: &str) {
        let row = format!(
            "[...document.querySelectorAll('.row')].find((row) => row.textContent.includes({text:?}))"
        );
        self.wait(&row).await;
        self.evaluate(&format!("{row}.click()")).await;
        self.wait("document.querySelector('.entry.selected')").await;
    }

    /// Chooses an action of the selected entry.
    pub(crate) async fn choose(&self, action: &str) {
        self.evaluate("document.querySelector('.entry.selected .entry-menu').click()").await;
        self.choose_open(action).await;
    }

    /// Chooses an action of the session.
    pub(crate) async fn choose_in_session(&self, action: &str) {
        self.browser.click("#session-actions").await;
        self.choose_open(action).await;
    }

    async fn choose_open(&self, action: &str) {
        let item = format!(
            "[...document.querySelectorAll('#menu button')].find((item) => item.textContent.startsWith({action:?}))"
        );
        self.wait(&item).await;
        self.evaluate(&format!("{item}.click()")).await;
    }

    /// Presses the main button of the open dialog.
    pub(crate) async fn confirm(&self) {
        self.wait("document.querySelector('dialog').open").await;
        self.browser.click("dialog button.primary").await;
    }

    /// The texts of the rows of the tree.
    pub(crate) async fn rows(&self) -> Value {
        self.evaluate("return [...document.querySelectorAll('.row .preview')].map((row) => row.textContent)")
            .await
    }

    /// Fails if an entry is drawn twice, or if the browser reported an error.
    pub(crate) async fn is_consistent(&self) {
        let ids =
            "const ids = [...document.querySelectorAll('.entry[data-id]')].map((entry) => entry.dataset.id);
            return ids.length - new Set(ids).size";
        assert_eq!(self.evaluate(ids).await, 0, "an entry is drawn twice");
    }
}
