//! Members of the API that packages use: what events, tools, models and pi's own functions have and return.

use super::*;

/// What a command of an extension notifies: the value of an expression of `pi`, `ctx` and these imports, as JSON.
async fn evaluated(imports: &str, expression: &str) -> Value {
    let source = format!(
        "{imports} export default (pi) => pi.registerCommand('show', {{ handler: async (text, ctx) => {{ \
            ctx.ui.notify(JSON.stringify(await ({expression}) ?? null)); }} }});"
    );
    let mut session = TestSession::new(&[&source], []).await;
    session.send("/show").await;
    serde_json::from_str(&session.notified().await).unwrap()
}

const AGENT: &str = "@earendil-works/pi-coding-agent";

#[tokio::test]
async fn a_name_that_a_package_of_pi_lacks_is_undefined() {
    let imports = "import { Text, NoSuchComponent as Missing } from '@earendil-works/pi-tui'; \
                   import { AssistantMessageFrameEncoder } from '@mariozechner/pi-ai';";
    let value =
        evaluated(imports, "[typeof Text, typeof Missing, typeof AssistantMessageFrameEncoder]").await;
    assert_eq!(value, serde_json::json!(["function", "undefined", "undefined"]));
}

#[tokio::test]
async fn types_have_their_own_names() {
    let imports = "import { Object as Obj, String as Text, Optional } from 'typebox'; import * as All from '@sinclair/typebox';";
    let value = evaluated(imports, "[Obj({ a: Optional(Text()) }), All.Array(All.Number())]").await;
    let expected = serde_json::json!([{ "type": "object", "properties": { "a": { "type": "string" } } }, { "type": "array", "items": { "type": "number" } }]);
    assert_eq!(value, expected);
}

