//! What the model gets beyond the typed text: templates, skills, attached files, and the system prompt.

use std::sync::{Arc, Mutex};

use osier_agent::{AgentError, PromptLibrary, SystemPromptSource};
use osier_model::scripted::ScriptedTurn;
use osier_model::{ContentBlock, Message};
use osier_protocol::{ClientCommand, Prompt, PromptTiming};
use osier_tools::ToolSet;
use serde_json::json;

use crate::harness::Harness;

async fn with_files(turns: impl IntoIterator<Item = ScriptedTurn>) -> Harness {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    std::fs::create_dir_all(at("prompts")).unwrap();
    std::fs::create_dir_all(at("skills/pdf")).unwrap();
    std::fs::write(at("prompts/fix.md"), "---\ndescription: Fixes.\n---\nFix $1 well.").unwrap();
    std::fs::write(at("skills/pdf/SKILL.md"), "---\ndescription: PDF.\n---\nUse pdftotext.").unwrap();
    let prompts = PromptLibrary {
        template_folders: vec![at("prompts").into()],
        skill_folders: vec![at("skills").into()],
    };
    let store = Arc::new(osier_store::MemoryStore::default());
    osier_store::Store::create(&*store, &osier_tree::Header::new("s", 0, "/x"), &[]).await.unwrap();
    Harness::open(store, Arc::new(folder), turns, |config| config.prompt_library = prompts).await
}

#[tokio::test]
async fn model_gets_the_template_and_the_user_sees_the_typed_text() {
    let harness =
        with_files([ScriptedTurn::reply("one"), ScriptedTurn::reply("two"), ScriptedTurn::reply("three")])
            .await;
    harness.say("/fix a.rs").await;
    assert_eq!(harness.last_request(), ["user: Fix a.rs well."]);
    let stored = harness.messages().await.remove(1);
    assert_eq!(
        (&stored["uiContent"], &stored["content"][0]["text"]),
        (&json!("/fix a.rs"), &json!("Fix a.rs well."))
    );
    assert!(harness.path().await.contains(&"user: \"/fix a.rs\"".to_owned()));
    harness.say("/skill:pdf read it").await;
    assert!(harness.last_request()[2].contains("Use pdftotext."));
    harness.say("/usr/bin is a folder").await;
    let plain = harness.messages().await.into_iter().rfind(|message| message["role"] == "user").unwrap();
    assert_eq!(
        (&plain["content"][0]["text"], plain.get("uiContent")),
        (&json!("/usr/bin is a folder"), None)
    );
}

/// The working directory contains `note.txt`.
async fn with_note(turns: impl IntoIterator<Item = ScriptedTurn>) -> Harness {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("note.txt"), "one\n").unwrap();
    std::fs::write(folder.path().join("b.bin"), [0, 159, 146, 150, 0]).unwrap();
    let store = Arc::new(osier_store::MemoryStore::default());
    osier_store::Store::create(&*store, &osier_tree::Header::new("s", 0, "/x"), &[]).await.unwrap();
    let cwd = folder.path().to_owned();
    Harness::open(store, Arc::new(folder), turns, |config| config.tool_context.cwd = cwd).await
}

#[tokio::test]
async fn model_gets_the_file_and_the_user_sees_its_name() {
    let harness = with_note([ScriptedTurn::reply("one"), ScriptedTurn::reply("two")]).await;
    harness.say("is @note.txt true, @Ada?").await;
    let sent = "<file name=\"note.txt\">\none\n</file>\n\nis @note.txt true, @Ada?";
    assert_eq!(harness.last_request(), [format!("user: {sent}")]);
    assert!(harness.path().await.contains(&"user: \"is @note.txt true, @Ada?\"".to_owned()));
    let card = harness.session().store().card(harness.session().key()).await.unwrap();
    assert_eq!(card.first_message, "is @note.txt true, @Ada?");
    harness.say("no file").await;
    let plain = harness.messages().await.into_iter().rfind(|message| message["role"] == "user").unwrap();
    assert_eq!(plain.get("uiContent"), None);
}

#[tokio::test]
async fn failed_attachment_stores_nothing() {
    let harness = with_note([]).await;
    let said = harness.worker.send(ClientCommand::prompt("see @b.bin")).await;
    assert!(
        matches!(&said, Err(AgentError::Attachment(reason)) if reason.starts_with("@b.bin: ")),
        "{said:?}"
    );
    assert_eq!(harness.session().version().entries, 0);
}

#[tokio::test]
async fn unknown_skill_stores_nothing() {
    let harness = with_files([]).await;
    let said = harness.worker.send(ClientCommand::prompt("/skill:pfd")).await;
    assert!(matches!(&said, Err(AgentError::UnknownSkill { name }) if name == "pfd"), "{said:?}");
    assert_eq!(harness.session().version().entries, 0);
}

#[tokio::test]
async fn queued_prompt_is_expanded_on_delivery() {
    let harness = with_files([
        ScriptedTurn::reply("I am thin").pause(std::time::Duration::ZERO),
        ScriptedTurn::reply("two"),
    ])
    .await;
    let mut listener = harness.begin(ClientCommand::prompt("go")).await;
    let queued = ClientCommand::timed_prompt(
        Prompt { text: "/fix b.rs".into(), ..Prompt::default() },
        PromptTiming::FollowUp,
    );
    harness.send(queued).await;
    while harness.model.requests().len() < 2 {
        listener.next().await;
    }
    assert!(harness.last_request().contains(&"user: Fix b.rs well.".to_owned()));
}

