//! `export`: writes the path as Markdown, JSON or JSONL (a session file of its own), or the session as an HTML page.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use osier_engine::{ExportFile, ExportFormat};

use crate::failure::usage_error;
use crate::home::Home;
use crate::layout::sanitize_line;
use crate::output_writer::OutputWriter;
use crate::target;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions export 4f89da11 > talk.md
  osier sessions export 4f89da11 --output talk.html
  osier sessions export 4f89da11 --output path.jsonl
  osier sessions export x.jsonl --format json --at ade7f3fb

Prints the whole path, including what a compaction hides from the model. md is for reading, json has the same content for \
programs, and jsonl is a session file with only this path, which Osier and pi can open. html is one page with all \
branches and the tree, which needs no network.")]
pub(crate) struct Args {
    /// Session: the first characters of its id, or a .jsonl file
    session: String,
    /// Output format [default: by the extension of the output file, else md]
    #[arg(long, short, value_enum)]
    format: Option<FormatArg>,
    /// Last entry of the path [default: the current position]
    #[arg(long, value_name = "ENTRY")]
    at: Option<String>,
    /// Write to this file, which must not exist, instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, clap::ValueEnum)]
enum FormatArg {
    Md,
    Jsonl,
    Json,
    Html,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let format = export_format(&args)?;
    let stored = target::find(home, &args.session).await?;
    let mut output = ExportOutput::new(&args)?;
    home.engine.write_export(&stored, args.at.as_deref(), format, |bytes| output.write(bytes)).await?;
    output.finish()
}

/// The requested format, else the one of the output file's extension.
fn export_format(args: &Args) -> Result<ExportFormat> {
    if let Some(format) = args.json.then_some(FormatArg::Json).or(args.format) {
        return Ok(match format {
            FormatArg::Md => ExportFormat::Markdown,
            FormatArg::Jsonl => ExportFormat::Jsonl,
            FormatArg::Json => ExportFormat::Json,
            FormatArg::Html => ExportFormat::Html,
        });
    }
    let Some(extension) = args.output.as_deref().and_then(Path::extension) else {
        return Ok(ExportFormat::default());
    };
    let extension = extension.to_string_lossy().to_lowercase();
    ExportFormat::from_extension(&extension).ok_or_else(|| {
        usage_error(format!(
            "cannot export to .{}: unknown format; use .md, .html, .json or .jsonl, or choose one with --format",
            sanitize_line(&extension)
        ))
    })
}

/// The destination: standard output, or a new file.
enum ExportOutput {
    Standard(Box<OutputWriter>),
    File(ExportFile),
}

impl ExportOutput {
    fn new(args: &Args) -> Result<ExportOutput> {
        Ok(match &args.output {
            None => ExportOutput::Standard(Box::new(OutputWriter::for_reading(&args.session))),
            Some(path) => ExportOutput::File(ExportFile::create(path)?),
        })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match self {
            ExportOutput::Standard(out) => out.raw(bytes),
            ExportOutput::File(file) => Ok(file.write(bytes)?),
        }
    }

    fn finish(self) -> Result<ExitCode> {
        match self {
            ExportOutput::Standard(out) => out.finish(),
            ExportOutput::File(file) => {
                file.finish()?;
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}
