//! Random operations in random order. Invariants: the log stays valid, the path alone decides what the model
//! sees, undo and redo always lead back, summaries cover only the branch that is left, and every request is
//! valid for its API.

use osier_model::ModelError;
use osier_model::scripted::ScriptedTurn;
use osier_protocol::{ClientCommand, CommandReply, MoveCommand};
use osier_store::file::verify;
use osier_testkit::ScriptedSession;
use osier_tree::{EntryKind, Place, Seq, summary};
use proptest::prelude::*;
use serde_json::json;

use crate::random_session::{RandomSession, seen, words};
use crate::render::request_text;
use crate::valid_requests::{APIS, body, problems};

#[derive(Debug, Clone)]
enum Op {
    /// Replies that call tools, followed by one that calls none.
    Say(Vec<Vec<ToolUse>>),
    /// The last reply reports a full window.
    Fill,
    Overflow,
    Fail,
    Move(usize, MoveKind),
    Root(bool),
    /// Moves to an entry and back.
    ThereAndBack(usize),
    Undo,
    Redo,
    Compact,
    UndoCompaction,
    Graft(usize, bool),
    Label(usize),
    Delete(usize),
    Restore(usize),
    Reopen,
}

#[derive(Debug, Clone, Copy)]
enum ToolUse {
    Read,
    Todo,
    Nothing,
    Back(i64),
}

#[derive(Debug, Clone, Copy)]
enum MoveKind {
    Plain,
    Exact,
    Labeled,
    Summarized,
}

fn op() -> impl Strategy<Value = Op> {
    let called = prop_oneof![
        3 => Just(ToolUse::Read),
        1 => Just(ToolUse::Todo),
        1 => Just(ToolUse::Nothing),
        2 => (0i64..6).prop_map(ToolUse::Back),
    ];
    let how = prop_oneof![
        Just(MoveKind::Plain),
        Just(MoveKind::Exact),
        Just(MoveKind::Labeled),
        Just(MoveKind::Summarized)
    ];
    let replies = prop::collection::vec(prop::collection::vec(called, 1..4), 0..3);
    let entry = || 0usize..1000;
    prop_oneof![
        8 => replies.prop_map(Op::Say),
        1 => Just(Op::Fill),
        1 => Just(Op::Overflow),
        1 => Just(Op::Fail),
        6 => (entry(), how).prop_map(|(to, how)| Op::Move(to, how)),
        1 => any::<bool>().prop_map(Op::Root),
        3 => entry().prop_map(Op::ThereAndBack),
        2 => Just(Op::Undo),
        1 => Just(Op::Redo),
        2 => Just(Op::Compact),
        1 => Just(Op::UndoCompaction),
        2 => (entry(), any::<bool>()).prop_map(|(tip, summarize)| Op::Graft(tip, summarize)),
        1 => entry().prop_map(Op::Label),
        1 => entry().prop_map(Op::Delete),
        1 => entry().prop_map(Op::Restore),
        1 => Just(Op::Reopen),
    ]
}

impl RandomSession {
    fn turns(&self, replies: &[Vec<ToolUse>]) -> Vec<ScriptedTurn> {
        let turn = |calls: &Vec<ToolUse>| {
            calls.iter().fold(ScriptedTurn::reply(self.model.word()), |turn, call| {
                let id = self.model.word();
                match call {
                    ToolUse::Read => turn.call(id, "read", &json!({ "path": "a.txt" })),
                    ToolUse::Todo => turn.call(id, "todo", &json!({ "items": [] })),
                    ToolUse::Nothing => turn.call(id, "nothing", &json!({})),
                    ToolUse::Back(number) => {
                        let note = self.model.word();
                        turn.call(id, "backtrack", &json!({ "checkpoint_id": number, "note": note }))
                    }
                }
            })
        };
        replies.iter().map(turn).collect()
    }

    /// The id of some entry, if there is one.
    fn entry(&self, at: usize) -> Option<String> {
        let tree = self.harness.session().tree();
        (!tree.is_empty()).then(|| tree.id(Seq::new(at % tree.len())).to_string())
    }

    fn id(&self, position: Place) -> Option<String> {
        position.map(|seq| self.harness.session().tree().id(seq).to_string())
    }

