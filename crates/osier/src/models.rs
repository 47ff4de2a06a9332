//! `osier models`: lists the available models and what the others need. Asks configured servers for their models.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use osier_model::{Api, ModelRouter, Provider};
use osier_settings::model_list::{DiscoveryResults, ModelRow, discover_models, model_rows};

use crate::home::Home;
use crate::layout::{pad_left, pad_right, sanitize_line, width};
use crate::output_writer::{OutputWriter, TextStyle, notice};
use crate::trust;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier models              models that you can use now
  osier models --all        all models, and what is missing to use them
  osier models opus

Servers with a base_url in your settings are asked for their models; with --all also the usual local servers:
Ollama, llama.cpp, LM Studio and vLLM.
Prints the name, context window, maximum output, dollars per million input and output tokens, and capabilities.
A star marks the default model.")]
pub(crate) struct Args {
    /// Only models whose name contains all these words
    filter: Vec<String>,
    /// Include models that are not set up, with what is missing
    #[arg(long)]
    all: bool,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    trust::print_untrusted(home);
    let models = Arc::new(home.settings.model_router(home.environment()));
    for problem in models.registry().problems() {
        notice(&format!("osier: {problem}"));
    }
    let discovered = discover_models(&models, args.all, home).await;
    let mut rows = model_rows(&models, &discovered, home);
    rows.retain(|row| (args.all || row.usable) && matches_filter(row, &args.filter));
    let mut out = OutputWriter::new();
    if args.json {
        out.json(&rows)?;
        return out.finish();
    }
    write_table(&rows, &mut out)?;
    if args.all && args.filter.is_empty() {
        for line in unlisted_providers(&models, &discovered, home) {
            out.line(&out.paint(TextStyle::Dim, &line))?;
        }
    }
    let code = out.finish()?;
    show_notices(&rows, &args, &discovered, home);
    Ok(code)
}

fn matches_filter(row: &ModelRow, words: &[String]) -> bool {
    let name = format!("{} {}", row.full_name, row.model.name).to_lowercase();
    words.iter().all(|word| name.contains(&word.to_lowercase()))
}

fn capabilities(row: &ModelRow) -> String {
    let model = &row.model;
    let can = [(model.tools, "tools"), (model.images, "images"), (model.thinking.can_think(), "thinking")];
    let can: Vec<&str> = can.into_iter().filter_map(|(can, word)| can.then_some(word)).collect();
    can.join(" ")
}

fn cells(row: &ModelRow) -> [String; 5] {
    let price = |dollars: f64| if dollars > 0.0 { format!("{dollars}") } else { "-".to_owned() };
    let model = &row.model;
    [
        sanitize_line(&row.full_name),
        format_tokens(model.context_window),
        format_tokens(model.max_output),
        price(model.price.input),
        price(model.price.output),
    ]
}

fn format_tokens(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => format!("{}k", tokens / 1_000),
        _ => format!("{}M", (tokens as f64 / 10_000.0).round() / 100.0),
    }
}

fn write_table(rows: &[ModelRow], out: &mut OutputWriter) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let head = ["model", "window", "output", "$ in", "$ out"].map(str::to_owned);
    let cells: Vec<[String; 5]> = std::iter::once(head).chain(rows.iter().map(cells)).collect();
    let widths: [usize; 5] =
        std::array::from_fn(|at| cells.iter().map(|row| width(&row[at])).max().unwrap_or(0));
    let line = |row: &[String; 5]| {
        let others: Vec<String> = (1..5).map(|at| pad_left(&row[at], widths[at])).collect();
        format!("{}  {}", pad_right(&row[0], widths[0]), others.join("  "))
    };
    out.line(&out.paint(TextStyle::Dim, &format!("  {}  can", line(&cells[0]))))?;
    for (row, cells) in rows.iter().zip(&cells[1..]) {
        let star = if row.default { "* " } else { "  " };
        let missing =
            row.missing.as_ref().map(|missing| format!("  ({})", sanitize_line(missing))).unwrap_or_default();
        let text = format!("{}  {}", line(cells), capabilities(row));
        let text = if row.usable { text } else { out.paint(TextStyle::Dim, &text) };
        out.line(&format!(
            "{}{text}{}",
            out.paint(TextStyle::Active, star),
            out.paint(TextStyle::Error, &missing)
        ))?;
    }
    Ok(())
}

/// Notices below the list: servers that do not respond, and how to get more models.
fn show_notices(rows: &[ModelRow], args: &Args, discovered: &DiscoveryResults, home: &Home) {
    for (provider, reason) in discovered.iter().filter_map(|(id, answer)| Some((id, answer.as_ref().err()?)))
    {
        if home.settings.providers.contains_key(provider) {
            notice(&format!(
                "osier: {} is not responding: {}",
                sanitize_line(provider),
                sanitize_line(reason)
            ));
        }
    }
    if rows.is_empty() {
        notice(if args.all {
            "no matching model"
        } else {
            "no matching model; --all includes models that are not set up"
        });
    } else if !args.all
        && home.settings.providers.is_empty()
        && rows.iter().all(|row| row.model.api == Api::Offline)
    {
        notice("no API key or server is configured; --all lists all models and what they need");
    }
}

/// Providers without a list of models: any model of theirs can be chosen as `provider/id`.
fn unlisted_providers(models: &ModelRouter, discovered: &DiscoveryResults, home: &Home) -> Vec<String> {
    let registry = models.registry();
    let is_listed = |provider: &Provider| {
        let answered = discovered
            .get(&provider.id)
            .is_some_and(|answer| answer.as_ref().is_ok_and(|has| !has.is_empty()));
        answered || registry.models().iter().any(|model| model.provider == provider.id)
    };
    let unlisted = registry.providers().filter(|provider| provider.any_model && !is_listed(provider));
    let state = |provider: &Provider| match discovered.get(&provider.id) {
        Some(Ok(_)) => "its server has no models".to_owned(),
        Some(Err(_)) => "its server is not responding".to_owned(),
        None => {
            provider.key.check_configured(&home.environment()).err().unwrap_or_else(|| "ready".to_owned())
        }
    };
    let line = |provider: &Arc<Provider>| {
        sanitize_line(&format!("  {}/…  any model of {}  ({})", provider.id, provider.name, state(provider)))
    };
    unlisted.map(line).collect()
}
