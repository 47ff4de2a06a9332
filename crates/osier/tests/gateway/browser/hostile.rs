//! Hostile content on the live page: what only it draws. The tests of the viewer do the same for entries.

use osier_testkit::browser::{BrowserWindow, LOW_CONTRAST};
use osier_testkit::hostile::Canary;
use serde_json::{Value, json};

use super::LivePage;
use crate::server::TestGateway;

/// Answers requests of the page in place of the gateway: `window.fake` returns the fields of an answer, or nothing.
const FAKE_GATEWAY: &str = "window.streams = []; window.violations = 0; 
    addEventListener('securitypolicyviolation', () => window.violations++);
    const send = WebSocket.prototype.send;
    window.deliver = (frame) => window.socket.dispatchEvent(new MessageEvent('message', { data: JSON.stringify(frame) }));
    WebSocket.prototype.send = function (text) {
      window.socket = this;
      const frame = JSON.parse(text);
      if (frame.type === 'attach') window.streams.push(frame.id);
      const answer = window.fake?.(frame);
      if (answer) queueMicrotask(() => window.deliver({ id: frame.id, ...answer }));
      else send.call(this, text);
    };
    window.event = (event) => window.deliver({ type: 'event', sessionId: 'x', stream: window.streams.at(-1), generation: '0', revision: 1, event });
    window.frame = () => new Promise((resume) => requestAnimationFrame(() => requestAnimationFrame(resume)));";

/// What would be there if any text had become markup.
const FOREIGN_PARTS: &str = "[...document.body.querySelectorAll('*')].filter((part) => {
    const isForeign = part.matches('script,style,link,meta,base,iframe,object,embed,svg:not(.lanes),math,video,audio,source,picture,template,marquee,slot,image,title');
    const hasHandler = part.getAttributeNames().some((name) => name.startsWith('on') || ['srcdoc', 'formaction', 'ping'].includes(name));
    const isBadLink = part.matches('a') && !/^(https?:|mailto:|#)/i.test(part.getAttribute('href') ?? '#');
    return isForeign || hasHandler || isBadLink;
  }).map((part) => part.outerHTML.slice(0, 200))";

/// Characters that people cannot see, anywhere on the page.
const HIDDEN: &str = "[document.body.innerText, ...[...document.body.querySelectorAll('*')].flatMap((part) => [part.title, part.ariaLabel, part.placeholder])].flatMap((text) => [...(text ?? '')]).filter((ch) => /[\\u202a-\\u202e\\u2066-\\u2069\\u200b\\u0000-\\u0008]/.test(ch)).length";

/// A page in a session with one message, whose gateway can be faked.
async fn open(gateway: &TestGateway) -> Option<LivePage> {
    let (session, _) = gateway.create_with(&["first"]).await;
    let page = LivePage::open(gateway, BrowserWindow::default()).await?;
    page.evaluate(FAKE_GATEWAY).await;
    page.show(&session).await;
    page.wait("document.querySelectorAll('.row').length === 1 && window.streams.length > 0").await;
    Some(page)
}

/// Runs a script for all cases; it calls `done()`.
async fn run(page: &LivePage, cases: &[String], script: &str) {
    let script = format!(
        "const done = arguments[0], cases = {}; (async () => {{ {script} }})().then(() => done(''), (error) => done(String(error.stack)))",
        json!(cases)
    );
    assert_eq!(page.browser.evaluate_async(&script).await, json!(""));
}

async fn is_inert(page: &LivePage, canary: &Canary, place: &str) {
    page.evaluate("return new Promise((resume) => setTimeout(resume, 50))").await;
    assert!(page.browser.client.get_alert_text().await.is_err(), "{place}: no dialog");
    let signs = "return [window.__executed ?? null, document.title === 'executed', window.violations]";
    assert_eq!(page.evaluate(signs).await, json!([null, false, 0]), "{place}");
    assert_eq!(page.evaluate(&format!("return {FOREIGN_PARTS}")).await, json!([]), "{place}");
    assert_eq!(page.evaluate(&format!("return {HIDDEN}")).await, json!(0), "{place}");
    assert_eq!(canary.connections(), 0, "{place}: no request");
}