    async fn apply(&mut self, op: &Op) -> Result<(), TestCaseError> {
        let session = self.harness.session().clone();
        match op {
            Op::Say(replies) => self.say(self.turns(replies)).await,
            Op::Fill => self.say(vec![ScriptedTurn::reply(self.model.word()).usage(126_000, 0)]).await,
            Op::Overflow => {
                let failure =
                    ModelError::ContextOverflow { needed: None, window: None, detail: String::new() };
                self.say(vec![ScriptedTurn::new().fail(failure)]).await;
            }
            Op::Fail => {
                let failure = ModelError::Network { provider: "p".into(), detail: "gone".into() };
                self.say(vec![ScriptedTurn::reply(self.model.word()).fail(failure)]).await;
            }
            Op::Move(to, how) => {
                let Some(target) = self.entry(*to) else { return Ok(()) };
                let move_command = MoveCommand { target_id: Some(target.into()), ..MoveCommand::default() };
                let move_command = match how {
                    MoveKind::Plain => move_command,
                    MoveKind::Exact => MoveCommand { exact: true, ..move_command },
                    MoveKind::Labeled => MoveCommand { label: Some("x".into()), ..move_command },
                    MoveKind::Summarized => MoveCommand { summarize: true, ..move_command },
                };
                self.go(move_command).await?;
            }
            Op::Root(summarize) => {
                self.go(MoveCommand { summarize: *summarize, ..MoveCommand::default() }).await?;
            }
            Op::ThereAndBack(to) => self.there_and_back(*to).await?,
            Op::Undo => drop(self.send(ClientCommand::Undo).await),
            Op::Redo => drop(self.send(ClientCommand::Redo).await),
            Op::Compact => drop(self.send(ClientCommand::Compact { focus: None }).await),
            Op::UndoCompaction => drop(self.send(ClientCommand::UndoCompaction { entry: None }).await),
            Op::Graft(tip, summarize) => {
                let Some(tip) = self.entry(*tip) else { return Ok(()) };
                drop(
                    self.send(ClientCommand::Graft {
                        tip: tip.into(),
                        summarize: *summarize,
                        instructions: None,
                    })
                    .await,
                );
            }
            Op::Label(target) => {
                let Some(target) = self.entry(*target) else { return Ok(()) };
                drop(session.label(&target, Some("here")).await);
            }
            Op::Delete(first) => {
                let Some(first) = self.entry(*first) else { return Ok(()) };
                drop(session.delete_branch(&first).await);
            }
            Op::Restore(first) => {
                let Some(first) = self.entry(*first) else { return Ok(()) };
                drop(session.restore_branch(&first).await);
            }
            Op::Reopen => self.reopen().await,
        }
        Ok(())
    }

    /// Moves, and checks that undo and redo lead back and forth.
    async fn go(&self, move_command: MoveCommand) -> Result<(), TestCaseError> {
        let (before, asked) = (self.position(), self.model.requests.lock().unwrap().len());
        let entries = self.harness.session().version().entries;
        let Ok(CommandReply::Moved(moved)) = self.send(ClientCommand::Move(move_command.clone())).await
        else {
            return Ok(());
        };
        let (script, after) = (self.script().await, self.position());
        if script.tree.same_place(before, after) {
            return Ok(());
        }
        let written = script.lines.len() - entries;
        prop_assert_eq!(written, 1 + usize::from(move_command.label.is_some()), "one entry, and a label");
        self.check_summaries_cover_only_the_left_branch(&script, before, &move_command, asked)?;
        prop_assert_eq!(
            moved.summary_entry.is_some(),
            script.tree.head(Seq::new(entries)).kind == EntryKind::BranchSummary
        );
        prop_assert!(self.send(ClientCommand::Undo).await.is_ok());
        let back = self.script().await;
        prop_assert!(
            back.tree.same_place(before, self.position()),
            "undo leads back after {:?}",
            move_command
        );
        prop_assert_eq!(seen(&script, before), seen(&back, self.position()));
        prop_assert!(self.send(ClientCommand::Redo).await.is_ok());
        let forth = self.script().await;
        prop_assert!(
            forth.tree.same_place(after, self.position()),
            "redo leads forth after {:?}",
            move_command
        );
        prop_assert_eq!(seen(&script, after), seen(&forth, self.position()));
        Ok(())
    }

    fn check_summaries_cover_only_the_left_branch(
        &self,
        script: &ScriptedSession,
        before: Place,
        move_command: &MoveCommand,
        asked: usize,
    ) -> Result<(), TestCaseError> {
        let chosen = move_command.target_id.as_deref().and_then(|id| script.tree.find(id));
        let common = script.tree.common_ancestor(before, chosen);
        let common: String = script.tree.path(common).iter().map(|seq| line(script, *seq)).collect();
        let common = words(&common);
        for request in self.model.requests.lock().unwrap()[asked..].iter() {
            prop_assert_eq!(&request.system, summary::SYSTEM_PROMPT);
            let covered = words(&request_text(request));
            let both: Vec<_> = covered.intersection(&common).collect();
            prop_assert!(both.is_empty(), "{:?} is from before the branches diverge", both);
        }
        Ok(())
    }

