//! The native functions on which the runtime library is built: synchronous calls, requests, notices, responses, and the clock.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rquickjs::prelude::Func;
use rquickjs::{CaughtError, Ctx, Exception, Object};
use serde_json::value::RawValue;

use super::files::{self, OpenFiles};
use super::stack;
use super::switchboard::Switchboard;
use super::{ExtensionSignals, FrameWriter, commonjs, digest, handler_parameter, process_time, text};
use crate::file_rules::{FileAccess, FileRules};
use crate::frame::{Failure, Frame, Outcome, to_raw};
use crate::inspect::CodeHashes;

/// The state of an extension's runtime that native functions use.
pub(crate) struct RuntimeState {
    number: u32,
    output: FrameWriter,
    signals: Arc<ExtensionSignals>,
    board: Arc<Switchboard>,
    last_id: Cell<u64>,
    wake: Cell<Option<Instant>>,
    started: Instant,
    pub(crate) open_files: OpenFiles,
    /// The files that the extension may use.
    file_rules: RefCell<FileRules>,
    /// The code that was inspected.
    code: RefCell<CodeHashes>,
}

impl RuntimeState {
    pub(crate) fn new(
        number: u32,
        output: FrameWriter,
        signals: Arc<ExtensionSignals>,
        board: Arc<Switchboard>,
    ) -> RuntimeState {
        RuntimeState {
            number,
            output,
            signals,
            board,
            last_id: Cell::new(0),
            wake: Cell::new(None),
            started: Instant::now(),
            open_files: OpenFiles::default(),
            file_rules: RefCell::default(),
            code: RefCell::default(),
        }
    }

    /// Known as soon as the extension is loaded.
    pub(crate) fn set_rules(&self, rules: FileRules, code: CodeHashes) {
        *self.file_rules.borrow_mut() = rules;
        *self.code.borrow_mut() = code;
    }

    /// Fails if a file is not the code to which the user agreed.
    pub(crate) fn check_code(&self, file: &Path, bytes: &[u8]) -> Result<(), String> {
        self.code.borrow().check(file, bytes)
    }

    /// Whether a module waits for something before it has ended.
    pub(crate) fn awaits(&self, file: &Path) -> bool {
        self.code.borrow().awaits(file)
    }

    /// The path to use for a file that an extension names, if this access is granted. Every function of `node:fs` asks here first.
    pub(crate) fn granted(&self, path: &Path, access: FileAccess) -> Result<PathBuf, String> {
        self.file_rules.borrow().granted(path, access)
    }

    /// Like `granted`, for functions that use a link itself and not its target.
    pub(crate) fn granted_link(&self, path: &Path, access: FileAccess) -> Result<PathBuf, String> {
        self.file_rules.borrow().granted_link(path, access)
    }

    /// Fails if a file, without links, is in none of the folders from which modules may be loaded.
    pub(crate) fn check_root(&self, file: &Path) -> Result<(), String> {
        self.file_rules.borrow().check_module(file)
    }

    fn next_id(&self) -> u64 {
        self.last_id.set(self.last_id.get() + 1);
        self.last_id.get()
    }

    /// When the next timer is due. `None` without a timer.
    pub(crate) fn next_wake(&self) -> Option<Instant> {
        self.wake.get()
    }

    pub(crate) fn set_wake(&self, at: Option<Instant>) {
        self.wake.set(at);
    }

    fn send_request(&self, id: u64, method: String, params: &str) {
        let (extension, params) = (self.number, raw(params));
        self.output.send(&Frame::Request { extension, id, method, params });
    }

    pub(crate) fn notice(&self, method: &str, params: Box<RawValue>) {
        self.output.send(&Frame::Notice { extension: self.number, method: method.to_owned(), params });
    }

    pub(crate) fn respond(&self, id: u64, outcome: Outcome) {
        self.output.send(&Frame::Response { extension: self.number, id, outcome });
    }

    /// Reports an error that belongs to no request.
    pub(crate) fn report(&self, failure: &Failure) {
        self.notice("error", to_raw(failure));
    }

