//! Exports a session as the engine does, and opens it in a browser.

use std::io::Write;
use std::sync::Arc;

use osier_protocol::TreeSnapshot;
use osier_testkit::ScriptedSession;
use osier_testkit::browser::{Browser, BrowserWindow};
use osier_tree::entry::parse_entry;
use osier_tree::projection::preview::Previews;
use osier_viewer::entry::render_line;
use osier_viewer::{HtmlExport, SessionSummary};
use serde_json::Value;
use tempfile::{NamedTempFile, TempPath};

/// The page of a session whose entries are not deleted.
pub(crate) fn page(session: &ScriptedSession, title: &str) -> Vec<u8> {
    let mut previews = Previews::new(None);
    let texts: Vec<String> =
        session.lines.iter().map(|line| previews.preview(&parse_entry(line).unwrap())).collect();
    let tree = Arc::new(session.tree.clone());
    let snapshot = TreeSnapshot::new(tree.clone(), tree.leaf(), Arc::new(texts));
    let summary = SessionSummary { title: title.to_owned(), ..SessionSummary::default() };
    let leaf = tree.leaf().map(|leaf| tree.id(leaf).to_string());
    let mut file = Vec::new();
    let write = |bytes: &[u8]| -> std::io::Result<()> { file.write_all(bytes) };
    let mut export = HtmlExport::begin(&summary, leaf.as_deref(), write).unwrap();
    for (seq, _) in tree.heads().iter() {
        export.row(&snapshot.row(seq)).unwrap();
    }
    export.labels(tree.marks().labels().into_iter().map(|(id, label)| (id, label.text.as_str()))).unwrap();
    for line in &session.lines {
        export.body(&render_line(line).unwrap()).unwrap();
    }
    let mut log = export.log().unwrap();
    log.line(
        br#"{"type":"session","version":3,"id":"a-talk","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#,
    )
    .unwrap();
    for line in &session.lines {
        log.line(line).unwrap();
    }
    log.end().unwrap();
    file
}

/// A page in a file, and a browser that shows it.
pub(crate) struct OpenPage {
    pub(crate) browser: Browser,
    pub(crate) url: String,
    _file: TempPath,
}

impl OpenPage {
    /// `None` if tests run without a browser.
    pub(crate) async fn open(page: &[u8], window: BrowserWindow) -> Option<OpenPage> {
        let browser = Browser::start(window).await?;
        let mut file = NamedTempFile::with_suffix(".html").unwrap();
        file.write_all(page).unwrap();
        let opened = OpenPage {
            browser,
            url: format!("file://{}", file.path().display()),
            _file: file.into_temp_path(),
        };
        opened.go("").await;
        Some(opened)
    }

    /// The page of a script, in a wide window.
    pub(crate) async fn of_script(script: &str) -> Option<OpenPage> {
        let page = page(&ScriptedSession::run(script), "A talk");
        OpenPage::open(&page, BrowserWindow::default()).await
    }

    /// Loads the page anew, with a fragment such as `#entry=00000001`.
    pub(crate) async fn go(&self, fragment: &str) {
        self.browser.goto("about:blank").await;
        self.browser.goto(&format!("{}{fragment}", self.url)).await;
        self.browser.wait_until("document.body.classList.contains('ready')").await;
    }

    pub(crate) async fn text(&self, expression: &str) -> String {
        let value = self.browser.evaluate(&format!("return {expression}")).await;
        value.as_str().map_or_else(|| value.to_string(), str::to_owned)
    }

    /// Waits until the tree has these previews, from top to bottom.
    pub(crate) async fn has_tree(&self, expected: &str) {
        let rows = "[...document.querySelectorAll('#rows .row')].map((row) => '  '.repeat(row.ariaLevel - 1) + \
                    [...row.querySelectorAll('.label, .preview, .leaf-mark')].map((part) => part.textContent).join(' · ')).join('\\n')";
        self.becomes(rows, expected).await;
    }

    /// Waits until the conversation shows the entries with these ids.
    pub(crate) async fn shows(&self, expected: &str) {
        let ids = "[...document.querySelectorAll('.entry')].map((entry) => entry.dataset.id.replace(/^0+/, '')).join(' ')";
        self.becomes(ids, expected).await;
    }

    /// Waits until an expression has this value as text.
    pub(crate) async fn becomes(&self, expression: &str, expected: &str) {
        self.browser.wait_until(&format!("String({expression}) === {}", Value::from(expected))).await;
    }

    /// Waits until the page has drawn what changed.
    pub(crate) async fn settle(&self) {
        let script = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done(true)));";
        self.browser.evaluate_async(script).await;
    }
}
