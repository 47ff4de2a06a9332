//! Draws frames. Extensions are asked for the lines of what is on the screen, and finished output waits briefly for them.

use std::time::Duration;

use osier_protocol::{ClientCommand, ExtensionInput, RenderSubject};
use tokio::time::Instant;

use super::{App, FRAME_INTERVAL, TaskResult};
use crate::error::TuiError;
use crate::floats;
use crate::msg::CommandPurpose;
use crate::piece::{Piece, call_subject, draw_all};
use crate::screen::ScreenOutput;
use crate::view::view;

/// How long finished output waits. Lines that arrive later still change what has not scrolled off.
const RENDER_TIMEOUT: Duration = Duration::from_millis(50);
/// Longer, because the first code loads its grammar.
const COLOR_TIMEOUT: Duration = Duration::from_millis(200);

impl App {
    pub(super) fn draw(&mut self) -> Result<(), TuiError> {
        if std::mem::take(&mut self.clear_screen) {
            self.screen.clear()?;
        }
        self.set_title()?;
        let frame = view(&self.state);
        self.ask_renderers();
        // Finished output waits briefly for the background color and for extensions that draw a part of it.
        let is_held =
            self.background_deadline.is_some() || self.waits_for_renderers() || self.waits_for_colors();
        let output = match is_held {
            true => ScreenOutput::default(),
            false => std::mem::take(&mut self.output),
        };
        self.screen.set_floats(floats::boxes(&self.state));
        self.screen.draw(output, &frame, self.state.render_options(), self.state.is_covered())?;
        self.state.now = self.started.elapsed().as_millis() as u64;
        self.state.note_drawn();
        self.next_frame = Instant::now() + FRAME_INTERVAL;
        self.dirty = self.render_deadline.is_some() || self.color_deadline.is_some();
        self.ask_for_colors();
        Ok(())
    }

    /// Asks for the colors of the code that was drawn without them.
    fn ask_for_colors(&mut self) {
        let answers = self.task_results.clone();
        let answer = move |parts| drop(answers.send(TaskResult::Colors(parts)));
        self.code_worker.highlight(self.state.code.take_requests(), answer);
    }

    /// Whether colors of finished output will arrive soon. What stays on the screen is drawn again then, so only what would
    /// scroll off at once waits.
    fn waits_for_colors(&mut self) -> bool {
        let pieces = &self.output.pieces;
        let is_higher = || {
            draw_all(pieces, self.state.render_options()).len() > self.state.rows
                && self.state.code.is_waiting()
        };
        let now = Instant::now();
        let deadline = self.color_deadline.unwrap_or(now + COLOR_TIMEOUT);
        let waits = !pieces.is_empty() && now < deadline && is_higher();
        self.color_deadline = waits.then_some(deadline);
        waits
    }

    /// Asks for the lines of everything on the screen that an extension draws, once per size.
    fn ask_renderers(&mut self) {
        if self.state.extensions.rendered.is_empty() {
            return;
        }
        let (columns, expanded) = (self.state.columns, self.state.expanded);
        let waiting = self.output.pieces.iter().filter_map(Piece::subject);
        let running = self.state.transcript.pending_calls().iter().map(|call| call_subject(call, None));
        let subjects: Vec<RenderSubject> = self.screen.subjects().chain(waiting).chain(running).collect();
        for subject in subjects {
            if let Some(request) = self.state.extensions.rendered.request(subject, columns, expanded) {
                let command = ClientCommand::ExtensionInput(ExtensionInput::Render(request));
                self.send(command, CommandPurpose::ExtensionInput);
            }
        }
    }

    /// Whether finished output contains something whose lines will arrive soon.
    fn waits_for_renderers(&mut self) -> bool {
        let rendered = &self.state.extensions.rendered;
        let is_awaited = |piece: &Piece| piece.subject().is_some_and(|subject| rendered.is_awaited(&subject));
        if rendered.is_empty() || !self.output.pieces.iter().any(is_awaited) {
            self.render_deadline = None;
            return false;
        }
        let deadline = *self.render_deadline.get_or_insert_with(|| Instant::now() + RENDER_TIMEOUT);
        if Instant::now() >= deadline {
            self.render_deadline = None;
            return false;
        }
        true
    }
}