    /// Waits for the response to a call.
    fn call(&self, method: String, params: &str) -> Outcome {
        let id = self.next_id();
        self.signals.waiting_for.store(id, Ordering::SeqCst);
        self.send_request(id, method, params);
        let outcome = self.board.call_result(self.number);
        // Waiting is not running.
        self.signals.busy_since.store(process_time(), Ordering::SeqCst);
        outcome
    }

    /// The message and the places of an error.
    pub(crate) fn describe(&self, error: &CaughtError<'_>) -> Failure {
        match error {
            CaughtError::Exception(exception) => Failure {
                message: exception.message().unwrap_or_default(),
                stack: stack::places(&exception.stack().unwrap_or_default()),
            },
            CaughtError::Error(error) => Failure::new(error.to_string()),
            CaughtError::Value(value) => {
                Failure::new(value.as_string().and_then(|text| text.to_string().ok()).unwrap_or_default())
            }
        }
    }

    /// Fails a request, because the runtime could not start.
    pub(crate) fn report_broken(&self, error: &str, frame: &Frame) {
        if let Frame::Request { id, .. } = frame {
            let message = format!("cannot start a JavaScript runtime: {error}");
            self.respond(*id, Outcome::Failed(Failure::new(message)));
        }
    }
}

/// JSON text of the library. It comes from `JSON.stringify`, so it is valid.
fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap_or_else(|_| crate::frame::null())
}

/// Makes the primitives available to the library, which removes them from the global object.
pub(super) fn install<'js>(ctx: &Ctx<'js>, state: &Rc<RuntimeState>) -> rquickjs::Result<()> {
    let native = Object::new(ctx.clone())?;
    install_messages(&native, state)?;
    install_clock(&native, state)?;
    commonjs::install(&native, state)?;
    files::install(ctx, &native, state)?;
    text::install(ctx, &native)?;
    digest::install(&native)?;
    native.set("place", Func::from(|stack: String| stack::places(&stack).into_iter().next()))?;
    native.set("isContext", Func::from(|handler: String| handler_parameter::is_context(&handler)))?;
    ctx.globals().set("__native", native)
}

fn install_messages(native: &Object<'_>, state: &Rc<RuntimeState>) -> rquickjs::Result<()> {
    let own = state.clone();
    let call = move |ctx: Ctx<'_>, method: String, params: String| match own.call(method, &params) {
        Outcome::Done(value) => Ok(value.get().to_owned()),
        Outcome::Failed(failure) => Err(Exception::throw_message(&ctx, &failure.message)),
    };
    native.set("call", Func::from(call))?;
    let own = state.clone();
    let request = move |method: String, params: String| {
        let id = own.next_id();
        own.send_request(id, method, &params);
        id as f64
    };
    native.set("request", Func::from(request))?;
    let own = state.clone();
    native
        .set("notice", Func::from(move |method: String, params: String| own.notice(&method, raw(&params))))?;
    let own = state.clone();
    let respond = move |id: f64, value: String| own.respond(id as u64, Outcome::Done(raw(&value)));
    native.set("respond", Func::from(respond))?;
    let own = state.clone();
    let fail = move |id: f64, message: String, stack: String| {
        own.respond(id as u64, Outcome::Failed(Failure { message, stack: stack::places(&stack) }));
    };
    native.set("fail", Func::from(fail))?;
    let own = state.clone();
    let report = move |message: String, stack: String| {
        own.report(&Failure { message, stack: stack::places(&stack) });
    };
    native.set("report", Func::from(report))?;
    let own = state.clone();
    let cancel = move |id: f64| own.output.send(&Frame::Cancel { extension: own.number, id: id as u64 });
    native.set("cancel", Func::from(cancel))
}

fn install_clock(native: &Object<'_>, state: &Rc<RuntimeState>) -> rquickjs::Result<()> {
    let own = state.clone();
    // Milliseconds since the start; negative for never.
    let wake = move |at: f64| {
        let time = Duration::try_from_secs_f64(at / 1000.0).ok();
        own.set_wake(time.and_then(|time| own.started.checked_add(time)));
    };
    native.set("wake", Func::from(wake))?;
    let own = state.clone();
    native.set("now", Func::from(move || own.started.elapsed().as_secs_f64() * 1000.0))
}