#[tokio::test]
async fn a_chosen_model_is_described() {
    let source = "export default (pi) => { \
        pi.registerProvider('mine', { baseUrl: 'http://nowhere', apiKey: 'k', api: 'openai-completions', models: [{ id: 'm', name: 'Mine', contextWindow: 5000, maxTokens: 100 }, { id: 'n', name: 'Next' }] }); \
        pi.on('model_select', ({ model, previousModel, source }, ctx) => ctx.ui.notify(JSON.stringify([model.name, previousModel.name, previousModel.contextWindow, source]))); };";
    let mut session = TestSession::new(&[source], []).await;
    session.client_send(ClientCommand::SetModel { model: "mine/m".to_owned() }).await;
    session.notified().await;
    session.client_send(ClientCommand::SetModel { model: "mine/n".to_owned() }).await;
    assert_eq!(session.notified().await, r#"["Next","Mine",5000,"set"]"#);
}

#[tokio::test]
async fn a_provider_refreshes_its_models() {
    let source = "export default (pi) => { let count = 0; \
        pi.registerProvider('mine', { baseUrl: 'http://nowhere', apiKey: 'k', api: 'openai-completions', models: [{ id: 'first' }], \
            refreshModels: async ({ signal }) => [{ id: `model-${count += 1}`, name: `Aborted: ${signal.aborted}` }] }); \
        pi.registerCommand('show', { handler: async (text, ctx) => { await ctx.modelRegistry.refresh(); \
            ctx.ui.notify(JSON.stringify(ctx.modelRegistry.getProvider('mine').models.map(({ id, name }) => [id, name]))); } }); };";
    let mut session = TestSession::new(&[source], []).await;
    session.send("/show").await;
    assert_eq!(session.notified().await, r#"[["model-2","Aborted: false"]]"#);
}

#[tokio::test]
async fn tools_say_where_they_come_from() {
    let source = "export default (pi) => { \
        pi.registerTool({ name: 'own', description: 'd', promptGuidelines: ['Be kind'], parameters: { type: 'object' }, execute: async () => ({ content: [] }) }); \
        pi.registerCommand('show', { handler: (text, ctx) => { const find = (name) => pi.getAllTools().find((tool) => tool.name === name); \
            ctx.ui.notify(JSON.stringify([find('own').promptGuidelines, find('own').sourceInfo.source, find('read').sourceInfo.source, find('read').exposure])); } }); };";
    let mut session = TestSession::new(&[source], []).await;
    session.send("/show").await;
    assert_eq!(session.notified().await, r#"[["Be kind"],"cli","builtin","direct"]"#);
}

#[tokio::test]
async fn a_blocked_call_can_end_the_turn() {
    let source =
        "export default (pi) => pi.on('tool_call', () => ({ block: true, reason: 'no', terminate: true }));";
    let call = ScriptedTurn::new().call("call-1", "ls", &serde_json::json!({ "path": "." }));
    let mut session = TestSession::new(&[source], [call]).await;
    session.turn("look").await;
    assert_eq!(session.model.requests().len(), 1);
}

#[tokio::test]
async fn a_message_for_the_next_turn_waits_for_the_end_of_this_one() {
    let source = "export default (pi) => pi.on('tool_call', () => { \
        pi.sendMessage({ customType: 'later', content: 'for the next turn', display: true }, { deliverAs: 'nextTurn' }); \
        pi.sendMessage({ customType: 'quiet', content: 'stored at the end', display: true }, { triggerTurn: false }); });";
    let call = ScriptedTurn::new().call("call-1", "ls", &serde_json::json!({ "path": "." }));
    let replies = [call, ScriptedTurn::reply("done"), ScriptedTurn::reply("again")];
    let mut session = TestSession::new(&[source], replies).await;
    session.turn("look").await;
    assert!(
        session.request_texts().iter().all(|text| !text.contains("next turn") && !text.contains("stored"))
    );
    let stored = |event: &ClientEvent| format!("{event:?}").contains("stored at the end");
    session.until(stored).await;
    session.turn("go on").await;
    let texts = session.request_texts();
    let place = |wanted: &str| texts.iter().position(|text| text == wanted);
    assert!(
        place("for the next turn") > place("done") && place("stored at the end") > place("done"),
        "{texts:?}"
    );
}

#[tokio::test]
async fn what_a_tool_used_is_counted() {
    let source = "export default (pi) => pi.registerTool({ name: 'own', description: 'd', parameters: { type: 'object' }, \
        execute: async () => ({ content: [{ type: 'text', text: 'done' }], usage: { input: 7, output: 3, cacheRead: 0, cacheWrite: 0, totalTokens: 10, \
            cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0.5 } } }) });";
    let call = ScriptedTurn::new().call("call-1", "own", &serde_json::json!({}));
    let mut session = TestSession::new(&[source], [call, ScriptedTurn::reply("ok")]).await;
    session.turn("go").await;
    let entries = session.entries().await;
    let usage = entries.iter().find(|entry| entry["type"] == "usage").expect("it is stored");
    assert_eq!((&usage["usage"]["totalTokens"], &usage["usage"]["cost"]["total"]), (&10.into(), &0.5.into()));
}

#[tokio::test]
async fn replies_stream_to_extensions() {
    let source = "import { streamSimple } from '@earendil-works/pi-ai'; \
        export default (pi) => pi.registerCommand('ask', { handler: async (text, ctx) => { const seen = []; \
            const reply = streamSimple(ctx.model, { messages: [{ role: 'user', content: text, timestamp: 1 }] }); \
            for await (const event of reply) seen.push(`${event.type}:${event.partial?.content?.at(-1)?.text ?? event.partial?.content?.at(-1)?.thinking ?? ''}`); \
            ctx.ui.notify(`${seen.join(' ')} = ${(await reply.result()).content.at(-1).text}`); } });";
    let turn = ScriptedTurn::new().thinking("hm", "").text("four");
    let mut session = TestSession::new(&[source], [turn]).await;
    session.send("/ask two and two").await;
    let seen = session.notified().await;
    assert!(seen.starts_with("start: thinking_start:"), "{seen}");
    for part in ["thinking_delta:hm", "text_delta:four", "text_end:four", "done:", "= four"] {
        assert!(seen.contains(part), "{part}: {seen}");
    }
}

#[tokio::test]
async fn code_has_the_colors_of_the_theme() {
    let imports = format!("import {{ highlightCode, getMarkdownTheme }} from '{AGENT}';");
    let value = evaluated(
        &imports,
        "[highlightCode('let a = 1;\\n', 'rust'), getMarkdownTheme().highlightCode('x')]",
    )
    .await;
    let first = value[0][0].as_str().unwrap();
    assert!(first.contains("\u{1b}[35mlet\u{1b}[39m"), "{first:?}");
    assert_eq!((&value[0][1], &value[1]), (&"".into(), &serde_json::json!(["x"])));
}

#[tokio::test]
async fn differences_are_shown_with_line_numbers() {
    let imports = format!("import {{ generateDiffString, generateUnifiedPatch }} from '{AGENT}';");
    let expression = "[generateDiffString('a\\nb\\n', 'a\\nc\\nb\\nd\\n'), generateDiffString('x', 'x').diff, \
        generateDiffString('1\\n2\\n3\\n4\\n5\\n6\\n7\\n', '1\\n2\\n3\\nx\\n5\\n6\\n7\\n', 1).diff, generateUnifiedPatch('f', 'a\\nb\\n', 'a\\nc\\n')]";
    let value = evaluated(&imports, expression).await;
    assert_eq!(value[0], serde_json::json!({ "diff": " 1 a\n+2 c\n 2 b\n+4 d", "firstChangedLine": 2 }));
    assert_eq!(value[1], "");
    assert_eq!(value[2], "   ...\n 3 3\n-4 4\n+4 x\n 5 5\n   ...");
    assert_eq!(value[3], "--- f\n+++ f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
}

#[tokio::test]
async fn a_path_is_cut_and_prepared_for_a_summary() {
    let imports = format!(
        "import {{ findCutPoint, findTurnStartIndex, prepareBranchEntries, prepareCompaction, SessionManager }} from '{AGENT}'; \
         const entry = (id, role, length) => ({{ type: 'message', id, message: {{ role, content: [{{ type: 'text', text: 'a'.repeat(length) }}] }} }}); \
         const all = [entry('1', 'user', 100), entry('2', 'assistant', 100), entry('3', 'user', 100), entry('4', 'assistant', 400), entry('5', 'assistant', 100)];"
    );
    let expression = "[[10, 60, 150, 9999].map((tokens) => findCutPoint(all, 0, 5, tokens).firstKeptEntryIndex), findCutPoint(all, 0, 5, 60).turnStartIndex, \
        findTurnStartIndex(all, 1, 0), prepareBranchEntries(all, 60).messages.length, prepareCompaction(all, { keepRecentTokens: 150 }).messagesToSummarize.length]";
    let value = evaluated(&imports, expression).await;
    assert_eq!(value, serde_json::json!([[4, 3, 2, 0], 2, 0, 1, 2]));
}

#[tokio::test]
async fn a_session_in_memory_branches_and_compacts() {
    let imports = format!("import {{ SessionManager }} from '{AGENT}';");
    let expression = "(() => { const session = SessionManager.inMemory(); const say = (text) => session.appendMessage({ role: 'user', content: text }); \
        const [a, b, c] = ['a', 'b', 'c'].map(say); session.appendCompaction('short', c, 9); say('d'); \
        const texts = () => session.buildSessionContext().messages.map((message) => message.summary ?? message.content); \
        const before = texts(); const types = session.buildContextEntries().map((entry) => entry.type); \
        session.createBranchedSession(b); return [before, types, texts(), session.getPath().length, session.getLeafUuid() === b]; })()";
    let value = evaluated(&imports, expression).await;
    let expected =
        serde_json::json!([["short", "c", "d"], ["compaction", "message", "message"], ["a", "b"], 2, true]);
    assert_eq!(value, expected);
}

#[tokio::test]
async fn the_path_of_the_session_is_that_of_the_model() {
    let source = "export default (pi) => pi.registerCommand('show', { handler: (text, ctx) => { const { sessionManager } = ctx; \
        const kept = sessionManager.appendCustomMessageEntry('note', 'kept', true); \
        sessionManager.appendCompaction('short', kept, 9); \
        ctx.ui.notify(sessionManager.buildContextEntries().map((entry) => entry.type).join()); } });";
    let mut session = TestSession::new(&[source], [ScriptedTurn::reply("one")]).await;
    session.turn("hello").await;
    session.send("/show").await;
    assert_eq!(session.notified().await, "compaction,custom_message");
}

#[tokio::test]
async fn a_compaction_knows_its_files_and_settings() {
    let source = "export default (pi) => pi.on('session_before_compact', ({ preparation: { fileOps, settings } }, ctx) => { \
        ctx.ui.notify(JSON.stringify([fileOps.read instanceof Set, [...fileOps.read], settings.enabled, settings.keepRecentTokens > 0])); return { cancel: true }; });";
    let call = ScriptedTurn::new().call("call-1", "read", &serde_json::json!({ "path": "a.txt" }));
    let long = "word ".repeat(30_000);
    let replies = [call, ScriptedTurn::reply(&long), ScriptedTurn::reply(&long), ScriptedTurn::reply("c")];
    let mut session = TestSession::new(&[source], replies).await;
    for text in ["a", "b", "c"] {
        session.turn(text).await;
    }
    session.client_send(ClientCommand::Compact { focus: None }).await;
    assert_eq!(session.notified().await, r#"[true,["a.txt"],true,true]"#);
}

#[tokio::test]
async fn skills_and_instructions_are_read() {
    let imports = format!(
        "import {{ formatSkillsForPrompt, loadProjectContextFiles, loadSkillsFromDir }} from '{AGENT}'; import {{ mkdirSync, writeFileSync }} from 'node:fs';"
    );
    let expression = "(() => { mkdirSync(`${ctx.cwd}/skills/one`, { recursive: true }); \
        writeFileSync(`${ctx.cwd}/skills/one/SKILL.md`, '---\\nname: one\\ndescription: does <one>\\n---\\nDo it.'); writeFileSync(`${ctx.cwd}/skills/bad.md`, 'no description'); \
        writeFileSync(`${ctx.cwd}/AGENTS.md`, 'Use tabs.'); const { skills, diagnostics } = loadSkillsFromDir({ dir: `${ctx.cwd}/skills`, source: 'test' }); \
        return [skills.map((skill) => skill.name), diagnostics.length, formatSkillsForPrompt(skills).includes('does &lt;one&gt;'), \
            loadProjectContextFiles({ cwd: ctx.cwd }).at(-1).content]; })()";
    assert_eq!(evaluated(&imports, expression).await, serde_json::json!([["one"], 1, true, "Use tabs."]));
}

#[tokio::test]
async fn damaged_json_is_repaired() {
    let imports = "import { parseJsonWithRepair } from '@earendil-works/pi-ai';";
    let expression = r#"parseJsonWithRepair('{"a": "one\ttwo", "b": "c:\\\\d\\q"}')"#;
    assert_eq!(evaluated(imports, expression).await["a"], "one\ttwo");
}

#[tokio::test]
async fn a_model_is_found_as_the_command_line_finds_it() {
    let source = format!(
        "import {{ resolveCliModel }} from '{AGENT}'; export default (pi) => {{ \
        pi.registerProvider('mine', {{ baseUrl: 'http://nowhere', apiKey: 'k', api: 'openai-completions', models: [{{ id: 'parrot-1', name: 'Parrot' }}] }}); \
        pi.registerCommand('show', {{ handler: (text, ctx) => {{ const find = (cliModel) => {{ const {{ model, thinkingLevel, error }} = resolveCliModel({{ cliModel }}); \
            return [model?.id, thinkingLevel, !!error]; }}; ctx.ui.notify(JSON.stringify([find('mine/parrot-1:high'), find('parrot'), find('none')])); }} }}); }};"
    );
    let mut session = TestSession::new(&[&source], []).await;
    session.send("/show").await;
    let expected = r#"[["parrot-1","high",false],["parrot-1",null,false],[null,null,true]]"#;
    assert_eq!(session.notified().await, expected);
}

/// The form of the first version of the API: a component, and a function that is called when it has closed.
#[tokio::test]
async fn a_component_without_a_factory_is_shown() {
    let source = "export default (pi) => pi.registerCommand('show', { handler: async (text, ctx) => { \
        const component = { keys: [], render: () => [`keys ${component.keys.join()}`], handleInput: (data) => component.keys.push(data), invalidate() {} }; \
        ctx.ui.custom(component, () => ctx.ui.notify(`closed after ${component.keys.join()}`)); } });";
    let mut session = TestSession::in_terminal(&[source], []).await;
    session.send("/show").await;
    let component = session.component_with("keys ").await;
    session.key(component, "a").await;
    assert_eq!(session.component_with("keys a").await, component);
    session.key(component, "\u{1b}").await;
    assert_eq!(session.notified().await, "closed after a");
}

impl TestSession {
    /// The number of the component whose first line is this one, as soon as it is drawn.
    async fn component_with(&mut self, line: &str) -> u64 {
        let event = self
            .until(|event| match event {
                ClientEvent::Extension(ExtensionEvent::Component { lines, .. }) => {
                    lines.first().is_some_and(|first| first.trim_end() == line.trim_end())
                }
                _ => false,
            })
            .await;
        match event {
            ClientEvent::Extension(ExtensionEvent::Component { component, .. }) => component,
            _ => 0,
        }
    }

    async fn key(&self, component: u64, data: &str) {
        let input = osier_protocol::ExtensionInput::Key { component, data: data.to_owned(), client: 0 };
        self.client_send(ClientCommand::ExtensionInput(input)).await;
    }
}

#[tokio::test]
async fn an_extension_has_settings_of_its_own() {
    let imports = format!(
        "import {{ SettingsManager }} from '{AGENT}'; const settings = SettingsManager.inMemory({{ theme: 'dark' }});"
    );
    let expression = "[settings.getTheme(), settings.getShowImages(), settings.getPackages(), settings.setTheme('light'), settings.getTheme(), settings.getGlobalSettings(), typeof settings.then]";
    let value = evaluated(&imports, expression).await;
    let expected = serde_json::json!(["dark", true, [], null, "light", { "theme": "light" }, "undefined"]);
    assert_eq!(value, expected);
}

#[tokio::test]
async fn half_of_a_surrogate_pair_is_no_obstacle_anywhere() {
    let source = "export default (pi) => { const half = '😀'.slice(0, 1);
        pi.registerTool({ name: 'own', description: half, parameters: { type: 'object' }, execute: async () => ({ content: [{ type: 'text', text: `got ${half}` }], details: { [half]: half } }) });
        pi.registerCommand('show', { handler: (text, ctx) => { pi.appendEntry('x', { half, both: '😀' }); ctx.ui.setStatus(half, half); ctx.ui.notify(`shown ${half} \\\\ud83d`); } });
        pi.registerCommand('fail', { handler: async () => { await null; throw new Error(`no ${half}`); } }); };";
    let call = ScriptedTurn::new().call("call-1", "own", &serde_json::json!({}));
    let mut session = TestSession::new(&[source], [call, ScriptedTurn::reply("ok")]).await;
    session.send("/show").await;
    assert_eq!(session.notified().await, "shown \u{fffd} \\ud83d");
    session.send("/fail").await;
    assert_eq!(session.failed().await, ("command".to_owned(), "no \u{fffd}".to_owned()));
    session.turn("go").await;
    assert_eq!(session.request_texts().last().unwrap(), "got \u{fffd}");
    let entries = session.entries().await;
    let entry = entries.iter().find(|entry| entry["customType"] == "x").unwrap();
    assert_eq!(entry["data"], serde_json::json!({ "half": "\u{fffd}", "both": "😀" }));
}

#[tokio::test]
async fn messages_for_the_next_turn_keep_their_order_and_are_stored_at_the_end() {
    let source = "export default (pi) => pi.on('tool_call', () => { \
        for (let number = 0; number < 20; number += 1) \
            pi.sendMessage({ customType: 'later', content: `later ${number}`, display: true }, { deliverAs: 'nextTurn' }); });";
    let call = ScriptedTurn::new().call("call-1", "ls", &serde_json::json!({ "path": "." }));
    let mut session = TestSession::new(&[source], [call, ScriptedTurn::reply("done")]).await;
    session.turn("look").await;
    session.engine.close(std::time::Duration::from_secs(60)).await;
    let entries = session.entries().await;
    let stored: Vec<&str> = entries.iter().filter_map(|entry| entry["content"].as_str()).collect();
    let expected: Vec<String> = (0..20).map(|number| format!("later {number}")).collect();
    assert_eq!(stored, expected);
}
