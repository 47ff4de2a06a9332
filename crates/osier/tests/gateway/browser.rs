//! The page in a real browser.

mod accessibility;
mod actions;
mod completing;
mod connection;
mod continuing;
mod conversation;
mod delegating;
mod exploring;
mod extensions;
mod hostile;
mod keyboard;
mod phone;
mod read_only;
mod reading;
mod restoring;
mod scrolling;
mod sessions;
mod store;
mod tree;

use osier_testkit::browser::{Browser, BrowserWindow};
use serde_json::{Value, json};

use crate::run_support::ModelServer;
use crate::server::TestGateway;

/// The Enter and Escape keys of a WebDriver.
pub(crate) const ENTER: &str = "\u{e007}";
pub(crate) const ESCAPE: &str = "\u{e00c}";

/// Replies that are stored and shown.
pub(crate) const REPLIES: &str = "document.querySelectorAll('.entry.role-assistant:not(.draft)').length";

/// Keeps the socket of the page, and the frames that it sends, once it sends one.
pub(crate) const WATCH_SOCKET: &str = "window.sent = [];
    const send = WebSocket.prototype.send;
    WebSocket.prototype.send = function (text) { window.socket = this; window.sent.push(JSON.parse(text)); return send.call(this, text); };";

/// A browser that is logged in.
pub(crate) struct LivePage {
    pub(crate) browser: Browser,
}

impl LivePage {
    /// Logs in with a new link. `None` if tests shall run without a browser.
    pub(crate) async fn open(gateway: &TestGateway, window: BrowserWindow) -> Option<LivePage> {
        LivePage::open_on(gateway, gateway.port(), window).await
    }

    /// On the port of a tunnel to the gateway.
    pub(crate) async fn open_on(gateway: &TestGateway, port: u16, window: BrowserWindow) -> Option<LivePage> {
        let browser = Browser::start(window).await?;
        let link = gateway.env.args(&["token", "link", "--port", &port.to_string()]);
        browser.goto(link.out.trim()).await;
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

    /// Opens a session by its address, and waits until all of it is known.
    pub(crate) async fn show(&self, session: &str) {
        let id = session.rsplit('/').next().unwrap();
        self.evaluate(&format!("location.hash = '#session={id}'")).await;
        self.wait(&format!(
            "document.body.dataset.session === '{id}' && document.querySelector('#model').value !== ''"
        ))
        .await;
    }

    /// Loads the page again, and waits until all of the session in its address is known.
    pub(crate) async fn refresh(&self) {
        self.browser.refresh().await;
        self.wait("document.body.dataset.session").await;
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
        self.click_part(&row).await;
        self.wait(&format!("document.querySelector('.row.selected')?.textContent.includes({text:?})")).await;
        self.wait("document.querySelector('.entry.selected')").await;
    }

    /// Clicks what an expression finds, as soon as it finds it: in one step, because the page may draw it again at any time.
    pub(crate) async fn click_part(&self, expression: &str) {
        self.wait(&format!("((part) => part && !part.disabled && (part.click(), true))({expression})")).await;
    }

    /// Chooses a value of a `select`.
    pub(crate) async fn choose_value(&self, selector: &str, value: &str) {
        self.wait(&format!(
            "((select) => [...select.options].some((option) => option.value === '{value}')
                && (select.value = '{value}', select.dispatchEvent(new Event('change')), true))(document.querySelector('{selector}'))"
        ))
        .await;
        self.wait(&format!("!document.querySelector('{selector}').ariaBusy")).await;
    }

    /// Scrolls up with a script, but as a user does: with the wheel. Without it the page may take the scroll for its own and go on
    /// following its end.
    pub(crate) async fn scroll_up(&self, script: &str) {
        self.wait(&format!(
            "(window.dispatchEvent(new WheelEvent('wheel')), {script}, !document.querySelector('#jump-down').hidden)"
        ))
        .await;
    }

    /// Searches in the tree.
    pub(crate) async fn search(&self, text: &str) {
        let script = format!(
            "const search = document.querySelector('#search'); search.value = {}; search.dispatchEvent(new Event('input'))",
            Value::from(text)
        );
        self.evaluate(&script).await;
    }

