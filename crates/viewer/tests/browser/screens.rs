//! Pictures of a page, to look at: `cargo test -p osier-viewer --test browser screens -- --ignored`. They go to `target/screens`.

use osier_testkit::ScriptedSession;
use osier_testkit::browser::BrowserWindow;

use crate::support::{OpenPage, page};

const SAMPLE: &str = include_str!("sample.jsonl");

/// The entry that each picture starts with, and its name.
const PLACES: &[(&str, &str)] = &[
    ("top", ""),
    ("code", "document.querySelectorAll('.entry.role-assistant')[2].scrollIntoView()"),
    ("tools", "document.querySelectorAll('.entry.role-assistant')[1].scrollIntoView()"),
    ("branches", "document.querySelector('.entry.kind-branch_summary').scrollIntoView()"),
    (
        "subagents",
        "document.querySelectorAll('.subagents details').forEach((part) => (part.open = true)); document.querySelector('.entry.kind-subagent_batch').scrollIntoView()",
    ),
    ("end", "scrollTo(0, document.body.scrollHeight)"),
    ("tree", "document.getElementById('toggle-tree').click()"),
];

fn sample() -> ScriptedSession {
    ScriptedSession::from_lines(SAMPLE.lines().skip(1))
}

#[tokio::test]
#[ignore = "takes pictures; nothing to check"]
async fn screens() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/screens");
    std::fs::create_dir_all(&folder).unwrap();
    let file = page(&sample(), "A JSON flag for list");
    for (size, width, height) in [("desktop", 1280, 1000), ("phone", 500, 1000)] {
        let window = BrowserWindow { width, height, dark: false };
        let Some(page) = OpenPage::open(&file, window).await else { return };
        for theme in ["light", "dark"] {
            page.browser.evaluate(&format!("document.documentElement.dataset.theme = '{theme}'")).await;
            for (name, script) in PLACES {
                page.browser.evaluate(script).await;
                page.settle().await;
                std::fs::write(
                    folder.join(format!("{size}-{theme}-{name}.png")),
                    page.browser.screenshot().await,
                )
                .unwrap();
            }
            page.go("").await;
        }
    }
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

const LOW_CONTRAST: &str = r"(() => {
  const context = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = (color) => { context.clearRect(0, 0, 1, 1); context.fillStyle = color; context.fillRect(0, 0, 1, 1); const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255]; };
  const over = (top, below) => [0, 1, 2].map((at) => top[at] * top[3] + below[at] * (1 - top[3]));
  const light = ([r, g, b]) => [r, g, b].map((value) => { const part = value / 255; return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4; }).reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
  const background = (part) => { let color = [0, 0, 0, 0]; const all = []; for (let at = part; at; at = at.parentElement) all.unshift(rgba(getComputedStyle(at).backgroundColor)); return all.reduce((below, top) => over(top, below), [255, 255, 255]); };
  const found = new Set();
  for (const part of document.querySelectorAll('body *')) {
    const hasText = [...part.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    const style = getComputedStyle(part);
    if (!hasText || part.closest('script, noscript, #message, .skip, .visually-hidden, [hidden], button:disabled') || part.closest('.copy')) continue;
    const below = background(part);
    const text = over(rgba(style.color), below);
    const [a, b] = [light(text), light(below)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) found.add(`${part.tagName}.${part.className} ${ratio.toFixed(2)}`);
  }
  return [...found].join('\n');
})()";