/// Everything that events show: drafts, tools, tasks, questions of every kind, what extensions show, queued prompts, errors.
const EVENTS: &str = "
    event({ type: 'turn_started' });
    cases.forEach((text, at) => {
      event({ type: 'tool_started', call: `c${at}`, name: text, arguments: { [text]: text } });
      event({ type: 'tool_output', call: `c${at}`, text, skipped: 0 });
      event({ type: 'subagent_task', batchId: 'b', call: 'c', panel: { key: `t${at}`, taskId: `t${at}`, activity: text, sessionId: text, title: text, goal: text, status: 'running', summary: text, agent: text } });
      event({ type: 'extension', method: 'setStatus', statusKey: `s${at}`, statusText: text });
      event({ type: 'extension', method: 'setWidget', widgetKey: `w${at}`, widgetLines: [text, text] });
      const ask = (number, question) => event({ type: 'asked', id: 10 * at + number, question, agent: text });
      const tool = (what) => ({ call: { id: 'c', name: text, arguments: {} }, what, why: 'outside', offers: [text, `bash:${text}`], because: text });
      ask(0, tool({ type: 'command', command: text }));
      ask(1, tool({ type: 'diff', path: text, created: at % 2 === 0, diff: `@@ -1 +1 @@\\n-${text}\\n+${text}` }));
      ask(2, tool({ type: 'call', arguments: { [text]: text } }));
      ask(3, { title: text, dialog: 'select', options: [text, 'other'] });
      ask(4, { title: text, dialog: 'confirm', message: text });
      ask(5, { title: text, dialog: 'input', placeholder: text });
      ask(6, { title: text, dialog: 'editor', prefill: text });
    });
    event({ type: 'queue', steering: cases, followUp: cases });
    for (const text of cases) {
      for (const shown of [{ type: 'notice', text }, { type: 'extension', method: 'notify', message: text }, { type: 'extension', method: 'error', error: text },
        { type: 'extension', method: 'set_editor_text', text }, { type: 'bash_output', text, skipped: 0 }, { type: 'summary_started', of: text }, { type: 'summary_text', text },
        { type: 'retrying', attempt: 1, seconds: 1, kind: text, message: text }]) event(shown);
    }
    await frame();";

#[tokio::test]
async fn events_cannot_run_scripts() {
    let canary = Canary::start();
    let cases = canary.cases();
    let gateway = TestGateway::start();
    let Some(page) = open(&gateway).await else { return };
    let session = page.evaluate("return document.body.dataset.session").await;
    let batch = json!({ "type": "subagent_batch", "content": { "batchId": "b", "mode": "parallel", "tasks": [], "status": "running" } });
    gateway.post(&format!("/api/sessions/{}/entries", session.as_str().unwrap()), batch).await;
    page.wait("document.querySelector('.entry.kind-subagent_batch .subagents')").await;
    for part in cases.chunks(80) {
        run(&page, part, EVENTS).await;
    }
    let drawn = "return ['.result.running', '.task', '.question', '#extensions pre', '.queued'].filter((part) => document.querySelectorAll(part).length < 60)";
    assert_eq!(page.evaluate(drawn).await, json!([]), "everything is drawn");
    is_inert(&page, &canary, "events").await;
    run(&page, &cases[..1], "event({ type: 'turn_ended', finished: null, error: cases[0] }); await frame();")
        .await;
    is_inert(&page, &canary, "the error of a turn").await;
}

