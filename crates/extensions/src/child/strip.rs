//! TypeScript to JavaScript. Types become spaces, so every line stays where it is; nothing is checked.
//!
//! Enums, namespaces and parameter properties, which are more than types, become plain JavaScript on the same lines.

mod edits;
mod enums;
mod erase;
mod missing_imports;
mod names;

use std::path::Path;

use oxc_allocator::Allocator;
use oxc_ast_visit::Visit;
use oxc_parser::Parser;
use oxc_span::SourceType;

use erase::TypeEraser;
pub(crate) use missing_imports::declare_missing_imports;
use names::ValueNames;

/// Removes the types of a source file. The error names the line.
pub(crate) fn strip(path: &Path, source: &str) -> Result<String, String> {
    let source_type = SourceType::from_path(path).unwrap_or_else(|_| SourceType::ts()).with_module(true);
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, source, source_type).parse();
    if let Some(error) = parsed.diagnostics.first() {
        let offset = error.labels.first().map(oxc_span::LabeledSpan::offset);
        return Err(describe(path, source, &error.message, offset));
    }
    let mut names = ValueNames::default();
    names.visit_program(&parsed.program);
    let mut eraser = TypeEraser::new(source, names);
    eraser.visit_program(&parsed.program);
    eraser.finish().map_err(|(message, offset)| describe(path, source, &message, Some(offset)))
}

fn describe(path: &Path, source: &str, message: &str, offset: Option<u32>) -> String {
    let line = offset.and_then(|offset| Some(source.get(..offset as usize)?.matches('\n').count() + 1));
    let place = line.map(|line| format!(":{line}")).unwrap_or_default();
    format!("{}{place}: {message}", path.display())
}

#[cfg(test)]
mod tests;
