//! One extension: its QuickJS runtime, and the loop that gives it frames and wakes it for timers.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rquickjs::{CatchResultExt, Context, Ctx, Function, Module, Persistent, Runtime};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::loader::ModuleLoader;
use super::primitives::{self, RuntimeState};
use super::resolve::ModuleResolver;
use super::switchboard::{NextFrame, Switchboard};
use super::{ExtensionSignals, FrameWriter, process_time};
use crate::file_rules::FileRules;
use crate::frame::{Failure, Frame, Outcome};
use crate::inspect::CodeHashes;

/// The memory of one extension.
const MEMORY_LIMIT: usize = 256 << 20;
/// The stack of JavaScript code, half of the thread's.
const STACK_LIMIT: usize = super::THREAD_STACK / 2;

/// What a message to the runtime library is. The numbers are those of `runtime/primitives.js`.
#[derive(Debug, Clone, Copy)]
enum MessageKind {
    Request = 0,
    Notice = 1,
    Done = 2,
    Failed = 3,
    Cancel = 4,
    Wake = 5,
}

/// Runs an extension until no more frames can arrive.
pub(super) fn run(
    number: u32,
    output: &FrameWriter,
    signals: Arc<ExtensionSignals>,
    board: &Arc<Switchboard>,
) {
    let state = Rc::new(RuntimeState::new(number, output.clone(), signals.clone(), board.clone()));
    let extension = ExtensionRuntime::new(&state, signals);
    loop {
        match (board.next(number, state.next_wake()), &extension) {
            (NextFrame::Frame(frame), Ok(extension)) => extension.receive(frame),
            (NextFrame::Timeout, Ok(extension)) => extension.wake(),
            (NextFrame::Frame(frame), Err(error)) => state.report_broken(error, &frame),
            (NextFrame::Timeout, Err(_)) => state.set_wake(None),
            (NextFrame::End, _) => break,
        }
    }
}

/// The parameters of `load` that concern Rust.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LoadParams {
    file_rules: FileRules,
    code: CodeHashes,
}

struct ExtensionRuntime {
    // The order matters: a function must be dropped before its runtime.
    dispatch: Persistent<Function<'static>>,
    context: Context,
    runtime: Runtime,
    state: Rc<RuntimeState>,
    signals: Arc<ExtensionSignals>,
}

impl ExtensionRuntime {
    fn new(state: &Rc<RuntimeState>, signals: Arc<ExtensionSignals>) -> Result<ExtensionRuntime, String> {
        let runtime = Runtime::new().map_err(|error| error.to_string())?;
        runtime.set_memory_limit(MEMORY_LIMIT);
        runtime.set_max_stack_size(STACK_LIMIT);
        let stop = signals.clone();
        // The signal stays set until the code has ended, so that `finally` blocks cannot run on.
        runtime.set_interrupt_handler(Some(Box::new(move || stop.interrupt.load(Ordering::Relaxed))));
        runtime.set_loader(ModuleResolver::new(state.clone()), ModuleLoader::new(state.clone()));
        let context = Context::full(&runtime).map_err(|error| error.to_string())?;
        let dispatch =
            context.with(|ctx| start_library(&ctx, state).catch(&ctx).map_err(|error| error.to_string()))?;
        let extension = ExtensionRuntime { dispatch, context, runtime, state: state.clone(), signals };
        extension.run_jobs();
        Ok(extension)
    }

    fn receive(&self, frame: Frame) {
        if let Frame::Request { method, params, .. } = &frame
            && method == "load"
        {
            self.prepare(params);
        }
        let (kind, id, method, text) = match &frame {
            Frame::Request { id, method, params, .. } => {
                (MessageKind::Request, *id, method.as_str(), params.get())
            }
            Frame::Notice { method, params, .. } => (MessageKind::Notice, 0, method.as_str(), params.get()),
            Frame::Response { id, outcome: Outcome::Done(value), .. } => {
                (MessageKind::Done, *id, "", value.get())
            }
            Frame::Response { id, outcome: Outcome::Failed(failure), .. } => {
                (MessageKind::Failed, *id, "", failure.message.as_str())
            }
            Frame::Cancel { id, .. } => (MessageKind::Cancel, *id, "", ""),
            Frame::Hello { .. } | Frame::Interrupt { .. } => return,
        };
        let failed = self.dispatch(kind, id, method, text);
        if let (Some(failure), Frame::Request { id, .. }) = (failed, &frame) {
            self.state.respond(*id, Outcome::Failed(failure));
        }
    }

    /// Takes the rules out of the parameters of `load` before any code of the extension runs. JavaScript never sees them.
    fn prepare(&self, params: &RawValue) {
        // Without rules, nothing is granted.
        let params: LoadParams = serde_json::from_str(params.get()).unwrap_or_default();
        self.state.set_rules(params.file_rules, params.code);
    }

    fn wake(&self) {
        self.state.set_wake(None);
        self.dispatch(MessageKind::Wake, 0, "", "");
    }

    /// Gives a message to the library, and runs everything that follows from it. Returns why it failed.
    fn dispatch(&self, kind: MessageKind, id: u64, method: &str, text: &str) -> Option<Failure> {
        self.signals.interrupt.store(false, Ordering::Relaxed);
        self.signals.busy_since.store(process_time(), Ordering::SeqCst);
        let failed = self.context.with(|ctx| {
            let dispatch = self.dispatch.clone().restore(&ctx).ok()?;
            let called = dispatch.call::<_, ()>((kind as u8, id as f64, method, text));
            called.catch(&ctx).err().map(|error| self.state.describe(&error))
        });
        if let Some(failure) = &failed {
            self.state.report(failure);
        }
        self.run_jobs();
        self.signals.busy_since.store(0, Ordering::SeqCst);
        failed
    }

    fn run_jobs(&self) {
        loop {
            match self.runtime.execute_pending_job() {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    let failure = error.0.with(|ctx| {
                        let error = rquickjs::CaughtError::from_error(&ctx, rquickjs::Error::Exception);
                        self.state.describe(&error)
                    });
                    self.state.report(&failure);
                }
            }
            if self.signals.interrupt.swap(false, Ordering::Relaxed) {
                self.state.report(&Failure::new("it was interrupted"));
            }
        }
    }
}

/// Evaluates the runtime library and returns the function that takes messages.
fn start_library<'js>(
    ctx: &Ctx<'js>,
    state: &Rc<RuntimeState>,
) -> rquickjs::Result<Persistent<Function<'static>>> {
    primitives::install(ctx, state)?;
    let source = super::runtime_library::source("osier:main.js").unwrap_or_default();
    let (module, promise) = Module::declare(ctx.clone(), "osier:main.js", source)?.eval()?;
    promise.finish::<()>()?;
    let dispatch: Function<'js> = module.get("dispatch")?;
    Ok(Persistent::save(ctx, dispatch))
}