    /// Chooses an action of the selected entry.
    pub(crate) async fn choose(&self, action: &str) {
        self.click_part("document.querySelector('.entry.selected .entry-menu')").await;
        self.choose_open(action).await;
    }

    /// Chooses an action of the session.
    pub(crate) async fn choose_in_session(&self, action: &str) {
        self.browser.click("#session-actions").await;
        self.choose_open(action).await;
    }

    async fn choose_open(&self, action: &str) {
        let item = format!(
            "[...document.querySelectorAll('#menu:popover-open button')].find((item) => item.textContent.startsWith({action:?}))"
        );
        self.click_part(&item).await;
    }

    /// Presses the main button of the open dialog.
    pub(crate) async fn confirm(&self) {
        self.wait("document.querySelector('dialog').open").await;
        self.browser.click("dialog button.primary").await;
    }

    /// Waits until the tree has exactly these rows.
    pub(crate) async fn has_rows(&self, rows: &[&str]) {
        let shown = "[...document.querySelectorAll('.row .preview')].map((row) => row.textContent)";
        self.wait(&format!("JSON.stringify({shown}) === JSON.stringify({})", json!(rows))).await;
    }

    /// Waits until the page has drawn what changed.
    pub(crate) async fn evaluate_frame(&self) {
        let script = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done(true)));";
        self.browser.evaluate_async(script).await;
    }

    /// The value of an expression when it has been the same for two frames.
    pub(crate) async fn stable(&self, expression: &str) -> Value {
        let changes = format!(
            "((value) => {{ const isSame = window.lastValue === value; window.lastValue = value; return isSame; }})({expression})"
        );
        for _ in 0..2 {
            self.evaluate_frame().await;
            self.wait(&changes).await;
        }
        self.evaluate(&format!("return {expression}")).await
    }

    /// Moves the focus with a key until an element has it.
    pub(crate) async fn press_until_focused(&self, key: &str, id: &str) {
        for _ in 0..100 {
            if self.evaluate("return document.activeElement.id").await == id {
                return;
            }
            self.browser.press(key).await;
        }
        panic!("{key:?} does not reach #{id}");
    }

    /// Waits until an expression has this value.
    pub(crate) async fn becomes(&self, expression: &str, value: Value) {
        self.wait(&format!("JSON.stringify({expression}) === JSON.stringify({value})")).await;
    }

    /// Waits until nothing of the last turn is left to come: it has ended, and its reply is stored and shown.
    pub(crate) async fn turn_ended(&self, replies: usize) {
        self.wait(&format!(
            "{REPLIES} === {replies} && !document.querySelector('.draft') && document.querySelector('#cancel').hidden"
        ))
        .await;
    }

    /// Makes the page send something, so that [`WATCH_SOCKET`] has its socket.
    pub(crate) async fn watch_socket(&self) {
        self.evaluate(WATCH_SOCKET).await;
        self.evaluate("document.dispatchEvent(new Event('visibilitychange'))").await;
        self.wait("window.socket").await;
    }

    /// Delivers frames to the page at once, as if the gateway had sent them.
    pub(crate) async fn deliver(&self, frames: &serde_json::Value) {
        let script = format!(
            "for (const frame of {frames}) window.socket.dispatchEvent(new MessageEvent('message', {{ data: JSON.stringify(frame) }}))"
        );
        self.evaluate(&script).await;
    }

    /// Fails if an entry is drawn twice.
    pub(crate) async fn is_consistent(&self) {
        let ids =
            "const ids = [...document.querySelectorAll('.entry[data-id]')].map((entry) => entry.dataset.id);
            return ids.length - new Set(ids).size";
        assert_eq!(self.evaluate(ids).await, 0, "an entry is drawn twice");
    }
}

/// A page that shows a session with two answered prompts.
pub(crate) async fn answered(model: &ModelServer, gateway: &TestGateway) -> Option<(LivePage, String)> {
    let page = LivePage::open(gateway, BrowserWindow::default()).await?;
    let session = gateway.create().await;
    page.show(&session).await;
    for (number, (prompt, reply)) in [("one", "answer one"), ("two", "answer two")].into_iter().enumerate() {
        page.prompt(prompt).await;
        model.next_request().reply(reply);
        page.turn_ended(number + 1).await;
    }
    Some((page, session))
}