/// Suggestions, tries, comparisons, models and names.
#[tokio::test]
async fn answers_cannot_run_scripts() {
    let canary = Canary::start();
    let cases = canary.cases();
    assert!(cases.len() >= 200);
    let gateway = TestGateway::start();
    let Some(page) = open(&gateway).await else { return };
    let suggestions = "const prompt = document.querySelector('#prompt'); prompt.focus(); let seen = 0;
        for (let first = 0; first < cases.length; first += 8) {
          window.fake = ({ query }) => query?.type === 'commands' ? { type: 'answered', answer: { commands: cases.slice(first, first + 8).map((text) => ({ name: text, description: text })) } }
            : query?.type === 'files' ? { type: 'answered', answer: { files: cases.slice(first, first + 8).map((text) => text.replace(/\\s/g, '_')) } } : undefined;
          for (const start of ['/', '@']) {
            prompt.value = start;
            prompt.dispatchEvent(new Event('input'));
            await frame();
            seen += document.querySelectorAll('#completion li').length;
            prompt.value = '';
            prompt.dispatchEvent(new Event('input'));
          }
          prompt.value = '@';
          prompt.dispatchEvent(new Event('input'));
          await frame();
        }
        if (seen < 2 * cases.length) throw new Error(`${seen} suggestions`);";
    run(&page, &cases, suggestions).await;
    is_inert(&page, &canary, "suggestions").await;
    let tries = "const usage = { totalTokens: 1, cost: 1 };
        const one = (text, at) => ({ try: at + 1, status: ['running', 'failed', 'completed'][at % 3], error: at % 3 === 1 ? text : undefined, activity: at % 3 === 0 ? text : undefined, model: text, place: { kind: text }, tipId: text, filesChanged: 1, testsRun: 1, testsFailed: 1, usage, lastWords: text });
        const report = { id: 'e', prompt: cases.join(' '), tries: cases.map(one) };
        window.fake = ({ query, command }) => query?.type === 'explores' ? { type: 'answered', answer: { explores: [report] } }
          : command?.action === 'keep' ? { type: 'sent', reply: { kept: false, conflicts: cases.map((text) => ({ path: text, reason: text })) } } : undefined;
        document.querySelector('#session-actions').click();
        const item = [...document.querySelectorAll('#menu button')].find((item) => item.textContent === 'Show the tries');
        // The session has no tries.
        item.disabled = false;
        item.click();
        while (document.querySelectorAll('dialog.explore tbody tr').length !== cases.length) await frame();
        document.querySelector('[data-focus^=keep]').click();
        while (!document.querySelector('.explore-result').textContent.includes('Conflicts')) await frame();";
    run(&page, &cases, tries).await;
    is_inert(&page, &canary, "tries").await;
    page.browser.click("dialog button.cancel").await;
    let status = "for (const text of cases) {
          window.fake = ({ query }) => query?.type === 'model_details' ? { type: 'answered', answer: { current: { thinkingLevels: [text, 'high'] }, usable: [{ provider: text, id: text }] } }
            : query?.type === 'status' ? { type: 'answered', answer: { model: text, name: text, shortId: text, thinking: text, approvalMode: 'default', context: { tokens: 1 }, contextWindow: 2, cost: 1 } } : undefined;
          document.querySelector('#approval').dispatchEvent(new Event('change'));
          while (document.querySelector('#model').title !== text) await frame();
        }";
    run(&page, &cases[..20], status).await;
    is_inert(&page, &canary, "names of sessions and models").await;
}

/// The list of sessions: names, first messages, agents, stores, folders and problems.
#[tokio::test]
async fn the_list_cannot_run_scripts() {
    let canary = Canary::start();
    let cases = canary.cases();
    let gateway = TestGateway::start();
    let Some(page) = open(&gateway).await else { return };
    let list = "const card = (text, at) => ({ id: `${at}`, name: at % 2 ? text : '', firstMessage: text, agentId: text, store: text, cwd: text, file: text, messageCount: 1, branches: 2, entryCount: 1, cost: 1, modified: text });
        window.fake = ({ request }) => request?.type === 'list_sessions' ? { type: 'called', reply: { sessions: cases.map(card), problems: cases, hasMore: false } }
          : request?.type === 'describe' ? { type: 'called', reply: { stores: cases.map((name) => ({ name })), agents: cases, directories: cases } } : undefined;
        location.hash = '#';
        while (document.querySelectorAll('#sessions > li').length !== cases.length) await frame();
        document.querySelector('#new-session').click();
        while (!document.querySelector('dialog').open) await frame();";
    run(&page, &cases, list).await;
    is_inert(&page, &canary, "the list").await;
}

