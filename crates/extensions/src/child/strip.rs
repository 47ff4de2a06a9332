//! TypeScript to JavaScript. Types are erased; nothing is checked.

use std::path::Path;

use oxc_allocator::Allocator;
use oxc_codegen::{Codegen, CodegenOptions, CodegenReturn};
use oxc_parser::Parser;
use oxc_semantic::SemanticBuilder;
use oxc_span::SourceType;
use oxc_transformer::{TransformOptions, Transformer};

use super::positions::SourcePositions;

/// JavaScript that was made from TypeScript.
#[derive(Debug)]
pub(crate) struct StrippedSource {
    pub(crate) code: String,
    pub(crate) positions: SourcePositions,
}

/// Removes the types of a source file. The error names the line.
pub(crate) fn strip(path: &Path, source: &str) -> Result<StrippedSource, String> {
    let source_type = SourceType::from_path(path).unwrap_or_else(|_| SourceType::ts()).with_module(true);
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, source, source_type).parse();
    if let Some(error) = parsed.diagnostics.first() {
        let offset = error.labels.first().map(|label| label.offset() as usize);
        return Err(describe(path, source, &error.message, offset));
    }
    let mut program = parsed.program;
    let built = SemanticBuilder::new().with_excess_capacity(2.0).with_enum_eval(true).build(&program);
    let (scoping, options) = (built.semantic.into_scoping(), TransformOptions::default());
    let transformed = Transformer::new(&allocator, path, &options).build_with_scoping(scoping, &mut program);
    if let Some(error) = transformed.diagnostics.first() {
        return Err(describe(path, source, &error.message, None));
    }
    let options = CodegenOptions { source_map_path: Some(path.to_owned()), ..CodegenOptions::default() };
    let CodegenReturn { code, map, .. } = Codegen::new().with_options(options).build(&program);
    let mut positions = Vec::new();
    if let Some(map) = map {
        positions.extend(map.get_tokens().map(|token| {
            ((token.get_dst_line(), token.get_dst_col()), (token.get_src_line(), token.get_src_col()))
        }));
    }
    let positions = SourcePositions::new(positions);
    Ok(StrippedSource { positions, code })
}

fn describe(path: &Path, source: &str, message: &str, offset: Option<usize>) -> String {
    let line = offset.and_then(|offset| Some(source.get(..offset)?.matches('\n').count() + 1));
    let place = line.map(|line| format!(":{line}")).unwrap_or_default();
    format!("{}{place}: {message}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripped(source: &str) -> String {
        strip(Path::new("a.ts"), source).unwrap().code
    }

    #[test]
    fn types_go_and_values_stay() {
        let code = stripped(
            "import type { A } from 'a';\nimport { B, c } from 'b';\ninterface I { x: number }\n\
             enum Color { Red, Green = 'g' }\nclass P { constructor(private x: number) {} }\n\
             export const y = (c as B)!;\nexport function f<T>(a?: T): T { return a satisfies T }\n",
        );
        for gone in ["type {", "interface", ": number", "as B", "satisfies", "<T>", "'a'", "\"a\""] {
            assert!(!code.contains(gone), "{gone} in {code}");
        }
        for kept in ["import { c }", "Color", "this.x", "export const y", "function f(a)"] {
            assert!(code.contains(kept), "{kept} not in {code}");
        }
    }

    #[test]
    fn a_syntax_error_names_its_line() {
        let error = strip(Path::new("dir/a.ts"), "const a = 1;\nconst b = ;\n").unwrap_err();
        assert!(error.starts_with("dir/a.ts:2: "), "{error}");
    }

    #[test]
    fn positions_lead_back_to_the_source() {
        let source = "interface A {\n  x: string;\n}\n\nconst first = 1;\n\nthrow new Error('here');\n";
        let StrippedSource { code, positions } = strip(Path::new("a.ts"), source).unwrap();
        let line = code.lines().position(|line| line.contains("throw")).unwrap() + 1;
        assert_eq!(positions.original(line as u32, 1), (7, 1));
    }
}
