//! Prompt caches work on prefixes. This simulated provider bills everything that is not a prefix of an
//! earlier request. Over a thousand moves with prompts in between, it bills exactly what is new on the path
//! since it diverged from a path that was sent before.

use std::collections::{HashMap, HashSet};

use osier_model::scripted::ScriptedTurn;
use osier_model::{Api, Request};
use osier_protocol::{ClientCommand, MoveCommand};
use osier_tree::{EntryKind, MessageRole, Place, Seq, SessionTree};
use serde_json::{Value, json};

use crate::random_session::RandomSession;
use crate::valid_requests::body;

const MOVES: usize = 1000;

/// A deterministic pseudorandom generator.
struct TestRng(u64);

impl TestRng {
    fn below(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}

/// Remembers every prefix of every request, and counts how much of a request is new.
#[derive(Default)]
struct BillingProvider {
    known: HashMap<(usize, String), usize>,
}

impl BillingProvider {
    fn bill(&mut self, request: &[String]) -> usize {
        let (mut at, mut new) = (0, 0);
        for piece in request {
            let fresh = self.known.len() + 1;
            let next = *self.known.entry((at, piece.clone())).or_insert(fresh);
            new += usize::from(next == fresh);
            at = next;
        }
        new
    }
}

/// The pieces of a request as sent: prompt and tools, then each message.
fn pieces(request: &Request) -> Vec<String> {
    let mut body = body(request, Api::OpenaiCompletions);
    let messages = body["messages"].take();
    let messages = messages.as_array().unwrap().iter().map(Value::to_string);
    std::iter::once(body["tools"].to_string()).chain(messages).collect()
}

/// The position of each request: the parents of the replies, in order.
pub(crate) fn sent_from(tree: &SessionTree) -> Vec<Place> {
    let replies = tree
        .heads()
        .iter()
        .filter(|(_, head)| head.kind == EntryKind::Message && head.role == MessageRole::Assistant);
    replies.map(|(_, head)| head.parent).collect()
}

/// The number of messages on a path.
fn messages(tree: &SessionTree, at: Place) -> usize {
    let says = |seq: &Seq| match tree.head(*seq).kind {
        EntryKind::Message => tree.head(*seq).role != MessageRole::System,
        kind => matches!(kind, EntryKind::Backtrack | EntryKind::BranchSummary),
    };
    tree.heads().ancestors(at).filter(says).count()
}

async fn run_random_moves(session: &RandomSession, rng: &mut TestRng) {
    let tree = session.harness.session().tree();
    if !tree.is_empty() {
        let target = Some(tree.id(Seq::new(rng.below(tree.len()))).to_string());
        let move_command = MoveCommand {
            target_id: target.map(Into::into),
            summarize: rng.below(4) == 0,
            ..MoveCommand::default()
        };
        session.send(ClientCommand::Move(move_command)).await.unwrap();
        if rng.below(3) > 0 {
            return;
        }
    }
    let mut turns = Vec::new();
    for _ in 0..rng.below(3) {
        let (said, id) = (ScriptedTurn::reply(session.model.word()), session.model.word());
        turns.push(match rng.below(4) {
            0 => {
                let note = session.model.word();
                said.call(id, "backtrack", &json!({ "checkpoint_id": rng.below(4), "note": note }))
            }
            _ => said.call(id, "read", &json!({ "path": "a.txt" })),
        });
    }
    session.say(turns).await;
}

#[tokio::test]
async fn provider_bills_only_new_content() {
    let (session, mut rng) = (RandomSession::new().await, TestRng(11));
    for _ in 0..MOVES {
        run_random_moves(&session, &mut rng).await;
    }
    let (tree, requests) = (session.harness.session().tree(), session.model.asked());
    let from = sent_from(&tree);
    assert_eq!(from.len(), requests.len());
    assert!(requests.len() > MOVES / 2);
    let (mut provider, mut sent) = (BillingProvider::default(), HashSet::new());
    for (at, (request, from)) in requests.iter().zip(from).enumerate() {
        let known = tree.heads().ancestors(from).find(|seq| sent.contains(seq));
        // The prompt and the tools are billed once.
        let prompt = if at == 0 { 2 } else { 0 };
        let new = messages(&tree, from) - messages(&tree, known) + prompt;
        assert_eq!(provider.bill(&pieces(request)), new, "request {at}");
        sent.extend(tree.heads().ancestors(from));
    }
}
