//! Prompt caches live on prefixes. A provider that bills whatever is not the beginning of an earlier request bills, over a
//! thousand moves with prompts in between, exactly what is new on the path since it last parted from a path that was sent.

use std::collections::{HashMap, HashSet};

use osier_agent::{Command, Navigation};
use osier_model::scripted::Turn;
use osier_model::{Api, Request};
use osier_tree::{Kind, Place, Role, Seq, SessionTree};
use serde_json::{Value, json};

use crate::legal::body;
use crate::player::Talk;

const MOVES: usize = 1000;

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}

/// Remembers every beginning of every request, and tells how much of one it had never seen.
#[derive(Default)]
struct Provider {
    known: HashMap<(usize, String), usize>,
}

impl Provider {
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

/// What a request is made of: prompt and tools, then its messages, as they go over the wire.
fn pieces(request: &Request) -> Vec<String> {
    let mut body = body(request, Api::OpenaiCompletions);
    let messages = body["messages"].take();
    let messages = messages.as_array().unwrap().iter().map(Value::to_string);
    std::iter::once(body["tools"].to_string()).chain(messages).collect()
}

/// Where each request was sent from: the parents of the replies, in order.
pub(crate) fn sent_from(tree: &SessionTree) -> Vec<Place> {
    let replies =
        tree.heads().iter().filter(|(_, head)| head.kind == Kind::Message && head.role == Role::Assistant);
    replies.map(|(_, head)| head.parent).collect()
}

/// How many messages the entries of a path make.
fn messages(tree: &SessionTree, at: Place) -> usize {
    let says = |seq: &Seq| match tree.head(*seq).kind {
        Kind::Message => tree.head(*seq).role != Role::System,
        kind => matches!(kind, Kind::Backtrack | Kind::BranchSummary),
    };
    tree.heads().up(at).filter(says).count()
}

async fn play(talk: &Talk, dice: &mut Dice) {
    let tree = talk.desk.session().tree();
    if !tree.is_empty() {
        let target = Some(tree.id(Seq::new(dice.roll(tree.len()))).to_string());
        let wish = Navigation { target, summarize: dice.roll(4) == 0, ..Navigation::default() };
        talk.send(Command::Navigate(wish)).await.unwrap();
        if dice.roll(3) > 0 {
            return;
        }
    }
    let mut turns = Vec::new();
    for _ in 0..dice.roll(3) {
        let (said, id) = (Turn::reply(talk.player.word()), talk.player.word());
        turns.push(match dice.roll(4) {
            0 => {
                let note = talk.player.word();
                said.call(id, "backtrack", &json!({ "checkpoint_id": dice.roll(4), "note": note }))
            }
            _ => said.call(id, "read", &json!({ "path": "a.txt" })),
        });
    }
    talk.say(turns).await;
}

#[tokio::test]
async fn nothing_is_paid_twice() {
    let (talk, mut dice) = (Talk::new().await, Dice(11));
    for _ in 0..MOVES {
        play(&talk, &mut dice).await;
    }
    let (tree, requests) = (talk.desk.session().tree(), talk.player.asked());
    let from = sent_from(&tree);
    assert_eq!(from.len(), requests.len());
    assert!(requests.len() > MOVES / 2);
    let (mut provider, mut sent) = (Provider::default(), HashSet::new());
    for (at, (request, from)) in requests.iter().zip(from).enumerate() {
        let known = tree.heads().up(from).find(|seq| sent.contains(seq));
        // The prompt and the tools are paid once.
        let prompt = if at == 0 { 2 } else { 0 };
        let new = messages(&tree, from) - messages(&tree, known) + prompt;
        assert_eq!(provider.bill(&pieces(request)), new, "request {at}");
        sent.extend(tree.heads().up(from));
    }
}
