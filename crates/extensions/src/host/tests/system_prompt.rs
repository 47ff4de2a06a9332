//! What extensions add to the system prompt, and when a tool ends a turn.

use osier_model::scripted::ScriptedTurn;
use serde_json::json;

use super::TestSession;

#[tokio::test]
async fn snippets_and_guidelines_of_active_tools_are_in_the_system_prompt() {
    let source = "
        export default function (pi) {
            const tool = (name) => ({ name, description: name, parameters: {}, execute: async () => ({ content: [] }),
                promptSnippet: `Does ${name}`, promptGuidelines: ['Use tools with care.'] });
            pi.registerTool(tool('first'));
            pi.registerTool(tool('second'));
            pi.registerCommand('less', { handler: async () => pi.setActiveTools(['first']) });
        }";
    let mut session = TestSession::new(&[source], [ScriptedTurn::reply("a"), ScriptedTurn::reply("b")]).await;
    session.turn("go").await;
    let system = session.model.requests()[0].system.clone();
    assert!(system.contains("- first: Does first\n- second: Does second"), "{system}");
    assert_eq!(system.matches("- Use tools with care.").count(), 1);
    session.send("/less").await;
    session.turn("again").await;
    let entries = session.entries().await;
    let patch = entries.iter().rfind(|entry| entry["message"]["role"] == "system").unwrap();
    assert!(!patch["message"]["sections"]["tools"].as_str().unwrap().contains("Does second"), "{patch}");
}

#[tokio::test]
async fn a_handler_adds_a_section_to_the_system_prompt() {
    let source = "
        export default (pi) => pi.on('before_agent_start', ({ systemPromptOptions: { sections, selectedTools } }) => {
            sections.guidance = `Tools: ${selectedTools.includes('read')}`;
        });";
    let mut session = TestSession::new(&[source], [ScriptedTurn::reply("a")]).await;
    session.turn("go").await;
    let system = session.model.requests()[0].system.clone();
    assert!(system.contains("<guidance>\nTools: true\n</guidance>"), "{system}");
}

#[tokio::test]
async fn handlers_change_what_the_system_prompt_is_made_of() {
    let source = "
        export default (pi) => {
            pi.on('before_agent_start', ({ prompt, systemPromptOptions: options }) => {
                if (prompt === 'force') options.forceSystemPrompt = 'Only this.';
                if (prompt !== 'change') return;
                options.promptGuidelines.push('Be kind.');
                options.contextFiles.push({ path: '/notes.md', content: 'Use tabs.' });
                options.skills.push({ name: 'dig', description: 'Digs', filePath: '/dig/SKILL.md' });
                options.appendSystemPrompt = 'More.';
                options.selectedTools = options.selectedTools.filter((name) => name === 'read');
            });
            pi.on('before_agent_start', ({ prompt, systemPrompt, systemPromptOptions: { promptGuidelines } }, ctx) => {
                ctx.ui.notify(`${prompt}: ${promptGuidelines} ${systemPrompt.includes('Use tabs.')}`);
            });
        }";
    let turns = ["a", "b", "c"].map(ScriptedTurn::reply);
    let mut session = TestSession::new(&[source], turns).await;
    for (prompt, seen) in
        [("change", "change: Be kind. true"), ("nothing", "nothing:  false"), ("force", "force:  false")]
    {
        session.send(prompt).await;
        assert_eq!(session.notified().await, seen);
        session.turn_ended().await;
    }
    let requests = session.model.requests();
    for text in ["- Be kind.", "## /notes.md\n\nUse tabs.", "- dig: Digs (/dig/SKILL.md)", "More."] {
        assert!(requests[0].system.contains(text), "{text}: {}", requests[0].system);
        assert!(!requests[1].system.contains(text), "{text}: {}", requests[1].system);
    }
    let names = |number: usize| requests[number].tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>();
    assert_eq!(names(0), ["read"]);
    assert!(names(1).len() > 3, "the choice was for one turn: {:?}", names(1));
    assert_eq!(requests[2].system, "Only this.");
}

#[tokio::test]
async fn a_tool_chosen_before_a_turn_counts_for_it() {
    let source = "
        export default (pi) => pi.on('before_agent_start', () => pi.setActiveTools(['read']));";
    let mut session = TestSession::new(&[source], [ScriptedTurn::reply("a")]).await;
    session.turn("go").await;
    let tools = session.model.requests()[0].tools.clone();
    assert_eq!(tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), ["read"]);
}

#[tokio::test]
async fn a_tool_that_terminates_ends_the_turn() {
    let source = "
        export default (pi) => pi.registerTool({ name: 'finish', description: '', parameters: {},
            execute: async () => ({ content: [{ type: 'text', text: 'finished' }], terminate: true }) });";
    let call = ScriptedTurn::new().call("call-1", "finish", &json!({}));
    let mut session = TestSession::new(&[source], [call, ScriptedTurn::reply("never asked")]).await;
    session.turn("go").await;
    assert_eq!(session.model.requests().len(), 1);
    let entries = session.entries().await;
    let result = entries.iter().find(|entry| entry["message"]["role"] == "toolResult").expect("a result");
    assert_eq!(result["message"]["content"][0]["text"], "finished");
}

#[tokio::test]
async fn commands_say_where_they_come_from() {
    let source = "
        export default (pi) => pi.registerCommand('list', { description: 'Lists', handler: async (_args, ctx) => {
            const [{ name, source, sourceInfo }] = pi.getCommands();
            ctx.ui.notify(`${name} ${source} ${sourceInfo.scope} ${sourceInfo.path.endsWith('extension0.ts')}`);
        } });";
    let mut session = TestSession::new(&[source], []).await;
    session.send("/list").await;
    assert_eq!(session.notified().await, "list extension temporary true");
}

#[tokio::test]
async fn an_empty_message_of_an_extension_is_stored() {
    let source = "
        export default (pi) => pi.registerCommand('mark', { handler: async () => {
            pi.sendMessage({ customType: 'mark', content: '', display: true });
        } });";
    let session = TestSession::new(&[source], []).await;
    session.send("/mark").await;
    while !session.entries().await.iter().any(|entry| entry["customType"] == "mark") {
        tokio::task::yield_now().await;
    }
}
