//! Lines that extensions draw for messages, entries and calls of tools. A client asks for what it shows; an extension may send
//! newer lines for it at any time.

use std::sync::Arc;

use osier_protocol::{ExtensionEvent, RenderRequest, RenderSubject, RenderTarget, RenderedLines};
use serde::Deserialize;
use serde_json::json;

use super::extension::{Extension, RegisteredTool};
use super::session::SessionExtensions;

/// More than a client shows at once.
const MAX_SUBJECTS: usize = 2_000;

/// New lines of an extension for something that a client asked about.
#[derive(Debug, Deserialize)]
pub(super) struct RenderedParams {
    id: String,
    columns: usize,
    expanded: bool,
    lines: RenderedLines,
}

impl SessionExtensions {
    /// Asks the extension that renders something. The lines arrive as an event, also if it takes long.
    pub(super) fn render(self: &Arc<SessionExtensions>, request: RenderRequest) {
        let id = request.subject.id().to_owned();
        let Some(extension) = self.find_renderer(&request.subject) else {
            let (columns, expanded) = (request.columns, request.expanded);
            return self.show(ExtensionEvent::Rendered {
                id,
                columns,
                expanded,
                lines: RenderedLines::default(),
            });
        };
        {
            let mut facts = self.screen.lock();
            if facts.renderers.len() >= MAX_SUBJECTS {
                facts.renderers.clear();
            }
            facts.renderers.insert(id.clone(), extension.place());
        }
        let session = self.clone();
        tokio::spawn(async move {
            let lines = session.ask_now(&extension, "render", json!(request)).await.unwrap_or_default();
            let (columns, expanded) = (request.columns, request.expanded);
            session.show(ExtensionEvent::Rendered { id, columns, expanded, lines });
        });
    }

    /// The first extension that registered a renderer has it. Other calls are rendered by the extension whose tool it is.
    fn find_renderer(&self, subject: &RenderSubject) -> Option<Arc<Extension>> {
        let (target, name) = match subject {
            RenderSubject::Message { custom_type, .. } => (RenderTarget::Message, custom_type),
            RenderSubject::Entry { custom_type, .. } => (RenderTarget::Entry, custom_type),
            RenderSubject::Tool { name, .. } => (RenderTarget::Tool, name),
        };
        let renders = |extension: &&Arc<Extension>| {
            let renderers = &extension.registrations().renderers;
            renderers.iter().any(|(known, of)| *known == target && of == name)
        };
        let registered = self.running().find(renders).cloned();
        if target == RenderTarget::Tool && registered.is_none() {
            let tool = |extension: &Extension| -> Option<RegisteredTool> {
                extension.registrations().tools.iter().find(|tool| tool.name == *name).cloned()
            };
            let owner = self.running().find_map(|extension| Some((extension, tool(extension)?)));
            return owner.filter(|(_, tool)| tool.renders).map(|(extension, _)| extension.clone());
        }
        registered
    }

    /// Shows lines that an extension drew again by itself. They must be for something that it renders.
    pub(super) fn show_rendered(&self, extension: &Extension, params: RenderedParams) {
        let RenderedParams { id, columns, expanded, lines } = params;
        let is_owner = self.screen.lock().renderers.get(&id) == Some(&extension.place());
        if is_owner {
            self.show(ExtensionEvent::Rendered { id, columns, expanded, lines });
        }
    }
}
