//! `write`: creates or replaces a whole file.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::change::{Old, Planned};
use super::spec;
use crate::arguments::parse;
use crate::blocking::{self, Result};
use crate::context::ToolContext;
use crate::filetext::{BOM, FileText, with_crlf};
use crate::outcome::ToolOutcome;
use crate::paths::Place;
use crate::port::{Kind, Preview, Tool, ToolSpec};
use crate::save::lock;
use crate::seen::Knowledge;
use crate::size;

const NAME: &str = "write";
const DESCRIPTION: &str = "Writes a whole file: creates it with any missing folders, or replaces its content. The old \
    content is lost, so read an existing file first. To change part of a file, use edit.";

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// The file, relative to the project or absolute.
    path: String,
    /// The full content of the file.
    content: String,
}

/// The `write` tool.
#[derive(Debug)]
pub(crate) struct Write;

#[async_trait]
impl Tool for Write {
    fn spec(&self) -> ToolSpec {
        spec::<Arguments>(NAME, Kind::Writes, DESCRIPTION)
    }

    async fn preview(&self, arguments: &Value, ctx: &ToolContext) -> Result<Preview> {
        let arguments = parse::<Arguments>(NAME, arguments)?;
        blocking::look(ctx, move |ctx| Ok(plan(place(&arguments, ctx)?, &arguments, ctx)?.preview())).await
    }

    async fn run(&self, arguments: Value, ctx: &ToolContext) -> ToolOutcome {
        let write = async {
            let arguments = parse::<Arguments>(NAME, &arguments)?;
            blocking::change(ctx, move |ctx| write(&arguments, ctx)).await
        };
        write.await.unwrap_or_else(|failure| failure)
    }
}

fn write(arguments: &Arguments, ctx: &ToolContext) -> Result {
    let place = place(arguments, ctx)?;
    let _one_at_a_time = lock(&place.real);
    let planned = plan(place, arguments, ctx)?;
    let verb = if planned.old.is_none() { "created" } else { "wrote" };
    let lines = size::count(arguments.content.lines().count(), "line", "lines");
    let mut text =
        format!("{verb} {} ({lines}, {})", planned.place.shown, size::bytes(planned.new.len() as u64));
    if planned.new.len() > arguments.content.len() {
        text.push_str("\nkept the file's line endings (CRLF) or byte order mark");
    }
    planned.make(&text, ctx)
}

fn place(arguments: &Arguments, ctx: &ToolContext) -> Result<Place> {
    if arguments.path.ends_with('/') {
        let text = format!("{} ends with `/`: give a file name; missing folders are created", arguments.path);
        return Err(ToolOutcome::failed(text));
    }
    Place::of(ctx, &arguments.path)
}

fn plan(place: Place, arguments: &Arguments, ctx: &ToolContext) -> Result<Planned> {
    let old = Old::of(&place, ctx)?;
    let new = match &old {
        None => arguments.content.clone().into_bytes(),
        Some(old) => {
            known(&place, old, ctx)?;
            in_the_form_of(old, &arguments.content)
        }
    };
    Ok(Planned::new(place, old, new))
}

fn known(place: &Place, old: &Old, ctx: &ToolContext) -> Result<()> {
    let name = &place.shown;
    match old.knowledge(place, ctx) {
        Knowledge::Current => Ok(()),
        Knowledge::Unseen => Err(ToolOutcome::failed(format!(
            "{name} exists and you have not read it; read it first, or use edit to change part of it"
        ))),
        Knowledge::Stale => Err(ToolOutcome::failed(format!(
            "{name} changed since you last saw it; read it again, then write"
        ))),
    }
}

/// Restores CRLF and the byte order mark of the old file, because `read` hides them from the model.
fn in_the_form_of(old: &Old, content: &str) -> Vec<u8> {
    let text = FileText::new(&old.bytes);
    let mut new = Vec::new();
    if text.has_bom() && !content.as_bytes().starts_with(BOM) {
        new.extend_from_slice(BOM);
    }
    match text.only_crlf() && !content.contains('\r') {
        true => new.extend(with_crlf(content.as_bytes())),
        false => new.extend_from_slice(content.as_bytes()),
    }
    new
}
