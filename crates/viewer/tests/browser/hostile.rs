//! Hostile content does nothing. Each case is in every place of a session that content can be in.

use std::time::{Duration, Instant};

use osier_testkit::ScriptedSession;
use osier_testkit::browser::{Browser, BrowserWindow};
use osier_testkit::hostile::Canary;
use serde_json::{Value, json};

use crate::support::{OpenPage, page};

/// A session with a text in every place that content can be in.
fn session(cases: &[String]) -> ScriptedSession {
    let mut lines: Vec<Value> = Vec::new();
    for case in cases {
        for mut entry in entries(case) {
            let number = lines.len() + 1;
            let parent = lines.last().map(|last| last["id"].clone()).unwrap_or_default();
            entry["id"] = json!(format!("{number:08x}"));
            entry["parentId"] = parent.clone();
            entry["timestamp"] = json!("2026-01-01T00:00:00.000Z");
            if entry["type"] == "label" {
                entry["targetId"] = parent;
            }
            lines.push(entry);
        }
    }
    ScriptedSession::from_lines(lines.iter().map(Value::to_string))
}

fn entries(case: &str) -> Vec<Value> {
    let text = json!([{ "type": "text", "text": case }]);
    let with_image = json!([{ "type": "text", "text": case }, { "type": "image", "mimeType": case, "data": case },
        { "type": "image", "mimeType": "image/png", "data": case }, { "type": "image", "mimeType": "image/svg+xml", "data": "PHN2Zy8+" }]);
    let call = |name: &str, arguments: Value| json!({ "type": "toolCall", "id": case, "name": name, "arguments": arguments });
    let event = json!([{ "type": case, "name": case, "label": case, "status": case, "timestamp": case }]);
    vec![
        json!({ "type": "message", "message": { "role": "user", "content": with_image, "timestamp": 1 } }),
        json!({ "type": "message", "message": { "role": "assistant", "model": case, "provider": case, "stopReason": "error", "errorMessage": case,
            "content": [{ "type": "thinking", "thinking": case }, { "type": "text", "text": case }, call(case, json!({ case: case })),
                call("bash", json!({ "command": case })), call("read", json!({ "path": case })),
                call("write", json!({ "path": case, "content": case })),
                call("edit", json!({ "path": case, "edits": [{ "oldText": case, "newText": case }] }))], "timestamp": 1 } }),
        json!({ "type": "message", "message": { "role": "toolResult", "toolCallId": case, "toolName": case, "content": text, "isError": true,
            "details": { "fullOutputPath": case, "truncated": true }, "timestamp": 1 } }),
        json!({ "type": "message", "message": { "role": "toolResult", "toolCallId": case, "toolName": "edit", "content": text,
            "details": { "diff": format!("@@ -1 +1 @@\n-{case}\n+{case}") }, "timestamp": 1 } }),
        json!({ "type": "message", "message": { "role": "toolResult", "toolCallId": case, "toolName": "todo", "content": text,
            "details": { "items": [{ "content": case, "status": "in_progress" }] }, "timestamp": 1 } }),
        json!({ "type": "message", "message": { "role": "bashExecution", "command": case, "output": case, "exitCode": 1, "fullOutputPath": case } }),
        json!({ "type": "message", "message": { "role": case, "content": case } }),
        json!({ "type": "message", "message": { "role": "system", "content": case } }),
        json!({ "type": "custom_message", "customType": case, "content": case, "display": true }),
        json!({ "type": "custom_message", "customType": "osier.backtrack", "content": case, "display": true,
            "details": { "note": case, "originalUserMessage": case, "addendum": case, "checkpointId": 1 } }),
        json!({ "type": "compaction", "summary": case, "firstKeptEntryId": case, "tokensBefore": 1 }),
        json!({ "type": "branch_summary", "summary": case, "fromId": case }),
        json!({ "type": "branch_summary", "summary": format!("Grafted from [entry {case}]\n\n{case}"), "fromId": case }),
        json!({ "type": "model_change", "provider": case, "modelId": case }),
        json!({ "type": "thinking_level_change", "thinkingLevel": case }),
        json!({ "type": "subagent_result", "content": { "batchId": case, "status": case, "results": [{ "status": case, "summary": case, "processEvents": event }] },
            "metadata": { "processEvents": event, "evidenceSummaries": [{ "kind": case, "title": case, "summary": case, "files": [case], "count": 1 }],
                "toolRuntimeRoutes": [{ "toolName": case, "requestedRuntime": case, "chosenRuntime": case, "reason": case, "allowed": false }] } }),
        json!({ "type": "session_info", "name": case }),
        json!({ "type": case, "x": case }),
        json!({ "type": "label", "label": case }),
    ]
}

