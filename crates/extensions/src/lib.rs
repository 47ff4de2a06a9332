//! Extensions in TypeScript: files written for pi run here, in processes of their own.
//!
//! An extension is a file with `export default function (pi) { … }`. Its process is this program again, started with
//! [`child::COMMAND`]: one thread and one QuickJS runtime per extension. It has no environment variables, keys, settings,
//! sessions or logs; everything goes through the protocol in [`frame`]. Nothing is started or read for a session without
//! extensions.
//!
//! # What goes where
//!
//! | subject | Osier's side | the process | JavaScript, in `runtime/` |
//! |---|---|---|---|
//! | frames: request, notice, response, cancel | `frame.rs`, `host/process.rs`, `host/launcher.rs` | `child.rs`, `child/primitives.rs` | `primitives.js` |
//! | loading and lifetime | `source.rs`, `host.rs`, `host/session.rs` | `child/runtime.rs`, `child/loader.rs`, `child/resolve.rs`, `child/commonjs.rs` | `main.js`, `commonjs.js` |
//! | TypeScript and stack traces | | `child/strip.rs`, `child/stack.rs` | |
//! | time limits, stuck code | `host/extension.rs` | `child/runtime.rs` (interrupts) | |
//! | gates and events | `host/hook.rs` and `host/turn_gates.rs` (one method per gate), `host/events.rs` (how answers combine), `host/observed.rs` | | `events.js` (one adapter per event) |
//! | registrations and actions (`pi`) | `host/extension.rs` (what is registered), `host/calls.rs` | | `api.js` |
//! | the context (`ctx`), its session manager and model registry | `host/session_calls.rs` | | `context.js`, `session.js`, `models.js` |
//! | the user interface (`ctx.ui`) | `host/ui_calls.rs`, `host/screen.rs`, `host/editor_calls.rs`, `host/renderers.rs` | | `ui.js`, `theme.js`, `screen.js` (what is drawn), `overlays.js`, `editor.js`, `renderers.js` |
//! | tools | `host/toolbox.rs` | | `tools.js` |
//! | programs | `host/exec.rs`, `host/programs.rs` | | `api.js`, `node/child_process.js` |
//! | models | `host/model_calls.rs`, `host/providers.rs`, `host/provider_stream.rs` | | `models.js`, `providers.js`, `modules/pi-ai.js` |
//! | extensions in Node | `host/node.rs` | `child/helper.rs` | `sidecar/`: `start.js` runs first, `loader.js` finds modules |
//! | flags | `host/flags.rs` | | `api.js` |
//! | sessions that extensions open, and branches | `host/replacement.rs`, `host/branching.rs` | | `context.js`, `lifetime.js`, `session.js` |
//! | files, hashes, text and Markdown | | `child/files.rs`, `child/digest.rs`, `child/text.rs`, `child/markdown.rs` | `node/`, `modules/pi-tui/` |
//! | requests over the network | `host/fetch.rs` | | `node/fetch.js` |
//! | grants | `grants.rs`; `ExtensionCall::require(Grant)` before anything outside the process | `file_rules.rs`; `RuntimeState::granted(path, access)` before a file is used | |
//! | types for editors, `osier.d.ts` | `types.rs`, from Rust types and `types/` | | |
//! | globals | | | `globals.js`, `timers.js`, `abort.js`, `console.js` |
//! | modules of pi, TypeBox and Node | | `child/runtime_library.rs` has the list | `modules/`, `node/` |
//!
//! # Methods
//!
//! Osier asks an extension: `load`, `ping`, `event`, `command`, `completions`, `tool`, `shortcut`, `provider.stream`; it sends the notice `bus`.
//! An extension registers with the notices `on`, `off`, `registerCommand`, `registerTool`, `registerShortcut`, `registerFlag`,
//! `registerProvider`, `bus.on`; shows with `ui.show`, `log`, `error`, `tool.update`; and asks with everything in `host/calls.rs` and
//! `host/session_calls.rs`. A new method is one arm there and one function in `runtime/`.
//!
//! # Rules
//!
//! - Functions of `node:fs` run in the process, on the path that `RuntimeState::granted` or `granted_link` returns. Programs and the
//!   network are reached only through Osier, which checks the grant; the process itself can open no socket and start no program.
//! - Extensions are one [`osier_agent::hooks::Hook`] of the engine, so they are asked whoever the caller is. Handlers run in the
//!   order of loading, then of registration. Osier asks one handler at a time and combines the answers.
//! - The session of an extension is read from a mirror in its process, which asks for new lines only.
//! - A synchronous call must never wait for something that waits for the extension: its thread stands still.
//! - Everything that an extension sends is untrusted: frames are bounded, values are checked, wrong shapes are reported.

pub mod child;
mod file_rules;
pub mod frame;
mod grants;
mod host;
mod inspect;
mod source;
mod types;

pub use file_rules::{FileAccess, FileRules};
pub use grants::{Grant, Grants};
pub use host::{
    ExtensionHost, ExtensionLauncher, ExtensionMode, ExtensionOptions, FlagValues, confinement_in_force,
    inspect_in_process,
};
pub use inspect::{ExtensionManifest, FlagKind};
pub use source::{
    ExtensionCatalog, ExtensionOrigin, ExtensionSource, GrantDecision, entry_files, find_extensions,
};
pub use types::TYPES;
