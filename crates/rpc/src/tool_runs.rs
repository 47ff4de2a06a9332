//! The tools that run, with their output so far: pi repeats the arguments and the output in every update.

use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use crate::pi_event::PiEvent;

/// Only the end of a long output is repeated.
const MAX_OUTPUT: usize = 50 << 10;
/// An output up to this size is repeated whenever it grows; a longer one at most this often.
const SHORT_OUTPUT: usize = 4 << 10;
const UPDATE_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Debug, Default)]
pub(crate) struct ToolRuns(FxHashMap<String, ToolRun>);

#[derive(Debug)]
struct ToolRun {
    name: String,
    arguments: Value,
    output: String,
    started: Instant,
    updated: Instant,
    /// Set when the tool has ended.
    duration: Option<Duration>,
}

impl ToolRuns {
    /// Returns false if the call has already started.
    pub(crate) fn start(&mut self, call: &str, name: &str, arguments: &Value) -> bool {
        if let Some(run) = self.0.get_mut(call) {
            // The user has just allowed it.
            run.started = Instant::now();
            return false;
        }
        let now = Instant::now();
        let run = ToolRun {
            name: name.to_owned(),
            arguments: arguments.clone(),
            output: String::new(),
            started: now,
            updated: now,
            duration: None,
        };
        self.0.insert(call.to_owned(), run);
        true
    }

    pub(crate) fn is_started(&self, call: &str) -> bool {
        self.0.contains_key(call)
    }

    pub(crate) fn stop_clock(&mut self, call: &str) {
        if let Some(run) = self.0.get_mut(call) {
            run.duration = Some(run.started.elapsed());
        }
    }

    /// Forgets a call. Returns how long it ran, in milliseconds; `None` if it did not run.
    pub(crate) fn finish(&mut self, call: &str) -> Option<u64> {
        let duration = self.0.remove(call)?.duration?;
        u64::try_from(duration.as_millis()).ok()
    }

    /// Adds output. Returns the update to send, if it is time for one.
    pub(crate) fn add_output<'a>(&'a mut self, call: &'a str, text: &str) -> Option<PiEvent<'a>> {
        let run = self.0.get_mut(call)?;
        run.output.push_str(text);
        if run.output.len() > MAX_OUTPUT {
            let cut = run.output.ceil_char_boundary(run.output.len() - MAX_OUTPUT);
            run.output.drain(..cut);
        }
        if run.output.len() > SHORT_OUTPUT && run.updated.elapsed() < UPDATE_INTERVAL {
            return None;
        }
        run.updated = Instant::now();
        Some(PiEvent::ToolExecutionUpdate {
            tool_call_id: call,
            tool_name: &run.name,
            args: &run.arguments,
            partial_result: json!({ "content": [{ "type": "text", "text": run.output }], "details": {} }),
        })
    }
}