/// Sections that the test edits.
#[derive(Debug, Clone, Default)]
struct EditedPrompt(Arc<Mutex<Vec<(String, String)>>>);

impl SystemPromptSource for EditedPrompt {
    fn sections(&self, _: i64) -> Vec<(String, String)> {
        self.0.lock().unwrap().clone()
    }
}

impl EditedPrompt {
    fn set(&self, name: &str, text: &str) {
        let mut sections = self.0.lock().unwrap();
        sections.retain(|(known, _)| known != name);
        sections.push((name.to_owned(), text.to_owned()));
    }
}

#[tokio::test]
async fn changed_section_is_stored_as_a_patch_before_the_next_prompt() {
    let edited = EditedPrompt::default();
    edited.set("preamble", "You work here.");
    edited.set("date", "Monday");
    let system_prompt = edited.clone();
    let turns = ["one", "two", "three"].map(ScriptedTurn::reply);
    let harness = Harness::with(turns, |config| config.system_prompt = Arc::new(system_prompt)).await;
    harness.say("a").await;
    harness.say("b").await;
    edited.set("date", "Tuesday");
    harness.say("c").await;
    assert_eq!(
        harness.path().await,
        [
            "[model: scripted]",
            "[system]",
            "user: \"a\"",
            "assistant: \"one\"",
            "user: \"b\"",
            "assistant: \"two\"",
            "[system]",
            "user: \"c\"",
            "assistant: \"three\""
        ]
    );
    let patch = harness.messages().await.into_iter().rfind(|message| message["role"] == "system").unwrap();
    assert_eq!((&patch["sections"], patch.get("toolsAdded")), (&json!({ "date": "Tuesday" }), None));
    let requests = harness.model.requests();
    assert!(requests.iter().all(|request| request.system == "You work here.\n\nMonday"));
    let texts: Vec<String> = requests[2].messages.iter().filter_map(user_text).collect();
    assert_eq!(
        texts,
        [
            "a",
            "b",
            "<system>\nThe section \"date\" of your system prompt now reads:\n\nTuesday\n</system>",
            "c"
        ]
    );
}

/// The first text of a user message.
fn user_text(message: &Message) -> Option<String> {
    match message {
        Message::User(user) => match user.content.first() {
            Some(ContentBlock::Text(text)) => Some(text.text.clone()),
            _ => None,
        },
        _ => None,
    }
}

#[tokio::test]
async fn compaction_stores_the_current_prompt_and_drops_old_changes() {
    let edited = EditedPrompt::default();
    edited.set("preamble", "You work here.");
    edited.set("date", "Monday");
    let system_prompt = edited.clone();
    let long = |word: &str| ScriptedTurn::reply(format!("{word} ").repeat(4000));
    let turns = [
        long("one"),
        long("two"),
        long("three"),
        ScriptedTurn::reply("A summary."),
        ScriptedTurn::reply("four"),
    ];
    let harness = Harness::with(turns, |config| {
        config.system_prompt = Arc::new(system_prompt);
        config.compaction.keep_recent = Some(8000);
    })
    .await;
    for (day, text) in [("Monday", "a"), ("Tuesday", "b"), ("Wednesday", "c")] {
        edited.set("date", day);
        harness.say(text).await;
    }
    harness.send(ClientCommand::Compact { focus: None }).await;
    harness.say("d").await;
    let last = harness.model.requests().pop().unwrap();
    assert_eq!(last.system, "You work here.\n\nWednesday");
    let texts: Vec<String> = last.messages.iter().filter_map(user_text).collect();
    assert!(
        texts.iter().any(|text| text == "c"),
        "it keeps the last question and the change before it: {texts:?}"
    );
    assert!(!texts.iter().any(|text| text.contains("of your system prompt")), "{texts:?}");
}

#[tokio::test]
async fn each_path_has_its_own_system_prompt() {
    let edited = EditedPrompt::default();
    edited.set("rules", "old");
    let system_prompt = edited.clone();
    let harness =
        Harness::with([ScriptedTurn::reply("one")], |config| config.system_prompt = Arc::new(system_prompt))
            .await;
    harness.say("a").await;
    let asked = harness.worker.cursor().position();
    let again = harness.reopen([ScriptedTurn::reply("x")]).await;
    again.say("under another prompt").await;
    assert_eq!(again.model.requests()[0].system, "You work here.");
    again.worker.cursor().move_to(asked).await.unwrap();
    let tools = ToolSet::standard().only(&["read"]).unwrap();
    let turns = [ScriptedTurn::reply("y")];
    let fewer = Harness::open(harness.store.clone(), harness.folder.clone(), turns, |config| {
        config.system_prompt = Arc::new(edited.clone());
        config.tools = Arc::new(tools);
    })
    .await;
    fewer.say("with fewer tools").await;
    let request = fewer.model.requests().remove(0);
    assert_eq!((request.system.as_str(), request.tools.len()), ("old", 1));
}
