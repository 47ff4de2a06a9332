//! What extensions draw in a terminal: renderers, the editor, overlays, and what takes their drawings back.

use osier_protocol::{ExtensionInput, FloatPlace, RenderRequest, RenderSubject, RenderedLines};

use serde_json::json;

use super::*;

impl TestSession {
    async fn input(&self, input: ExtensionInput) {
        self.client_send(ClientCommand::ExtensionInput(input)).await;
    }

    /// The next event of an extension that fits.
    async fn shown<T>(&mut self, fits: impl Fn(&ExtensionEvent) -> Option<T>) -> T {
        use futures_util::StreamExt;
        loop {
            let event = self.events.next().await.expect("the session is open");
            if let ClientEvent::Extension(event) = &event
                && let Some(found) = fits(event)
            {
                return found;
            }
        }
    }

    /// Waits until an extension has shown something in a slot.
    async fn registered(&mut self, slot: &str) {
        self.shown(|event| event.slot().filter(|(shown, _)| *shown == slot).map(drop)).await;
    }

    /// Asks for the lines of something, without their styles.
    async fn render(&mut self, subject: RenderSubject, expanded: bool) -> RenderedLines {
        let id = subject.id().to_owned();
        let request = RenderRequest { subject, columns: 40, expanded };
        self.input(ExtensionInput::Render(request)).await;
        self.shown(|event| match event {
            ExtensionEvent::Rendered { id: drawn, lines, .. } if *drawn == id => Some(lines.clone()),
            _ => None,
        })
        .await
    }

    /// The text of the editor of an extension, once it fits.
    async fn editor(&mut self, wanted: &str) -> osier_protocol::EditorView {
        self.shown(|event| match event {
            ExtensionEvent::SetEditor { editor: Some(editor) } if editor.text == wanted => {
                Some(editor.clone())
            }
            _ => None,
        })
        .await
    }
}

fn text(lines: &Option<Vec<String>>) -> String {
    lines.as_ref().expect("it is drawn").join("\n").trim().to_owned()
}

/// The id of the entry of a type, as soon as it is stored.
async fn entry_of(session: &mut TestSession, kind: &str) -> String {
    loop {
        let entries = session.entries().await;
        if let Some(entry) = entries.iter().rfind(|entry| entry["type"] == kind) {
            return entry["id"].as_str().unwrap().to_owned();
        }
        session.until(|event| matches!(event, ClientEvent::Entry(_))).await;
    }
}

const RENDERERS: &str = "import { Text } from '@earendil-works/pi-tui'; export default (pi) => { \
    pi.registerMessageRenderer('note', (message, { expanded }) => new Text(`${message.content} ${message.details.n}${expanded ? ' all' : ''}`, 0, 0)); \
    pi.registerMessageRenderer('bad', () => { throw new Error('cannot draw'); }); \
    pi.registerMessageRenderer('nothing', () => undefined); \
    pi.registerEntryRenderer('card', (entry) => new Text(`card ${entry.data.title}`, 0, 0)); \
    pi.registerCommand('go', { handler: async (type) => { if (type === 'card') pi.appendEntry('card', { title: 'x' }); \
        else pi.sendMessage({ customType: type, content: 'hi', display: true, details: { n: 7 } }); } }); };";

#[tokio::test]
async fn messages_and_entries_are_drawn_by_their_renderers() {
    let second = "import { Text } from '@earendil-works/pi-tui'; export default (pi) => pi.registerMessageRenderer('note', () => new Text('second', 0, 0));";
    let mut session = TestSession::in_terminal(&[RENDERERS, second], []).await;
    session.send("/go note").await;
    let message = |entry: &str, custom_type: &str| RenderSubject::Message {
        entry: entry.into(),
        custom_type: custom_type.to_owned(),
    };
    let note = entry_of(&mut session, "custom_message").await;
    assert_eq!(text(&session.render(message(&note, "note"), false).await.body), "hi 7", "the first one wins");
    assert_eq!(text(&session.render(message(&note, "note"), true).await.body), "hi 7 all");
    for broken in ["bad", "nothing", "unknown"] {
        let lines = session.render(message(&note, broken), false).await;
        assert_eq!(lines, RenderedLines::default(), "{broken}: Osier draws it");
    }
    session.send("/go card").await;
    let card = entry_of(&mut session, "custom").await;
    let subject = RenderSubject::Entry { entry: card.as_str().into(), custom_type: "card".to_owned() };
    assert_eq!(text(&session.render(subject, false).await.body), "card x");
}

