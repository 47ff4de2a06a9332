//! Colors and print.

use osier_testkit::ScriptedSession;
use osier_testkit::browser::{BrowserWindow, LOW_CONTRAST};
use serde_json::json;

use crate::support::{OpenPage, page};

const SAMPLE: &str = include_str!("sample.jsonl");

pub(crate) fn sample() -> ScriptedSession {
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

/// Text that is partly transparent has less contrast.
#[tokio::test]
async fn transparent_text_is_noticed() {
    let file = page(&sample(), "A JSON flag for list");
    let Some(page) = OpenPage::open(&file, BrowserWindow::default()).await else { return };
    page.browser.evaluate("document.querySelector('.session').style.opacity = 0.5").await;
    assert!(page.text(LOW_CONTRAST).await.contains("H1"));
}

/// Paper cannot be scrolled: nothing is cut, also with long lines of code.
#[tokio::test]
async fn long_lines_are_complete_in_print() {
    let file = page(&sample(), "A JSON flag for list");
    let Some(page) = OpenPage::open(&file, BrowserWindow::default()).await else { return };
    page.browser.devtools("Emulation.setEmulatedMedia", json!({ "media": "print" })).await;
    page.browser.evaluate("dispatchEvent(new Event('beforeprint')); document.querySelectorAll('details').forEach((part) => (part.open = true))").await;
    let cut = "[...document.querySelectorAll('main *')].filter((part) => getComputedStyle(part).overflowX !== 'visible' && part.scrollWidth > part.clientWidth + 1 && !part.matches('.visually-hidden')).map((part) => part.outerHTML.slice(0, 120)).join('\\n')";
    assert_eq!(page.text(cut).await, "");
    assert_eq!(page.text("document.querySelector('#sidebar').checkVisibility()").await, "false");
}
