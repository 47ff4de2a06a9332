//! Colors.

use osier_testkit::ScriptedSession;
use osier_testkit::browser::{BrowserWindow, LOW_CONTRAST};

use crate::support::{OpenPage, page};

const SAMPLE: &str = include_str!("sample.jsonl");

fn sample() -> ScriptedSession {
    ScriptedSession::from_lines(SAMPLE.lines().skip(1))
}

/// Text is readable in both themes: at least 4.5:1, as WCAG asks.
#[tokio::test]
async fn colors_have_enough_contrast() {
    let file = page(&sample(), "A JSON flag for list");
    let Some(page) = OpenPage::open(&file, BrowserWindow::default()).await else { return };
    page.browser.evaluate("dispatchEvent(new Event('beforeprint')); document.querySelectorAll('details').forEach((part) => (part.open = true))").await;
    for theme in ["light", "dark"] {
        page.browser.evaluate(&format!("document.documentElement.dataset.theme = '{theme}'")).await;
        assert_eq!(page.text(LOW_CONTRAST).await, "", "{theme}");
    }
}
