//! Writes one message of a context as readable text.

use anyhow::Result;
use osier_tree::projection::preview::{one_line, sanitize};
use serde_json::Value;

use crate::output_writer::{OutputWriter, TextStyle};

/// Parses a message. JSON that `serde_json` rejects, such as half a surrogate pair, becomes a string.
pub(super) fn parse_message(message: &[u8]) -> Value {
    serde_json::from_slice(message).unwrap_or_else(|_| String::from_utf8_lossy(message).into())
}

/// Writes a heading with the role, then the content.
pub(super) fn write_message(message: &Value, out: &mut OutputWriter) -> Result<()> {
    out.line(&out.paint(TextStyle::User, &format!("── {}", heading(message))))?;
    for key in ["command", "output", "summary", "errorMessage"] {
        if let Some(text) = message[key].as_str() {
            write_paragraph(text, out)?;
        }
    }
    for text in message["sections"].as_object().into_iter().flat_map(|all| all.values()) {
        write_paragraph(text.as_str().unwrap_or_default(), out)?;
    }
    match &message["content"] {
        Value::String(text) if text.is_empty() => Ok(()),
        Value::String(text) => write_paragraph(text, out),
        Value::Array(blocks) => blocks.iter().try_for_each(|block| write_block(block, out)),
        Value::Null if message.is_object() => Ok(()),
        Value::Null => write_paragraph(message.as_str().unwrap_or_default(), out),
        other => write_paragraph(&other.to_string(), out),
    }
}

fn heading(message: &Value) -> String {
    let word = |key: &str| message[key].as_str().map(|word| one_line(word, 80)).unwrap_or_default();
    match word("role").as_str() {
        "" => "?".to_owned(),
        "toolResult" if message["isError"] == true => format!("toolResult of {}, an error", word("toolName")),
        "toolResult" => format!("toolResult of {}", word("toolName")),
        "assistant" if matches!(word("stopReason").as_str(), "aborted" | "error" | "length") => {
            format!("assistant, {}", word("stopReason"))
        }
        "custom" => format!("custom {}", word("customType")),
        role => role.to_owned(),
    }
}

fn write_block(block: &Value, out: &mut OutputWriter) -> Result<()> {
    match block["type"].as_str() {
        Some("text") => write_paragraph(block["text"].as_str().unwrap_or_default(), out),
        Some("thinking") => {
            let thought = sanitize(block["thinking"].as_str().unwrap_or_default()).trim_end().to_owned();
            out.line(&out.paint(TextStyle::Dim, &thought))
        }
        Some("toolCall") => {
            let name = block["name"].as_str().unwrap_or_default();
            write_paragraph(&format!("→ {name} {}", block["arguments"]), out)
        }
        Some("image") => {
            write_paragraph(&format!("[image {}]", block["mimeType"].as_str().unwrap_or("?")), out)
        }
        _ => write_paragraph(&block.to_string(), out),
    }
}

fn write_paragraph(text: &str, out: &mut OutputWriter) -> Result<()> {
    match sanitize(text).trim_end() {
        "" => Ok(()),
        text => out.line(text),
    }
}