    async fn there_and_back(&self, to: usize) -> Result<(), TestCaseError> {
        let (here, before) = (self.position(), self.script().await);
        let Some(target) = self.entry(to) else { return Ok(()) };
        let exactly = |target: Option<String>| MoveCommand {
            target_id: target.map(Into::into),
            exact: true,
            ..MoveCommand::default()
        };
        if self.send(ClientCommand::Move(exactly(Some(target)))).await.is_err() {
            return Ok(());
        }
        prop_assert!(self.send(ClientCommand::Move(exactly(self.id(here)))).await.is_ok());
        let after = self.script().await;
        prop_assert_eq!(seen(&before, here), seen(&after, self.position()));
        Ok(())
    }

    /// Invariants after every operation.
    async fn check(&mut self) -> Result<(), TestCaseError> {
        let script = self.script().await;
        let kept = self.lines.iter().zip(&script.lines).all(|(old, new)| old == new);
        prop_assert!(kept && script.lines.len() >= self.lines.len(), "the log is append-only");
        self.lines.clone_from(&script.lines);
        let at = self.position();
        prop_assert!(script.tree.same_place(at, script.tree.leaf()), "reopening ends at the same position");
        let path = script.tree.path(at);
        let alone = ScriptedSession::from_lines(path.iter().map(|seq| &script.lines[seq.index()]));
        prop_assert_eq!(
            seen(&script, at),
            seen(&alone, alone.tree.leaf()),
            "other branches do not affect the request"
        );
        for at in 0..script.tree.len() {
            let id = script.tree.id(Seq::new(at));
            prop_assert_eq!(
                script.tree.find(id.as_str()),
                Some(Seq::new(at)),
                "every entry is found by its id"
            );
        }
        Ok(())
    }

    /// Invariants at the end.
    async fn finish(&mut self) -> Result<(), TestCaseError> {
        for request in self.model.requests.lock().unwrap().iter() {
            prop_assert_eq!(problems(request), [""; 0]);
        }
        let script = self.script().await;
        let file = self.harness.folder.path().join("log.jsonl");
        std::fs::write(&file, script.file()).unwrap();
        prop_assert!(verify(&file).unwrap().is_sound());
        // A process that has only the log sends the same request.
        let again = self.copied(&script.lines).await;
        let word = self.model.word();
        again.begin(ClientCommand::prompt(word.clone())).await.end().await;
        let reloaded = self.model.asked().pop();
        self.harness.begin(ClientCommand::prompt(word)).await.end().await;
        let live = self.model.asked().pop();
        let (live, reloaded) = (live.unwrap(), reloaded.unwrap());
        for api in APIS {
            let (live, reloaded) = (body(&live, api).to_string(), body(&reloaded, api).to_string());
            prop_assert!(live == reloaded, "{}\n{}", live, reloaded);
        }
        Ok(())
    }
}

/// The text of an entry, without text that a note quotes from elsewhere.
fn line(script: &ScriptedSession, seq: Seq) -> String {
    match script.tree.head(seq).kind {
        EntryKind::Message | EntryKind::CustomMessage => {
            String::from_utf8_lossy(&script.lines[seq.index()]).into_owned()
        }
        _ => String::new(),
    }
}

fn check(ops: &[Op]) -> Result<(), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut session = RandomSession::new().await;
        for op in ops {
            session.apply(op).await?;
            session.check().await?;
        }
        session.finish().await
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_operations_keep_all_invariants(ops in prop::collection::vec(op(), 1..20)) {
        check(&ops)?;
    }
}

#[test]
fn random_operations_reach_every_entry_kind() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let kinds = runtime.block_on(async {
        let mut session = RandomSession::new().await;
        for op in [
            Op::Say(vec![vec![ToolUse::Read, ToolUse::Todo]]),
            Op::Say(vec![vec![ToolUse::Read], vec![ToolUse::Back(0)]]),
            Op::Move(4, MoveKind::Summarized),
            Op::Say(Vec::new()),
            Op::Fill,
            Op::Say(Vec::new()),
            Op::Overflow,
            Op::Graft(8, true),
            Op::ThereAndBack(3),
            Op::Move(2, MoveKind::Labeled),
            Op::Delete(5),
        ] {
            session.apply(&op).await.unwrap();
            session.check().await.unwrap();
        }
        session.finish().await.unwrap();
        let script = session.script().await;
        script.tree.heads().iter().map(|(_, head)| head.kind).collect::<Vec<EntryKind>>()
    });
    let count = |kind| kinds.iter().filter(|found| **found == kind).count();
    assert_eq!(
        (count(EntryKind::BranchSummary), count(EntryKind::Compaction), count(EntryKind::Backtrack)),
        (2, 2, 1)
    );
    assert_eq!((count(EntryKind::Label), count(EntryKind::DeleteBranch)), (1, 1));
    assert!(count(EntryKind::Leaf) > 6, "moves, undo and redo");
}