const TOOL: &str = "import { Text } from '@earendil-works/pi-tui'; export default (pi) => pi.registerTool({ \
    name: 'count', description: 'counts', parameters: { type: 'object', properties: {} }, \
    async execute(id, params, signal, onUpdate) { onUpdate({ content: [{ type: 'text', text: 'half' }], details: { n: 1 } }); \
        await new Promise((resolve) => { globalThis.finish = resolve; }); return { content: [{ type: 'text', text: 'done' }], details: { n: 2 } }; }, \
    renderCall: (args, theme, ctx) => { ctx.state.calls = (ctx.state.calls ?? 0) + 1; return new Text(`count ${args.to} ${ctx.toolCallId}`, 0, 0); }, \
    renderResult: (result, { isPartial }, theme, ctx) => { if (globalThis.finish && isPartial) setTimeout(globalThis.finish, 0); \
        const last = ctx.lastComponent ?? new Text('', 0, 0); last.setText(`${isPartial ? 'so far' : 'in all'} ${result.details.n}, calls ${ctx.state.calls > 0}, again ${!!ctx.lastComponent}`); return last; } });";

#[tokio::test]
async fn a_call_is_drawn_while_it_runs_and_with_its_result() {
    let call = ScriptedTurn::new().call("c1", "count", &json!({ "to": 3 }));
    let mut session = TestSession::in_terminal(&[TOOL], [call, ScriptedTurn::reply("ok")]).await;
    session.send("count").await;
    session.until(|event| matches!(event, ClientEvent::ToolOutput { .. })).await;
    let subject = |result: Option<&str>| RenderSubject::Tool {
        call: "c1".to_owned(),
        name: "count".to_owned(),
        arguments: json!({ "to": 3 }),
        result: result.map(Into::into),
    };
    let running = session.render(subject(None), false).await;
    assert_eq!(text(&running.call), "count 3 c1");
    assert_eq!(text(&running.body), "so far 1, calls true, again false");
    session.turn_ended().await;
    let entries = session.entries().await;
    let result = entries.iter().find(|entry| entry["message"]["role"] == "toolResult").unwrap();
    let done = session.render(subject(result["id"].as_str()), false).await;
    assert_eq!(text(&done.body), "in all 2, calls true, again true");
}

const EDITOR: &str = "import { CustomEditor } from '@earendil-works/pi-coding-agent'; export default (pi) => { \
    class Loud extends CustomEditor { handleInput(data) { super.handleInput(/^[a-z]$/.test(data) ? data.toUpperCase() : data); } } \
    pi.registerCommand('loud', { handler: async (_, ctx) => ctx.ui.setEditorComponent((tui, theme, keys) => new Loud(tui, theme, keys)) }); \
    pi.registerCommand('read', { handler: async (_, ctx) => ctx.ui.notify(`has ${ctx.ui.getEditorText()}`) }); };";

#[tokio::test]
async fn an_editor_of_an_extension_edits_submits_and_leaves_keys() {
    let mut session = TestSession::in_terminal(&[EDITOR], []).await;
    let client = session.client.clone();
    let opened = tokio::spawn(async move { client.send(ClientCommand::prompt("/loud")).await });
    let component = session.editor("").await.component;
    let key = |data: &str| ExtensionInput::Key { component, data: data.to_owned(), client: 5 };
    session.input(key("h")).await;
    session.input(key("i")).await;
    assert_eq!(session.editor("HI").await.cursor, 2);
    session.input(key("\u{f}")).await;
    let left = session.shown(|event| match event {
        ExtensionEvent::EditorKey { client, data } => Some((*client, data.clone())),
        _ => None,
    });
    assert_eq!(left.await, (5, "\u{f}".to_owned()), "ctrl+o is Osier's");
    let text = ExtensionInput::EditorText {
        component: Some(component),
        request: None,
        text: "ü sent".to_owned(),
        cursor: 2,
    };
    session.input(text).await;
    session.input(key("x")).await;
    assert_eq!(session.editor("üX sent").await.cursor, 3);
    session.input(key("\r")).await;
    let submitted = session.shown(|event| match event {
        ExtensionEvent::EditorSubmit { client, text } => Some((*client, text.clone())),
        _ => None,
    });
    assert_eq!(submitted.await, (5, "üX sent".to_owned()));
    opened.await.unwrap().unwrap();
}