/// Draws everything that the page can draw, and opens every part.
async fn draw_everything(page: &OpenPage) {
    page.browser
        .evaluate(
            "window.violations = 0; addEventListener('securitypolicyviolation', () => window.violations++)",
        )
        .await;
    page.browser.evaluate("filter.value = 'all'; filter.dispatchEvent(new Event('change'))").await;
    page.browser.evaluate("dispatchEvent(new Event('beforeprint')); document.querySelectorAll('details').forEach((part) => (part.open = true))").await;
    let rows = "const tree = document.getElementById('tree'), done = arguments[0];
        (function next() { if (tree.scrollTop + tree.clientHeight >= tree.scrollHeight - 1) return done(true);
          tree.scrollTop += tree.clientHeight; requestAnimationFrame(() => requestAnimationFrame(next)); })();";
    page.browser.evaluate_async(rows).await;
    page.browser.type_into("#search", "<img").await;
    page.browser.wait_until("/^[1-9]/.test(document.getElementById('tree-status').textContent)").await;
    page.settle().await;
}

/// What would be there if any content had become markup.
const FOREIGN_PARTS: &str = "[...document.body.querySelectorAll('*')].filter((part) => {
    const isScript = part.matches('body > script:not([src])') && part.textContent.startsWith('(() => {\\n\"use strict\"');
    const isOurs = part.closest('svg.lanes') || part.matches('script[type=\"application/json\"]') || isScript;
    const tags = 'script,style,link,meta,base,iframe,frame,object,embed,applet,form,svg,math,video,audio,source,picture,template,portal,textarea,keygen,marquee,dialog,slot,image,title';
    const isForeign = !isOurs && part.matches(tags);
    const hasHandler = part.getAttributeNames().some((name) => name.startsWith('on') || name === 'srcdoc' || name === 'formaction' || name === 'ping');
    const hasStyle = part.hasAttribute('style') && !part.matches('.row, #rows, .group, #overview-frame');
    const isBadLink = part.matches('a') && !/^(https?:|mailto:|#)/i.test(part.getAttribute('href') ?? '#');
    const isBadImage = part.matches('img') && !/^data:image\\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+\\/=]*$/.test(part.getAttribute('src'));
    return isForeign || hasHandler || hasStyle || isBadLink || isBadImage;
  }).map((part) => part.outerHTML.slice(0, 200)).join('\\n')";

async fn check_inert(page: &OpenPage, canary: &Canary, title: &str) {
    draw_everything(page).await;
    assert_ne!(
        page.text("document.querySelectorAll('.todos li').length").await,
        "0",
        "to-do lists are drawn"
    );
    assert!(page.browser.client.get_alert_text().await.is_err(), "no dialog");
    assert_eq!(page.text("String(window.__executed)").await, "undefined");
    assert_eq!(page.text("document.title").await, title);
    assert_eq!(page.text(FOREIGN_PARTS).await, "");
    assert_eq!(page.text("window.violations").await, "0", "nothing was tried and refused");
    let ids = "(() => { const all = [...document.querySelectorAll('[id]')].map((part) => part.id); return all.length === new Set(all).size })()";
    assert_eq!(page.text(ids).await, "true", "ids are unique");
    assert_eq!(canary.connections(), 0, "no request");
    let hidden = "[...[document.querySelector('main'), ...document.querySelectorAll('#rows, #tree-status')].map((part) => part.textContent).join('')].filter((ch) => /[\\u202a-\\u202e\\u2066-\\u2069\\u200b\\u0000-\\u0008]/.test(ch)).length";
    assert_eq!(page.text(hidden).await, "0", "no character that people cannot see");
}

/// Every test of a page fails at its end if a script of the page has failed. This shows that it would be noticed.
#[tokio::test]
async fn an_error_that_a_page_does_not_catch_is_noticed() {
    let Some(browser) = Browser::start(BrowserWindow::default()).await else { return };
    browser.expect_errors();
    browser.goto("data:text/html,<script>Promise.reject(new Error('lost')); setTimeout(() => { throw new Error('thrown'); })</script>").await;
    let started = Instant::now();
    while browser.uncaught_errors().len() < 2 {
        assert!(started.elapsed() < Duration::from_secs(60), "{:?}", browser.uncaught_errors());
        browser.wait_until("document.readyState === 'complete'").await;
    }
    let errors = browser.uncaught_errors().join("\n");
    assert!(errors.contains("Error: lost") && errors.contains("Error: thrown"), "{errors}");
}

#[test]
fn the_corpus_has_at_least_200_cases() {
    assert!(Canary::start().cases().len() >= 200);
}

#[tokio::test]
async fn hostile_content_does_nothing() {
    let canary = Canary::start();
    let title = "</title><script>window.__executed=1</script>";
    let file = page(&session(&canary.cases()), title);
    let Some(page) = OpenPage::open(&file, BrowserWindow::default()).await else { return };
    check_inert(&page, &canary, title).await;
}

