//! Hooks: extensions that decide about operations before they happen, for every caller.
//!
//! Any number of hooks is registered, and they are asked in that order. Each sees what the hooks before it changed. The
//! first refusal ends the operation, which then does nothing; later hooks are not asked. A hook that returns its default
//! decision has no opinion. A hook that does not answer in time counts as its [`OnTimeout`] says.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use osier_agent::Gates;
use osier_agent::gates::{CompactDecision, CompactPreparation, TreeDecision, TreePreparation};
use osier_model::CancellationToken;

/// A hook and how long it may take.
#[derive(Debug, Clone)]
pub struct Hook {
    pub gates: Arc<dyn Gates>,
    pub timeout: Duration,
    pub on_timeout: OnTimeout,
}

/// What a hook that does not answer in time means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnTimeout {
    /// The hook has no opinion.
    #[default]
    Allow,
    /// The hook refuses the operation. For hooks that protect something.
    Refuse,
}

/// All hooks, in order.
#[derive(Debug, Clone, Default)]
pub struct Hooks(Vec<Hook>);

impl Hooks {
    pub fn new(hooks: Vec<Hook>) -> Hooks {
        Hooks(hooks)
    }
}

impl Hook {
    /// The answer of the hook; `refusal` if it is late and that means so.
    async fn ask<T: Default>(&self, answer: impl Future<Output = T> + Send, refusal: T) -> T {
        match (tokio::time::timeout(self.timeout, answer).await, self.on_timeout) {
            (Ok(answer), _) => answer,
            (Err(_), OnTimeout::Allow) => T::default(),
            (Err(_), OnTimeout::Refuse) => refusal,
        }
    }

    async fn allows(&self, answer: impl Future<Output = bool> + Send) -> bool {
        let late = self.on_timeout == OnTimeout::Allow;
        tokio::time::timeout(self.timeout, answer).await.unwrap_or(late)
    }
}

#[async_trait]
impl Gates for Hooks {
    async fn before_tree(&self, preparation: &TreePreparation, cancel: &CancellationToken) -> TreeDecision {
        let (mut preparation, mut decision) = (preparation.clone(), TreeDecision::default());
        for hook in &self.0 {
            let refusal = TreeDecision { cancel: true, ..TreeDecision::default() };
            let answer = hook.ask(hook.gates.before_tree(&preparation, cancel), refusal).await;
            if answer.cancel {
                return answer;
            }
            decision = TreeDecision {
                cancel: false,
                summary: answer.summary.or(decision.summary),
                custom_instructions: answer.custom_instructions.or(decision.custom_instructions),
                replace_instructions: answer.replace_instructions.or(decision.replace_instructions),
                label: answer.label.or(decision.label),
            };
            apply(&decision, &mut preparation);
        }
        decision
    }

    async fn before_compact(
        &self,
        preparation: &CompactPreparation,
        cancel: &CancellationToken,
    ) -> CompactDecision {
        let mut decision = CompactDecision::default();
        for hook in &self.0 {
            let refusal = CompactDecision { cancel: true, ..CompactDecision::default() };
            let answer = hook.ask(hook.gates.before_compact(preparation, cancel), refusal).await;
            if answer.cancel {
                return answer;
            }
            decision.compaction = answer.compaction.or(decision.compaction);
        }
        decision
    }

    async fn before_fork(&self, entry: Option<&str>) -> bool {
        for hook in &self.0 {
            if !hook.allows(hook.gates.before_fork(entry)).await {
                return false;
            }
        }
        true
    }

    async fn before_switch(&self, file: Option<&str>) -> bool {
        for hook in &self.0 {
            if !hook.allows(hook.gates.before_switch(file)).await {
                return false;
            }
        }
        true
    }
}

/// Changes a move as the hooks so far decided.
fn apply(decision: &TreeDecision, preparation: &mut TreePreparation) {
    let TreeDecision { custom_instructions, replace_instructions, label, .. } = decision.clone();
    preparation.custom_instructions = custom_instructions.or(preparation.custom_instructions.take());
    preparation.replace_instructions = replace_instructions.unwrap_or(preparation.replace_instructions);
    preparation.label = label.or(preparation.label.take());
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::Mutex;

    use super::*;

    /// Records the operations it gets, and returns the configured decision.
    #[derive(Debug, Default)]
    struct TestHook {
        label: Option<String>,
        refuses: bool,
        hangs: bool,
        asked: Mutex<Vec<String>>,
    }

    #[async_trait]
    impl Gates for TestHook {
        async fn before_tree(&self, preparation: &TreePreparation, _: &CancellationToken) -> TreeDecision {
            self.asked.lock().unwrap().push(format!("label {:?}", preparation.label));
            if self.hangs {
                pending::<()>().await;
            }
            TreeDecision { cancel: self.refuses, label: self.label.clone(), ..TreeDecision::default() }
        }
    }

    fn hook(gates: &Arc<TestHook>, on_timeout: OnTimeout) -> Hook {
        Hook { gates: gates.clone(), timeout: Duration::from_secs(5), on_timeout }
    }

    async fn before_tree(hooks: Vec<Hook>) -> TreeDecision {
        Hooks::new(hooks).before_tree(&TreePreparation::default(), &CancellationToken::new()).await
    }

    #[tokio::test]
    async fn each_hook_sees_what_the_one_before_it_changed() {
        let labels = TestHook { label: Some("good".to_owned()), ..TestHook::default() };
        let (first, second) = (Arc::new(labels), Arc::new(TestHook::default()));
        let decision =
            before_tree(vec![hook(&first, OnTimeout::Allow), hook(&second, OnTimeout::Allow)]).await;
        assert_eq!(decision.label.as_deref(), Some("good"));
        assert_eq!(*first.asked.lock().unwrap(), ["label None"]);
        assert_eq!(*second.asked.lock().unwrap(), ["label Some(\"good\")"]);
    }

    #[tokio::test]
    async fn after_a_refusal_no_other_hook_is_asked() {
        let refusing = TestHook { refuses: true, ..TestHook::default() };
        let (first, second) = (Arc::new(refusing), Arc::new(TestHook::default()));
        let decision =
            before_tree(vec![hook(&first, OnTimeout::Allow), hook(&second, OnTimeout::Allow)]).await;
        assert!(decision.cancel);
        assert!(second.asked.lock().unwrap().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_late_hook_allows_or_refuses_as_registered() {
        let late = Arc::new(TestHook { hangs: true, ..TestHook::default() });
        assert!(!before_tree(vec![hook(&late, OnTimeout::Allow)]).await.cancel);
        assert!(before_tree(vec![hook(&late, OnTimeout::Refuse)]).await.cancel);
    }
}