#[tokio::test]
async fn the_text_of_the_editor_comes_from_the_terminal() {
    let mut session = TestSession::in_terminal(&[EDITOR], []).await;
    session.extensions().all()[0].time_limits.lock().unwrap().editor_text =
        std::time::Duration::from_secs(60);
    let client = session.client.clone();
    let read = tokio::spawn(async move { client.send(ClientCommand::prompt("/read")).await });
    let request = session
        .shown(|event| match event {
            ExtensionEvent::AskEditorText { request } => Some(*request),
            _ => None,
        })
        .await;
    let (component, text) = (None, "a draft".to_owned());
    session.input(ExtensionInput::EditorText { component, request: Some(request), text, cursor: 7 }).await;
    assert_eq!(session.notified().await, "has a draft");
    read.await.unwrap().unwrap();
}

#[tokio::test]
async fn an_extension_takes_and_changes_keys_and_completes_text() {
    let source = "export default (pi) => pi.on('session_start', (_, ctx) => { \
        ctx.ui.onTerminalInput((data) => (data === 'x' ? { consume: true } : data === 'y' ? { data: 'z' } : undefined)); \
        ctx.ui.addAutocompleteProvider((current) => ({ getSuggestions: async (lines, line, col) => \
            lines[line].slice(0, col).endsWith('#') ? { items: [{ value: '#12', label: 'issue' }], prefix: '#' } : null, \
            applyCompletion: (...args) => current.applyCompletion(...args) })); });";
    let mut session = TestSession::in_terminal(&[source], []).await;
    session.registered("autocomplete").await;
    for (number, (typed, wanted)) in [("x", None), ("y", Some("z")), ("q", Some("q"))].into_iter().enumerate()
    {
        let number = number as u64;
        session.input(ExtensionInput::TerminalInput { client: 1, number, data: typed.to_owned() }).await;
        let answer = session.shown(|event| match event {
            ExtensionEvent::TerminalInput { number: answered, data, .. } if *answered == number => {
                Some(data.clone())
            }
            _ => None,
        });
        assert_eq!(answer.await.as_deref(), wanted, "{typed}");
    }
    for (text, wanted) in [("sée #", Some("sée #12")), ("none", None)] {
        let (text, cursor) = (text.to_owned(), text.len());
        session.input(ExtensionInput::Complete { client: 1, number: 9, text, cursor }).await;
        let found = session.shown(|event| match event {
            ExtensionEvent::Completions { items, .. } => Some(items.clone()),
            _ => None,
        });
        let found = found.await;
        assert_eq!(found.first().map(|item| item.text.as_str()), wanted);
        assert_eq!(found.first().map(|item| item.cursor), wanted.map(str::len));
    }
}

#[tokio::test]
async fn an_overlay_says_where_it_is_and_who_has_the_keys() {
    let source = "export default (pi) => pi.registerCommand('open', { handler: async (_, ctx) => { \
        const value = await ctx.ui.custom((tui, theme, keys, done) => ({ render: (width) => [`${width} wide`, 'two'], invalidate() {}, \
            handleInput: (data) => done(data) }), \
            { overlay: true, overlayOptions: { anchor: 'bottom-right', width: '50%', margin: 1 } }); \
        ctx.ui.notify(`closed with ${value}`); } });";
    let mut session = TestSession::in_terminal(&[source], []).await;
    let screen = ExtensionInput::Screen { columns: 100, rows: 30, expanded: false, light: false };
    session.input(screen).await;
    let client = session.client.clone();
    let open = tokio::spawn(async move { client.send(ClientCommand::prompt("/open")).await });
    let (component, lines, place) = session
        .shown(|event| match event {
            ExtensionEvent::Component { component, lines, place } => {
                Some((*component, lines.clone(), *place))
            }
            _ => None,
        })
        .await;
    assert_eq!(lines, ["50 wide", "two"]);
    let place = place.unwrap();
    let expected =
        FloatPlace { row: 27, column: 49, width: 50, focused: true, hidden: false, order: place.order };
    assert_eq!(place, expected);
    session.input(ExtensionInput::Key { component, data: "v".to_owned(), client: 1 }).await;
    assert_eq!(session.notified().await, "closed with v");
    open.await.unwrap().unwrap();
}

#[tokio::test]
async fn what_an_extension_shows_goes_away_when_it_is_loaded_again() {
    let source = "export default (pi) => pi.on('session_start', (event, ctx) => { \
        if (event.reason === 'reload') return; ctx.ui.setStatus('s', 'on'); ctx.ui.setWorkingMessage('busy'); ctx.ui.setWidget('w', ['line']); });";
    let mut session = TestSession::in_terminal(&[source], []).await;
    session.registered("widget").await;
    let client = session.client.clone();
    let reload = tokio::spawn(async move { client.send(ClientCommand::prompt("/reload")).await });
    let mut left = vec!["status", "widget", "working"];
    while !left.is_empty() {
        let slot = session.shown(|event| {
            let is_undone = event.undo().is_some_and(|undo| undo == *event);
            event.slot().filter(|_| is_undone).map(|(slot, _)| slot)
        });
        let slot = slot.await;
        left.retain(|known| *known != slot);
    }
    reload.await.unwrap().unwrap();
}