/// The policy of the page is a second wall. This removes it, to show that the first one holds.
#[tokio::test]
async fn hostile_content_does_nothing_even_without_a_policy() {
    let canary = Canary::start();
    let file = String::from_utf8(page(&session(&canary.cases()), "A talk")).unwrap();
    let open = file.replacen("http-equiv=\"Content-Security-Policy\"", "name=\"removed\"", 1);
    assert_ne!(open, file);
    let Some(page) = OpenPage::open(open.as_bytes(), BrowserWindow::default()).await else { return };
    check_inert(&page, &canary, "A talk").await;
}

/// The tests above can fail: the same cases as plain HTML run code and load addresses.
#[tokio::test]
async fn the_same_content_is_noticed_in_a_page_without_protection() {
    let canary = Canary::start();
    let Some(browser) = Browser::start(BrowserWindow::default()).await else { return };
    for (sign, case) in
        canary.cases().iter().enumerate().filter(|(_, case)| case.starts_with("<img src=x onerror=\""))
    {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("{sign}.html"));
        std::fs::write(&path, format!("{case}<img src=http://127.0.0.1:{}/x>", canary.port)).unwrap();
        browser.client.goto(&format!("file://{}", path.display())).await.ok();
        let text = browser.client.get_alert_text().await;
        assert_eq!(text.unwrap(), "1", "a dialog is noticed");
        browser.client.accept_alert().await.unwrap();
        assert_eq!(browser.evaluate("return window.__executed").await, json!(1));
        assert_eq!(browser.evaluate("return document.title").await, json!("executed"));
    }
    browser.wait_until("document.readyState === 'complete'").await;
    assert!(canary.connections() > 0, "a request is noticed");
}

/// Cases of other classes: how each begins, what must be clicked, and whether it runs code. The others load an address.
const NOTICED: [(&str, &str, bool); 11] = [
    ("<a href=\"javascript:(", "a", true),
    ("<form action=javascript:(", "button", true),
    ("<iframe src=javascript:(", "", true),
    ("<svg><script>(", "", true),
    ("<svg xmlns=http://www.w3.org/2000/svg onload=", "", true),
    ("<svg><image href=http", "", false),
    ("<style>body{background:url(http", "", false),
    ("<style>@import 'http", "", false),
    ("<div style=\"background:url(http", "", false),
    ("<link rel=stylesheet href=http", "", false),
    ("<meta http-equiv=refresh content='0;url=http", "", false),
];

/// Links, SVG, styles and redirects are noticed, too.
#[tokio::test]
async fn every_class_of_content_is_noticed_in_a_page_without_protection() {
    let canary = Canary::start();
    let Some(browser) = Browser::start(BrowserWindow::default()).await else { return };
    let folder = tempfile::tempdir().unwrap();
    for (number, (beginning, clicked, runs)) in NOTICED.into_iter().enumerate() {
        let cases = canary.cases();
        let case =
            cases.iter().find(|case| case.starts_with(beginning)).unwrap_or_else(|| panic!("{beginning}"));
        let path = folder.path().join(format!("{number}.html"));
        std::fs::write(&path, format!("<!doctype html><body><p>x</p>{case}</body>")).unwrap();
        let before = canary.connections();
        browser.client.goto(&format!("file://{}", path.display())).await.ok();
        if !clicked.is_empty() {
            let click = format!("document.querySelector('{clicked}').click()");
            browser.client.execute(&click, Vec::new()).await.ok();
        }
        let started = Instant::now();
        loop {
            let is_noticed = match runs {
                true => browser.client.get_alert_text().await.is_ok_and(|text| text == "1"),
                false => canary.connections() > before,
            };
            if is_noticed {
                break;
            }
            assert!(started.elapsed() < Duration::from_secs(60), "not noticed: {case}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        if runs {
            browser.client.accept_alert().await.unwrap();
        }
    }
}

/// Styles that run nothing and load nothing are foreign parts.
#[tokio::test]
async fn markup_of_content_is_noticed_in_a_page_without_protection() {
    let Some(browser) = Browser::start(BrowserWindow::default()).await else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    for case in [
        "<style>*{display:none!important}</style>",
        "<p style=color:red>x</p>",
        "<svg></svg>",
        "<a href='javascript:1'>x</a>",
        "<p onclick=x>x</p>",
    ] {
        std::fs::write(&path, format!("<!doctype html><body>{case}</body>")).unwrap();
        browser.goto(&format!("file://{}", path.display())).await;
        assert_ne!(browser.evaluate(&format!("return {FOREIGN_PARTS}")).await, json!(""), "{case}");
    }
}
