//! What the only parameter of a command's handler is: the context, if the handler uses a member of the context on it, else the
//! arguments. The handler's source decides, as the engine prints it.

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    BindingPattern, Expression, FormalParameters, MemberExpression, ObjectPattern, VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Parser;
use oxc_span::SourceType;

/// The members of the context of a command. Texts have none of them.
const MEMBERS: &[&str] = &[
    "abort",
    "args",
    "compact",
    "cwd",
    "fork",
    "getContextUsage",
    "getSystemPrompt",
    "getSystemPromptOptions",
    "hasPendingMessages",
    "hasUI",
    "isIdle",
    "isProjectTrusted",
    "mode",
    "model",
    "modelRegistry",
    "navigateTree",
    "newSession",
    "reload",
    "scopedModels",
    "sessionManager",
    "shutdown",
    "signal",
    "switchSession",
    "thinkingLevel",
    "ui",
    "waitForIdle",
];

/// Whether the first parameter of a function is the context.
pub(super) fn is_context(source: &str) -> bool {
    // A method has no `function` before its name, and is no expression by itself.
    [format!("({source})"), format!("({{ {source} }})")].iter().any(|code| {
        let allocator = Allocator::default();
        let parsed = Parser::new(&allocator, code, SourceType::mjs()).parse();
        let mut finder = ParameterFinder::default();
        if parsed.diagnostics.is_empty() {
            finder.visit_program(&parsed.program);
        }
        finder.is_context
    })
}

#[derive(Debug, Default)]
struct ParameterFinder {
    has_parameters: bool,
    /// The name of the first parameter.
    name: Option<String>,
    is_context: bool,
}

impl ParameterFinder {
    fn is_parameter(&self, expression: &Expression<'_>) -> bool {
        matches!(expression, Expression::Identifier(found) if self.name.as_deref() == Some(found.name.as_str()))
    }

    fn use_pattern(&mut self, pattern: &ObjectPattern<'_>) {
        let names = pattern.properties.iter().filter_map(|property| property.key.static_name());
        self.is_context |= names.into_iter().any(|name| MEMBERS.contains(&&*name));
    }
}

impl<'a> Visit<'a> for ParameterFinder {
    fn visit_formal_parameters(&mut self, parameters: &FormalParameters<'a>) {
        if !std::mem::replace(&mut self.has_parameters, true) {
            match parameters.items.first().map(|parameter| &parameter.pattern) {
                Some(BindingPattern::BindingIdentifier(name)) => self.name = Some(name.name.to_string()),
                Some(BindingPattern::ObjectPattern(pattern)) => self.use_pattern(pattern),
                _ => {}
            }
        }
        walk::walk_formal_parameters(self, parameters);
    }

    fn visit_member_expression(&mut self, member: &MemberExpression<'a>) {
        let is_member = member.static_property_name().is_some_and(|name| MEMBERS.contains(&name));
        self.is_context |= is_member && self.is_parameter(member.object());
        walk::walk_member_expression(self, member);
    }

    fn visit_variable_declarator(&mut self, declarator: &VariableDeclarator<'a>) {
        if let (BindingPattern::ObjectPattern(pattern), Some(init)) = (&declarator.id, &declarator.init)
            && self.is_parameter(init)
        {
            self.use_pattern(pattern);
        }
        walk::walk_variable_declarator(self, declarator);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_of_the_context_decides() {
        for handler in [
            "(ctx) => ctx.ui.notify('x')",
            "ctx => ctx?.ui.notify('x')",
            "async (c) => { await c.waitForIdle(); }",
            "function (ctx) { return ctx['sessionManager']; }",
            "async function run(ctx) { ctx.compact(); }",
            "handler(ctx) { ctx.ui.notify('x'); }",
            "async handler(ctx) { await ctx.switchSession('x'); }",
            "async 'a name'(ctx) { ctx.reload(); }",
            "({ ui }) => ui.notify('x')",
            "async ({ ui: screen, ...rest }) => screen.notify('x')",
            "(ctx) => { const { ui } = ctx; ui.notify('x'); }",
            "(ctx) => { [1].forEach(() => ctx.getContextUsage()); }",
        ] {
            assert!(is_context(handler), "{handler}");
        }
    }

    #[test]
    fn everything_else_is_the_arguments() {
        for handler in [
            "(args) => show(args)",
            "(args) => args.trim().split(' ')",
            "handler(args) { pi.ui.notify(args); }",
            "async handler(args) { const ctx = saved; ctx.ui.notify(args); }",
            "({ length }) => show(length)",
            "(text) => other.text.ui",
            "() => {}",
            "not a function at all ((",
        ] {
            assert!(!is_context(handler), "{handler}");
        }
    }
}