#[tokio::test]
async fn the_arguments_of_a_command_are_completed() {
    let source = "export default (pi) => pi.registerCommand('pick', { handler: () => {}, \
        getArgumentCompletions: (prefix) => ['red', 'green'].filter((name) => name.startsWith(prefix)).map((value) => ({ value, label: `the ${value}` })) });";
    let mut session = TestSession::in_terminal(&[source], []).await;
    for (text, wanted) in [("/pick r", Some("/pick red")), ("/pick x", None), ("/other r", None)] {
        let (text, cursor) = (text.to_owned(), text.len());
        session.input(ExtensionInput::Complete { client: 1, number: 1, text, cursor }).await;
        let found = session.shown(|event| match event {
            ExtensionEvent::Completions { items, .. } => Some(items.clone()),
            _ => None,
        });
        assert_eq!(found.await.first().map(|item| item.text.as_str()), wanted);
    }
}

#[tokio::test]
async fn a_footer_knows_the_statuses_of_all_extensions() {
    let status = "export default (pi) => pi.on('session_start', (_, ctx) => ctx.ui.setStatus('a', 'ready'));";
    let footer = "export default (pi) => pi.registerCommand('foot', { handler: async (_, ctx) => ctx.ui.setFooter((tui, theme, data) => \
        ({ render: () => [[...data.getExtensionStatuses()].map(([key, text]) => `${key}=${text}`).join()], invalidate() {} })) });";
    let mut session = TestSession::in_terminal(&[status, footer], []).await;
    session.registered("status").await;
    session.send("/foot").await;
    let lines = session.shown(|event| match event {
        ExtensionEvent::SetFooter { lines } => lines.clone(),
        _ => None,
    });
    assert_eq!(lines.await, ["a=ready"]);
}

#[tokio::test]
async fn the_example_draws_its_message() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples/extensions/message-renderer.ts");
    let folder = tempfile::tempdir().unwrap();
    let mut session = TestSession::start(folder, &[file], [], ExtensionMode::Terminal).await;
    session.send("/status warn low on disk").await;
    let entry = entry_of(&mut session, "custom_message").await;
    let subject = RenderSubject::Message { entry: entry.as_str().into(), custom_type: "status".to_owned() };
    let drawn = text(&session.render(subject, true).await.body);
    assert!(drawn.contains("[warn]") && drawn.ends_with("low on disk (status)"), "{drawn}");
}

#[tokio::test]
async fn an_extension_draws_calls_of_other_tools() {
    let source = "import { Text } from '@earendil-works/pi-tui'; export default (pi) => {
        pi.registerToolRenderer((name, next) => (name === 'read' ? { renderCall: (args) => new Text(`reading ${args.path}`, 0, 0) } : next()));
        pi.registerToolRenderer((name) => (name === 'ls' ? { renderResult: () => new Text('listed', 0, 0) } : undefined)); };";
    let mut session = TestSession::in_terminal(&[source], []).await;
    let call = |name: &str| RenderSubject::Tool {
        call: name.to_owned(),
        name: name.to_owned(),
        arguments: json!({ "path": "a" }),
        result: None,
    };
    assert_eq!(text(&session.render(call("read"), false).await.call), "reading a");
    assert_eq!(session.render(call("ls"), false).await, RenderedLines::default(), "it has no result yet");
    assert_eq!(session.render(call("bash"), false).await, RenderedLines::default());
}

#[tokio::test]
async fn a_shortcut_belongs_to_the_last_extension_that_runs() {
    let shortcut = |text: &str| {
        format!(
            "export default (pi) => pi.registerShortcut('ctrl+t', {{ handler: (ctx) => ctx.ui.notify('{text}') }});"
        )
    };
    let (first, second) = (shortcut("first"), shortcut("second"));
    let mut session = TestSession::in_terminal(&[&first, &second], []).await;
    let press = || ExtensionInput::Shortcut { key: "ctrl+t".to_owned() };
    session.input(press()).await;
    assert_eq!(session.notified().await, "second");
    session.extensions().all()[1].set_state(crate::host::extension::ExtensionState::Disabled);
    session.input(press()).await;
    assert_eq!(session.notified().await, "first");
}
