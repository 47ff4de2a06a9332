//! Picks a task of a sub-agent, to open its session. In the session of a task, the first row leads back.

use osier_protocol::one_line;
use osier_protocol::subagents::TaskPanel;
use osier_protocol::time::Millis;
use osier_protocol::usage::format_tokens;

use super::{ListPicker, ListRow, OverlayOutcome};
use crate::msg::{Action, OpenTarget, TaskList};
use crate::status::format_elapsed;

const MAX_TITLE: usize = 60;
const MAX_NOTE: usize = 400;

/// `None` if there is nothing to open.
pub(crate) fn task_picker(list: TaskList, now: Millis) -> Option<ListPicker> {
    let parent = list.parent.map(|id| {
        let name = "← back to the session that delegated this task".to_owned();
        (ListRow { name, ..ListRow::default() }, id)
    });
    let tasks = list.panels.into_iter().filter_map(|panel| Some((task_row(&panel, now), panel.session_id?)));
    let (rows, sessions): (Vec<ListRow>, Vec<String>) = parent.into_iter().chain(tasks).unzip();
    (!rows.is_empty()).then(|| {
        ListPicker::new("Open a task", rows, move |at| {
            let open = sessions.get(at).map(|id| Action::Open(OpenTarget::Named(id.clone())));
            OverlayOutcome::CloseAndRun(open.into_iter().collect())
        })
    })
}

fn task_row(panel: &TaskPanel, now: Millis) -> ListRow {
    let agent = panel.agent.as_deref().unwrap_or("agent");
    let time = panel.started_at.map(|start| (panel.ended_at.unwrap_or(now) - start).max(0).unsigned_abs());
    let status = if panel.status == "cancelled" { "canceled" } else { &panel.status };
    let tokens = panel.usage.total_tokens;
    let parts = [
        Some(one_line(status, 20)),
        time.map(format_elapsed),
        (tokens > 0).then(|| format!("{} tokens", format_tokens(tokens))),
    ];
    let words = panel.error.as_ref().or(panel.activity.as_ref()).unwrap_or(&panel.summary);
    ListRow {
        name: format!("{}: {}", one_line(agent, 20), one_line(&panel.title, MAX_TITLE)),
        description: parts.into_iter().flatten().collect::<Vec<_>>().join(" · "),
        note: one_line(words, MAX_NOTE),
        ..ListRow::default()
    }
}