/// Text is readable in both themes, also in what appears only at times.
#[tokio::test]
async fn what_appears_at_times_has_enough_contrast_and_names() {
    let gateway = TestGateway::start();
    let Some(page) = open(&gateway).await else { return };
    run(&page, &["plain".to_owned()], EVENTS).await;
    page.evaluate("const place = document.querySelector('#connection'); place.hidden = false; place.textContent = 'Connection lost';
        window.fake = ({ query }) => query?.type === 'commands' ? { type: 'answered', answer: { commands: [{ name: 'review', description: 'Review it' }] } } : undefined;
        const prompt = document.querySelector('#prompt'); prompt.focus(); prompt.value = '/'; prompt.dispatchEvent(new Event('input'))").await;
    page.wait("document.querySelector('#completion li')").await;
    let unnamed = "return [...document.querySelectorAll('button, select, input, textarea, a, [role=group], [role=region], [role=listbox]')].filter((control) =>
        !(control.textContent.trim() || control.ariaLabel || control.labels?.length || control.title || control.getAttribute('aria-labelledby'))).map((control) => control.outerHTML)";
    assert_eq!(page.evaluate(unnamed).await, json!([]));
    for theme in ["light", "dark"] {
        page.evaluate(&format!("document.documentElement.dataset.theme = '{theme}'")).await;
        let low: Value = page.evaluate(&format!("return {LOW_CONTRAST}")).await;
        assert_eq!(low, json!(""), "{theme}");
    }
}

