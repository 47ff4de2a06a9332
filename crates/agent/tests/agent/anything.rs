//! Whatever happens in whatever order: the log stays sound, the path alone decides what the model sees, nobody loses his way
//! back, summaries tell only what is left, and every request is one that its API takes.

use osier_agent::{Command, Navigation, Reply};
use osier_model::Failure;
use osier_model::scripted::Turn;
use osier_store::file::verify;
use osier_testkit::Script;
use osier_tree::{Kind, Place, Seq, summary};
use proptest::prelude::*;
use serde_json::json;

use crate::legal::{APIS, body, wrongs};
use crate::picture::asked_of;
use crate::player::{Talk, seen, words};

#[derive(Debug, Clone)]
enum Op {
    /// Replies that call tools, before one that calls none.
    Say(Vec<Vec<Called>>),
    /// The last reply reports a full window.
    Fill,
    Overflow,
    Fail,
    Move(usize, How),
    Root(bool),
    /// To an entry and back.
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
enum Called {
    Read,
    Todo,
    Nothing,
    Back(i64),
}

#[derive(Debug, Clone, Copy)]
enum How {
    Plain,
    Exact,
    Labelled,
    Summarized,
}

fn op() -> impl Strategy<Value = Op> {
    let called = prop_oneof![
        3 => Just(Called::Read),
        1 => Just(Called::Todo),
        1 => Just(Called::Nothing),
        2 => (0i64..6).prop_map(Called::Back),
    ];
    let how = prop_oneof![Just(How::Plain), Just(How::Exact), Just(How::Labelled), Just(How::Summarized)];
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

impl Talk {
    fn turns(&self, replies: &[Vec<Called>]) -> Vec<Turn> {
        let turn = |calls: &Vec<Called>| {
            calls.iter().fold(Turn::reply(self.player.word()), |turn, call| {
                let id = self.player.word();
                match call {
                    Called::Read => turn.call(id, "read", &json!({ "path": "a.txt" })),
                    Called::Todo => turn.call(id, "todo", &json!({ "items": [] })),
                    Called::Nothing => turn.call(id, "nothing", &json!({})),
                    Called::Back(number) => {
                        let note = self.player.word();
                        turn.call(id, "backtrack", &json!({ "checkpoint_id": number, "note": note }))
                    }
                }
            })
        };
        replies.iter().map(turn).collect()
    }

    /// The id of some entry, if there is one.
    fn entry(&self, at: usize) -> Option<String> {
        let tree = self.desk.session().tree();
        (!tree.is_empty()).then(|| tree.id(Seq::new(at % tree.len())).to_string())
    }

    fn id(&self, place: Place) -> Option<String> {
        place.map(|seq| self.desk.session().tree().id(seq).to_string())
    }

    async fn play(&mut self, op: &Op) -> Result<(), TestCaseError> {
        let session = self.desk.session().clone();
        match op {
            Op::Say(replies) => self.say(self.turns(replies)).await,
            Op::Fill => self.say(vec![Turn::reply(self.player.word()).usage(126_000, 0)]).await,
            Op::Overflow => {
                let failure = Failure::Overflow { needed: None, window: None, said: String::new() };
                self.say(vec![Turn::new().fail(failure)]).await;
            }
            Op::Fail => {
                let failure = Failure::Network { provider: "p".into(), said: "gone".into() };
                self.say(vec![Turn::reply(self.player.word()).fail(failure)]).await;
            }
            Op::Move(to, how) => {
                let Some(target) = self.entry(*to) else { return Ok(()) };
                let wish = Navigation { target: Some(target), ..Navigation::default() };
                let wish = match how {
                    How::Plain => wish,
                    How::Exact => Navigation { exact: true, ..wish },
                    How::Labelled => Navigation { label: Some("x".into()), ..wish },
                    How::Summarized => Navigation { summarize: true, ..wish },
                };
                self.go(wish).await?;
            }
            Op::Root(summarize) => {
                self.go(Navigation { summarize: *summarize, ..Navigation::default() }).await?;
            }
            Op::ThereAndBack(to) => self.there_and_back(*to).await?,
            Op::Undo => drop(self.send(Command::Undo).await),
            Op::Redo => drop(self.send(Command::Redo).await),
            Op::Compact => drop(self.send(Command::Compact { focus: None }).await),
            Op::UndoCompaction => drop(self.send(Command::UndoCompaction { entry: None }).await),
            Op::Graft(tip, summarize) => {
                let Some(tip) = self.entry(*tip) else { return Ok(()) };
                drop(self.send(Command::Graft { tip, summarize: *summarize, instructions: None }).await);
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

    /// Moves, and looks whether undo and redo lead back and forth.
    async fn go(&self, wish: Navigation) -> Result<(), TestCaseError> {
        let (before, asked) = (self.place(), self.player.requests.lock().unwrap().len());
        let entries = self.desk.session().version().entries;
        let Ok(Reply::Navigated(moved)) = self.send(Command::Navigate(wish.clone())).await else {
            return Ok(());
        };
        let (script, after) = (self.script().await, self.place());
        if script.tree.same_place(before, after) {
            return Ok(());
        }
        let written = script.lines.len() - entries;
        prop_assert_eq!(written, 1 + usize::from(wish.label.is_some()), "one entry, and a label");
        self.summaries_tell_only_what_is_left(&script, before, &wish, asked)?;
        prop_assert_eq!(
            moved.summary_entry.is_some(),
            script.tree.head(Seq::new(entries)).kind == Kind::BranchSummary
        );
        prop_assert!(self.send(Command::Undo).await.is_ok());
        let back = self.script().await;
        prop_assert!(back.tree.same_place(before, self.place()), "undo leads back after {:?}", wish);
        prop_assert_eq!(seen(&script, before), seen(&back, self.place()));
        prop_assert!(self.send(Command::Redo).await.is_ok());
        let forth = self.script().await;
        prop_assert!(forth.tree.same_place(after, self.place()), "redo leads forth after {:?}", wish);
        prop_assert_eq!(seen(&script, after), seen(&forth, self.place()));
        Ok(())
    }

    fn summaries_tell_only_what_is_left(
        &self,
        script: &Script,
        before: Place,
        wish: &Navigation,
        asked: usize,
    ) -> Result<(), TestCaseError> {
        let chosen = wish.target.as_deref().and_then(|id| script.tree.find(id));
        let common = script.tree.common_ancestor(before, chosen);
        let common: String = script.tree.path(common).iter().map(|seq| line(script, *seq)).collect();
        let common = words(&common);
        for request in self.player.requests.lock().unwrap()[asked..].iter() {
            prop_assert_eq!(&request.system, summary::SYSTEM);
            let told = words(&asked_of(request));
            let both: Vec<_> = told.intersection(&common).collect();
            prop_assert!(both.is_empty(), "{:?} was said before the branches part", both);
        }
        Ok(())
    }

    async fn there_and_back(&self, to: usize) -> Result<(), TestCaseError> {
        let (here, before) = (self.place(), self.script().await);
        let Some(target) = self.entry(to) else { return Ok(()) };
        let exactly = |target: Option<String>| Navigation { target, exact: true, ..Navigation::default() };
        if self.send(Command::Navigate(exactly(Some(target)))).await.is_err() {
            return Ok(());
        }
        prop_assert!(self.send(Command::Navigate(exactly(self.id(here)))).await.is_ok());
        let after = self.script().await;
        prop_assert_eq!(seen(&before, here), seen(&after, self.place()));
        Ok(())
    }

    /// What holds at any time.
    async fn check(&mut self) -> Result<(), TestCaseError> {
        let script = self.script().await;
        let kept = self.lines.iter().zip(&script.lines).all(|(old, new)| old == new);
        prop_assert!(kept && script.lines.len() >= self.lines.len(), "nothing that was written changes");
        self.lines.clone_from(&script.lines);
        let at = self.place();
        prop_assert!(script.tree.same_place(at, script.tree.leaf()), "who opens it next stands here too");
        let path = script.tree.path(at);
        let alone = Script::of_lines(path.iter().map(|seq| &script.lines[seq.index()]));
        prop_assert_eq!(seen(&script, at), seen(&alone, alone.tree.leaf()), "the path alone decides");
        for at in 0..script.tree.len() {
            let id = script.tree.id(Seq::new(at));
            prop_assert_eq!(script.tree.find(id.as_str()), Some(Seq::new(at)), "every entry can be reached");
        }
        Ok(())
    }

    /// What holds in the end.
    async fn finish(&mut self) -> Result<(), TestCaseError> {
        for request in self.player.requests.lock().unwrap().iter() {
            prop_assert_eq!(wrongs(request), [""; 0]);
        }
        let script = self.script().await;
        let file = self.desk.folder.path().join("log.jsonl");
        std::fs::write(&file, script.file()).unwrap();
        prop_assert!(verify(&file).unwrap().is_sound());
        // A process that has only the log sends what this one sends.
        let again = self.copied(&script.lines).await;
        let word = self.player.word();
        again.begin(Command::prompt(word.clone())).await.end().await;
        let reloaded = self.player.asked().pop();
        self.desk.begin(Command::prompt(word)).await.end().await;
        let live = self.player.asked().pop();
        let (live, reloaded) = (live.unwrap(), reloaded.unwrap());
        for api in APIS {
            let (live, reloaded) = (body(&live, api).to_string(), body(&reloaded, api).to_string());
            prop_assert!(live == reloaded, "{}\n{}", live, reloaded);
        }
        Ok(())
    }
}

/// What an entry says itself. What a note quotes was said elsewhere.
fn line(script: &Script, seq: Seq) -> String {
    match script.tree.head(seq).kind {
        Kind::Message | Kind::CustomMessage => {
            String::from_utf8_lossy(&script.lines[seq.index()]).into_owned()
        }
        _ => String::new(),
    }
}

fn check(ops: &[Op]) -> Result<(), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut talk = Talk::new().await;
        for op in ops {
            talk.play(op).await?;
            talk.check().await?;
        }
        talk.finish().await
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens(ops in prop::collection::vec(op(), 1..20)) {
        check(&ops)?;
    }
}

#[test]
fn the_property_is_about_everything() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let kinds = runtime.block_on(async {
        let mut talk = Talk::new().await;
        for op in [
            Op::Say(vec![vec![Called::Read, Called::Todo]]),
            Op::Say(vec![vec![Called::Read], vec![Called::Back(0)]]),
            Op::Move(4, How::Summarized),
            Op::Say(Vec::new()),
            Op::Fill,
            Op::Say(Vec::new()),
            Op::Overflow,
            Op::Graft(8, true),
            Op::ThereAndBack(3),
            Op::Move(2, How::Labelled),
            Op::Delete(5),
        ] {
            talk.play(&op).await.unwrap();
            talk.check().await.unwrap();
        }
        talk.finish().await.unwrap();
        let script = talk.script().await;
        script.tree.heads().iter().map(|(_, head)| head.kind).collect::<Vec<Kind>>()
    });
    let count = |kind| kinds.iter().filter(|found| **found == kind).count();
    assert_eq!((count(Kind::BranchSummary), count(Kind::Compaction), count(Kind::Backtrack)), (2, 2, 1));
    assert_eq!((count(Kind::Label), count(Kind::DeleteBranch)), (1, 1));
    assert!(count(Kind::Leaf) > 6, "moves, undone and redone");
}
