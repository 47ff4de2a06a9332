//! `/settings`: how it is set up.`

use super::Spec;
use crate::msg::Action;
use crate::overlay::Reader;
use crate::state::State;
use crate::text::Line;
use crate::theme::Role;

pub(super) const COMMAND: Spec = Spec {
    name: "settings",
    aliases: &[],
    arguments: "",
    help: "how it is set up, and where to change it",
    run,
};

fn run(state: &mut State, _words: &str) -> Vec<Action> {
    let (setting, facts) = (&state.setting, &state.facts);
    let rows = [
        ("directory", setting.directory.clone()),
        ("store", setting.store.clone()),
        ("model", facts.model.clone()),
        ("thinking", facts.thinking.name().to_owned()),
        ("double escape", format!("{:?}", setting.double_escape).to_lowercase()),
        ("summary on leaving", if setting.never_summarize { "never" } else { "asked" }.to_owned()),
        ("to change them", "osier config".to_owned()),
    ];
    let line = |(name, value): &(&str, String)| {
        Line::of(Role::Dim, &format!("  {name:<20}")).with(Role::Text, value)
    };
    state.overlays.push(Box::new(Reader::new("Settings", rows.iter().map(line).collect())));
    Vec::new()
}
