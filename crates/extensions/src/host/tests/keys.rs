//! Keys of providers: who gets them.

use std::path::Path;
use std::sync::Mutex;

use osier_protocol::{Question, UserAnswer};

use super::*;
use crate::inspect::ExtensionManifest;

/// Registers a provider with a key, and tells the key that extensions get.
const ASKING: &str = "export default (pi) => {
    pi.registerProvider('local', { baseUrl: 'http://127.0.0.1:1/v1', apiKey: 'real-key', api: 'openai-completions', headers: { 'x-team': 'a' }, models: [{ id: 'm' }] });
    pi.registerCommand('key', { handler: async (_, { modelRegistry, ui }) => {
        const { ok, apiKey, headers } = await modelRegistry.getApiKeyAndHeaders(modelRegistry.find('local', 'm'));
        const text = `${ok} ${apiKey} ${headers['x-team']} ${await modelRegistry.getApiKeyForProvider('nobody')}`;
        pi.appendEntry('answer', text);
        ui.notify(text);
    } });
};";

#[tokio::test]
async fn an_extension_of_the_command_line_gets_keys() {
    let mut session = TestSession::new(&[ASKING], []).await;
    session.send("/key").await;
    assert_eq!(session.notified().await, "true real-key a undefined");
}

/// Extensions of the user, with what was decided about keys.
#[derive(Debug)]
struct UserCatalog {
    sources: Vec<ExtensionSource>,
    decided: Arc<Mutex<Vec<(String, bool)>>>,
}

impl ExtensionCatalog for UserCatalog {
    fn extensions(&self, _: &Path) -> Vec<ExtensionSource> {
        self.sources.clone()
    }

    fn key_decision(&self, _: &ExtensionSource, _: &ExtensionManifest, provider: &str) -> Option<bool> {
        let decided = self.decided.lock().unwrap();
        decided.iter().find(|(known, _)| known == provider).map(|(_, allowed)| *allowed)
    }

    fn store_key_decision(
        &self,
        _: &ExtensionSource,
        _: &ExtensionManifest,
        provider: &str,
        allowed: bool,
    ) -> Result<(), String> {
        self.decided.lock().unwrap().push((provider.to_owned(), allowed));
        Ok(())
    }
}

/// A session with an extension of the user that asks for a key, and the decisions.
async fn user_session(mode: ExtensionMode) -> (TestSession, Arc<Mutex<Vec<(String, bool)>>>) {
    let (folder, files) = write_files(&[ASKING]);
    let source = |path: PathBuf| ExtensionSource { path, origin: ExtensionOrigin::User };
    let decided = Arc::<Mutex<Vec<(String, bool)>>>::default();
    let sources = files.into_iter().map(source).collect();
    let catalog = Box::new(UserCatalog { sources, decided: decided.clone() });
    let data_folder = folder.path().join("data");
    (TestSession::start_with_catalog(folder, catalog, [], mode, data_folder).await, decided)
}

#[tokio::test]
async fn the_user_is_asked_once_and_the_answer_is_stored() {
    for (answer, allowed, shown) in [
        (UserAnswer::Once, true, "true real-key a undefined"),
        (UserAnswer::No { reason: String::new() }, false, "true managed-by-osier undefined undefined"),
    ] {
        let (mut session, decided) = user_session(ExtensionMode::Rpc).await;
        let asked = session.client.clone();
        let first = tokio::spawn(async move { asked.send(ClientCommand::prompt("/key")).await });
        let event = session.until(|event| matches!(event, ClientEvent::Asked { .. })).await;
        let ClientEvent::Asked { id, question, .. } = event else { panic!("{event:?}") };
        let Question::Dialog(question) = *question else { panic!("{question:?}") };
        assert!(question.title.starts_with("Give the API key of local to the extension"), "{question:?}");
        session.client_send(ClientCommand::Answer { question: id, answer }).await;
        first.await.unwrap().unwrap();
        assert_eq!(session.notified().await, shown);
        assert_eq!(*decided.lock().unwrap(), [("local".to_owned(), allowed)]);
        session.send("/key").await;
        assert_eq!(session.notified().await, shown, "nobody is asked again");
    }
}

#[tokio::test]
async fn with_nobody_there_the_key_stays_in_osier() {
    let (session, decided) = user_session(ExtensionMode::Print).await;
    session.send("/key").await;
    let entries = session.entries().await;
    let entry = entries.iter().find(|entry| entry["customType"] == "answer").expect("the command has ended");
    assert_eq!(entry["data"], "true managed-by-osier undefined undefined");
    assert!(decided.lock().unwrap().is_empty());
}