/// Lines of a megabyte, and one of ten, in what is stored and in what is live: the page shows them, stays as wide as the window, and
/// answers.
#[tokio::test]
async fn long_lines_everywhere_leave_a_page_that_works() {
    let gateway = TestGateway::start();
    let session = gateway.create().await;
    let long = "y".repeat(1_000_000);
    let say = |message: Value| json!({ "message": message });
    let call = json!({ "type": "toolCall", "id": "c1", "name": "bash", "arguments": { "command": long } });
    let content =
        json!([{ "type": "thinking", "thinking": long }, { "type": "text", "text": "I run it" }, call]);
    let result = json!([{ "type": "text", "text": long }]);
    for message in [
        json!({ "role": "user", "content": "y".repeat(10_000_000) }),
        json!({ "role": "assistant", "content": content, "provider": "p", "model": "m", "stopReason": "toolUse" }),
        json!({ "role": "toolResult", "toolCallId": "c1", "toolName": "bash", "content": result, "isError": false }),
    ] {
        gateway.post(&format!("{session}/messages"), say(message)).await;
    }
    let (other, ids) = gateway.create_with(&["second"]).await;
    for (method, path, body) in [
        (reqwest::Method::PUT, format!("{other}/entries/{}/label", ids[0]), json!({ "label": long })),
        (reqwest::Method::PATCH, other.clone(), json!({ "title": long })),
    ] {
        let set = gateway.request(method, &path).json(&body).send().await.unwrap();
        assert!(set.status().is_success(), "{path}: {}", set.status());
    }
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    let fits = async || {
        page.evaluate_frame().await;
        // Parts that are wider than they should be, and do not scroll or cut what is.
        let wide = "document.documentElement.scrollWidth <= innerWidth ? '' : [...document.querySelectorAll('body *')]
            .filter((part) => part.scrollWidth > Math.max(part.clientWidth, 1) && getComputedStyle(part).overflowX === 'visible' && getComputedStyle(part).display !== 'inline')
            .map((part) => part.cloneNode().outerHTML.slice(0, 100)).join('\\n')";
        page.becomes(&format!("({wide})"), json!("")).await;
    };
    page.wait("document.querySelectorAll('.session-link').length === 2").await;
    fits().await;
    page.evaluate(FAKE_GATEWAY).await;
    page.show(&session).await;
    page.wait("document.querySelectorAll('.entry').length === 3 && !document.querySelector('.body.loading')")
        .await;
    page.evaluate("document.querySelectorAll('details').forEach((part) => (part.open = true))").await;
    fits().await;
    // The same while it happens.
    let live = "const text = 'y'.repeat(1_000_000);
        event({ type: 'turn_started' });
        event({ type: 'draft_begun', id: 'd' });
        event({ type: 'draft', id: 'd', index: 0, delta: { type: 'text_delta', block: 0, delta: text } });
        event({ type: 'tool_started', call: 'c', name: text, arguments: {} });
        event({ type: 'tool_output', call: 'c', text, skipped: 0 });
        event({ type: 'asked', id: 1, question: { call: { id: 'c', name: 'write', arguments: {} }, what: { type: 'diff', path: text, created: true, diff: '' }, why: 'outside', offers: [text] } });
        event({ type: 'queue', steering: [text], followUp: [] });
        event({ type: 'notice', text });
        event({ type: 'extension', method: 'setStatus', statusKey: 's', statusText: text });
        await frame();";
    run(&page, &[], live).await;
    page.wait("document.querySelector('.question') && document.querySelector('.queued') && document.querySelector('.result.running') && document.querySelector('.draft .body > *')").await;
    fits().await;
    run(&page, &[], "event({ type: 'answered', id: 1 }); event({ type: 'turn_ended', finished: 'done', error: null }); event({ type: 'extension', method: 'setStatus', statusKey: 's' }); await frame();").await;
    page.show(&other).await;
    page.wait("document.querySelector('.entry .label') && document.querySelector('.row .label') && document.title.length > 0").await;
    fits().await;
    page.browser.type_into("#prompt", "typed").await;
    page.wait("document.querySelector('#prompt').value === 'typed'").await;
}

/// The corpus as stored entries, on the live page.
#[tokio::test]
async fn stored_entries_cannot_run_scripts() {
    let canary = Canary::start();
    let cases = canary.cases();
    let gateway = TestGateway::start();
    let Some(page) = open(&gateway).await else { return };
    let session = page.evaluate("return document.body.dataset.session").await;
    let session = format!("/api/sessions/{}", session.as_str().unwrap());
    let all = cases.join("\n\n");
    let content = json!([{ "type": "thinking", "thinking": all }, { "type": "text", "text": all }]);
    for message in [
        json!({ "role": "user", "content": all }),
        json!({ "role": "assistant", "content": content, "provider": "p", "model": "m", "stopReason": "stop" }),
        json!({ "role": "bashExecution", "command": all, "output": all, "exitCode": 1 }),
    ] {
        gateway.post(&format!("{session}/messages"), json!({ "message": message })).await;
    }
    for case in cases.iter().step_by(10) {
        let extension =
            json!({ "type": "custom_message", "customType": case, "content": case, "display": true });
        gateway.post(&format!("{session}/entries"), extension).await;
        gateway
            .post(&format!("{session}/messages"), json!({ "message": { "role": "user", "content": case } }))
            .await;
    }
    let number = 4 + 2 * cases.len().div_ceil(10);
    page.wait(&format!("document.querySelector('#tree-status').textContent.startsWith('{number} of')")).await;
    page.evaluate("dispatchEvent(new Event('beforeprint'))").await;
    page.wait(&format!(
        "document.querySelectorAll('.entry').length >= {number} && !document.querySelector('.body.loading')"
    ))
    .await;
    page.evaluate("document.querySelectorAll('details').forEach((part) => (part.open = true))").await;
    is_inert(&page, &canary, "stored entries").await;
}
