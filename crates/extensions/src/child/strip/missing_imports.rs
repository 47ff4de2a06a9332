//! Imports of names that a package of pi does not have. Such a name is undefined, as in pi, and not an error: packages import names of
//! older and newer versions, and check whether they exist.

use std::path::Path;

use oxc_allocator::Allocator;
use oxc_ast::ast::{ImportDeclaration, ImportDeclarationSpecifier, Statement};
use oxc_parser::Parser;
use oxc_span::SourceType;

use super::edits::Edits;
use crate::child::library_exports::lacks_export;
use crate::child::runtime_library;

/// What the names of all packages of pi and TypeBox contain.
const PACKAGES: [&str; 2] = ["/pi-", "typebox"];

/// Whether a module of the library has no export with the name of an import. Modules of Node must have what is imported.
pub(super) fn is_missing(import: &ImportDeclaration<'_>, specifier: &ImportDeclarationSpecifier<'_>) -> bool {
    let ImportDeclarationSpecifier::ImportSpecifier(named) = specifier else { return false };
    let module = runtime_library::find(&import.source.value);
    let is_package = |module: &String| module.starts_with("osier:modules/");
    module.filter(is_package).is_some_and(|module| lacks_export(&module, &named.imported.name()))
}

/// Declarations of names without a value.
pub(super) fn declare_missing(names: &[&str]) -> String {
    format!(" var {};", names.join(", "))
}

/// A JavaScript module in which missing names are declared. Lines stay where they are.
pub(crate) fn declare_missing_imports(path: &Path, source: String) -> String {
    if !PACKAGES.iter().any(|name| source.contains(name)) {
        return source;
    }
    let allocator = Allocator::default();
    let source_type = SourceType::from_path(path).unwrap_or_else(|_| SourceType::mjs()).with_module(true);
    let parsed = Parser::new(&allocator, &source, source_type).parse();
    // The engine reports errors of syntax.
    let mut edits = Edits::new(&source);
    for statement in &parsed.program.body {
        let Statement::ImportDeclaration(import) = statement else { continue };
        let (missing, kept): (Vec<_>, Vec<_>) =
            import.specifiers.iter().flatten().partition(|specifier| is_missing(import, specifier));
        if missing.is_empty() {
            continue;
        }
        let is_named = |specifier: &&ImportDeclarationSpecifier<'_>| {
            matches!(specifier, ImportDeclarationSpecifier::ImportSpecifier(_))
        };
        let text = |specifier: &ImportDeclarationSpecifier<'_>| {
            let span = oxc_span::GetSpan::span(specifier);
            edits.part(span.start, span.end).to_owned()
        };
        let (named, mut clause): (Vec<_>, Vec<_>) = kept.into_iter().partition(is_named);
        let mut clause: Vec<String> = clause.drain(..).map(text).collect();
        clause.push(format!("{{ {} }}", named.into_iter().map(text).collect::<Vec<_>>().join(", ")));
        let names: Vec<&str> = missing.iter().map(|specifier| specifier.local().name.as_str()).collect();
        edits.replace(
            import.span.start,
            import.source.span.start,
            &format!("import {} from ", clause.join(", ")),
        );
        edits.insert(import.span.end, &declare_missing(&names));
    }
    edits.apply()
}
