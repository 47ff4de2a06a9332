//! What one source file imports and uses. Types are removed first, so that only code counts. Names are compared as they are
//! written; a name that is used in another way than expected counts as every use.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    Argument, ArrowFunctionExpression, AwaitExpression, BindingPattern, CallExpression, ExportAllDeclaration,
    ExportFromDeclaration, Expression, ForOfStatement, Function, IdentifierReference, ImportDeclaration,
    ImportDeclarationSpecifier, ImportExpression, MemberExpression, ObjectPattern, ObjectPropertyKind,
    VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Parser;
use oxc_span::SourceType;
use oxc_syntax::scope::ScopeFlags;

use crate::child::{lacks_export, library_module, strip};
use crate::grants::Grant;
use crate::host::PLAIN_VARIABLES;
use crate::inspect::FlagKind;

/// The modules of Node, as far as they need a grant or Node itself.
const NODE_MODULES: &[&str] = &[
    "assert",
    "async_hooks",
    "buffer",
    "child_process",
    "cluster",
    "console",
    "constants",
    "crypto",
    "dgram",
    "diagnostics_channel",
    "dns",
    "domain",
    "events",
    "fs",
    "http",
    "http2",
    "https",
    "inspector",
    "module",
    "net",
    "os",
    "path",
    "perf_hooks",
    "process",
    "punycode",
    "querystring",
    "readline",
    "repl",
    "sqlite",
    "stream",
    "string_decoder",
    "sys",
    "test",
    "timers",
    "tls",
    "trace_events",
    "tty",
    "url",
    "util",
    "v8",
    "vm",
    "wasi",
    "worker_threads",
    "zlib",
];

/// Functions of `fs` that only read. Their names may end with `Sync`.
const READING: &[&str] = &[
    "access",
    "createReadStream",
    "exists",
    "fstat",
    "glob",
    "lstat",
    "opendir",
    "read",
    "readFile",
    "readdir",
    "readlink",
    "readv",
    "realpath",
    "stat",
    "statfs",
    "unwatchFile",
    "watch",
    "watchFile",
];
/// Members of `fs` that do nothing by themselves.
const NEUTRAL: &[&str] = &["Dirent", "Stats", "close", "constants", "default"];
/// Functions of `fs` that read and write.
const BOTH: &[&str] = &["copyFile", "cp", "open", "openAsBlob", "promises"];

/// Globals that use the network.
const NETWORK_GLOBALS: &[&str] = &["EventSource", "WebSocket", "XMLHttpRequest", "fetch"];

/// Functions of pi that use files or run programs.
const TOOL_FACTORIES: &[(&str, &[Grant])] = &[
    ("createBash", &[Grant::RunPrograms]),
    ("createCodingTools", &[Grant::ReadFiles, Grant::WriteFiles, Grant::RunPrograms]),
    ("createEdit", &[Grant::ReadFiles, Grant::WriteFiles]),
    ("createFind", &[Grant::ReadFiles]),
    ("createGrep", &[Grant::ReadFiles]),
    ("createLs", &[Grant::ReadFiles]),
    ("createRead", &[Grant::ReadFiles]),
    ("createWrite", &[Grant::WriteFiles]),
    ("hasTrustRequiringProjectResources", &[Grant::ReadFiles]),
    ("loadProjectContextFiles", &[Grant::ReadFiles]),
    ("loadSkills", &[Grant::ReadFiles]),
];

/// An imported module.
#[derive(Debug)]
pub(super) struct Import {
    pub(super) name: String,
    pub(super) line: u32,
}

/// See the module documentation. Lines are those of the source, counted from 1.
#[derive(Debug, Default)]
pub(super) struct SourceUses {
    pub(super) imports: Vec<Import>,
    /// The first import of something that a module of Node has and Osier's does not, and its line.
    pub(super) only_in_node: Option<(String, u32)>,
    pub(super) needs: BTreeMap<Grant, (u32, String)>,
    /// The flags that it registers.
    pub(super) flags: BTreeMap<String, FlagKind>,
    /// The line of an import whose module is not known.
    pub(super) dynamic: Option<u32>,
    /// It requires files in a way that is not followed.
    pub(super) requires_unseen: bool,
    /// It has `await` outside of functions.
    pub(super) awaits: bool,
}

/// Whether a module belongs to Node and exists only there.
pub(super) fn needs_node(name: &str) -> bool {
    let base = name.strip_prefix("node:").unwrap_or(name);
    if library_module(name).is_some() {
        return false;
    }
    name.starts_with("node:") || NODE_MODULES.contains(&base.split('/').next().unwrap_or(base))
}

/// Finds the uses in a source. The error names the line.
pub(super) fn find_uses(file: &Path, source: &str) -> Result<SourceUses, String> {
    let code = match file.extension().and_then(|name| name.to_str()) {
        Some("ts" | "tsx" | "mts" | "cts") => strip(file, source)?,
        _ => source.to_owned(),
    };
    let allocator = Allocator::default();
    let mut parsed = Parser::new(&allocator, &code, SourceType::mjs()).parse();
    if !parsed.diagnostics.is_empty() {
        // CommonJS may use what modules may not.
        parsed = Parser::new(&allocator, &code, SourceType::cjs()).parse();
    }
    if let Some(error) = parsed.diagnostics.first() {
        let offset = error.labels.first().map_or(0, oxc_span::LabeledSpan::offset);
        let line = 1 + code.get(..offset as usize).map_or(0, |before| before.matches('\n').count());
        return Err(format!("{}:{line}: {}", file.display(), error.message));
    }
    let mut finder = UseFinder::default();
    finder.visit_program(&parsed.program);
    let requires_unseen = finder.requires_unseen();
    finder.add_modules();
    let lines = LineNumbers::new(&code);
    Ok(SourceUses {
        imports: finder.imports.into_iter().map(|(name, at)| Import { name, line: lines.line(at) }).collect(),
        only_in_node: finder.only_in_node.map(|(name, at)| (name, lines.line(at))),
        needs: finder.needs.into_iter().map(|(grant, (at, code))| (grant, (lines.line(at), code))).collect(),
        flags: finder.flags,
        dynamic: finder.dynamic.map(|at| lines.line(at)),
        requires_unseen,
        awaits: finder.awaits,
    })
}

/// Finds the line of an offset.
struct LineNumbers {
    starts: Vec<usize>,
}

impl LineNumbers {
    fn new(code: &str) -> LineNumbers {
        let starts = code.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        LineNumbers { starts: [0].into_iter().chain(starts).collect() }
    }

    fn line(&self, offset: u32) -> u32 {
        self.starts.partition_point(|start| *start <= offset as usize) as u32
    }
}

/// A module that is known by a local name.
#[derive(Debug)]
struct BoundModule {
    module: String,
    at: u32,
}

/// The text of a property in the last argument of a call, if it is a literal.
fn literal_property<'a>(call: &'a CallExpression<'_>, name: &str) -> Option<&'a str> {
    let Some(Argument::ObjectExpression(object)) = call.arguments.last() else { return None };
    object.properties.iter().find_map(|property| match property {
        ObjectPropertyKind::ObjectProperty(property) if property.key.static_name()? == name => {
            match &property.value {
                Expression::StringLiteral(text) => Some(text.value.as_str()),
                _ => None,
            }
        }
        _ => None,
    })
}

/// It has many fields because each is what was seen of one kind of use.
#[derive(Debug, Default)]
struct UseFinder {
    imports: Vec<(String, u32)>,
    only_in_node: Option<(String, u32)>,
    needs: BTreeMap<Grant, (u32, String)>,
    flags: BTreeMap<String, FlagKind>,
    dynamic: Option<u32>,
    /// `fs` in `import * as fs from "fs"`.
    modules: HashMap<String, BoundModule>,
    /// How often each name is used, and how often as `name.member`.
    references: HashMap<String, usize>,
    members: HashMap<String, Vec<String>>,
    /// Where `x.exec` ends that is called.
    called_exec: HashSet<u32>,
    /// Where `require("name")` and `import("name")` are part of a use that is known.
    known_modules: HashSet<u32>,
    /// Where `process.env` was part of a use that is known.
    known_environment: HashSet<u32>,
    /// The names of functions that require files, in addition to `require`.
    require_names: HashSet<String>,
    /// How often each of these functions was called with a name.
    known_requires: HashMap<String, usize>,
    /// `module.require` is used, or a function that requires files is called as soon as it is made.
    requires_otherwise: bool,
    /// How many functions surround the code that is visited.
    functions: usize,
    awaits: bool,
}

impl UseFinder {
    /// Osier calls the models of a provider, or its extension does.
    fn add_provider(&mut self, call: &CallExpression<'_>) {
        self.need(Grant::Network, call.span.start, "registerProvider");
        if literal_property(call, "apiKey").is_some_and(|key| key.starts_with('!')) {
            self.need(Grant::RunPrograms, call.span.start, "registerProvider");
        }
    }

    fn add_flag(&mut self, call: &CallExpression<'_>) {
        if let Some(Argument::StringLiteral(name)) = call.arguments.first() {
            let is_text = literal_property(call, "type") == Some("string");
            let kind = if is_text { FlagKind::String } else { FlagKind::Boolean };
            self.flags.insert(name.value.to_string(), kind);
        }
    }

    fn need(&mut self, grant: Grant, at: u32, code: impl Into<String>) {
        self.needs.entry(grant).or_insert_with(|| (at, code.into()));
    }

    fn import(&mut self, name: &str, at: u32) {
        self.imports.push((name.to_owned(), at));
        match name.strip_prefix("node:").unwrap_or(name) {
            "child_process" => self.need(Grant::RunPrograms, at, format!("import of {name}")),
            "http" | "https" | "http2" | "net" | "tls" | "dgram" | "dns" => {
                self.need(Grant::Network, at, format!("import of {name}"));
            }
            _ => {}
        }
    }

    /// `require("name")` and `import("name")`. If nothing shows what is used of the module, all of it may be.
    fn import_as_value(&mut self, name: &str, at: u32) {
        self.import(name, at);
        if !self.known_modules.contains(&at) {
            self.use_all(name, at);
        }
    }

    /// Without its export, a module cannot be imported.
    fn find_in_node(&mut self, module: &str, member: &str, at: u32) {
        let of_node = library_module(module).filter(|module| module.starts_with("osier:node/"));
        if of_node.is_some_and(|library| lacks_export(&library, member)) {
            self.only_in_node.get_or_insert_with(|| (format!("{member} of {module}"), at));
        }
    }

    /// Something that a module exports is used.
    fn use_member(&mut self, module: &str, member: &str, at: u32) {
        let code = || format!("{module} {member}");
        match module.strip_prefix("node:").unwrap_or(module) {
            "fs" | "fs/promises" => {
                let name = member.strip_suffix("Sync").unwrap_or(member);
                let (reads, writes) = match () {
                    () if READING.contains(&name) => (true, false),
                    () if NEUTRAL.contains(&name) => (false, false),
                    () => (BOTH.contains(&name), true),
                };
                if reads {
                    self.need(Grant::ReadFiles, at, code());
                }
                if writes {
                    self.need(Grant::WriteFiles, at, code());
                }
            }
            "process" if member == "env" => self.need(Grant::Environment, at, code()),
            other if other.ends_with("pi-coding-agent") => {
                let factory = TOOL_FACTORIES.iter().find(|(name, _)| member.starts_with(name));
                for grant in factory.map(|(_, grants)| *grants).unwrap_or_default() {
                    self.need(*grant, at, member);
                }
            }
            _ => {}
        }
    }

    /// Anything of a module may be used.
    fn use_all(&mut self, module: &str, at: u32) {
        match module.strip_prefix("node:").unwrap_or(module) {
            "fs" | "fs/promises" => {
                self.need(Grant::ReadFiles, at, module);
                self.need(Grant::WriteFiles, at, module);
            }
            "process" => self.need(Grant::Environment, at, module),
            _ => {}
        }
    }

    /// `{ a, b: c }` of a module.
    fn use_pattern(&mut self, module: &str, pattern: &ObjectPattern<'_>) {
        let at = pattern.span.start;
        for property in &pattern.properties {
            match property.key.static_name() {
                Some(name) => self.use_member(module, &name, at),
                None => self.use_all(module, at),
            }
        }
        if pattern.rest.is_some() {
            self.use_all(module, at);
        }
    }

    /// After the whole file was read: how the names of modules are used.
    fn add_modules(&mut self) {
        for (name, BoundModule { module, at }) in std::mem::take(&mut self.modules) {
            let members = self.members.remove(&name).unwrap_or_default();
            if self.references.get(&name).copied().unwrap_or(0) > members.len() {
                self.use_all(&module, at);
            }
            for member in members {
                self.use_member(&module, &member, at);
            }
        }
    }

    fn use_variable(&mut self, name: Option<&str>, at: u32) {
        match name {
            Some(name) if PLAIN_VARIABLES.contains(&name) => {}
            name => self.need(Grant::Environment, at, format!("process.env.{}", name.unwrap_or("*"))),
        }
    }

    /// Whether a function that requires files is used in another way than called with a name, or as `require.resolve`.
    fn requires_unseen(&self) -> bool {
        let is_unseen = |name: &str| {
            let members = self.members.get(name).map_or(0, Vec::len);
            let known = self.known_requires.get(name).copied().unwrap_or(0) + members;
            self.references.get(name).copied().unwrap_or(0) > known
        };
        self.requires_otherwise
            || is_unseen("require")
            || self.require_names.iter().any(|name| is_unseen(name))
    }

    fn bind(&mut self, local: &str, module: &str, at: u32) {
        let module = module.to_owned();
        self.modules.insert(local.to_owned(), BoundModule { module, at });
    }
}

/// The module of `require("name")` and `await import("name")`.
fn required_module<'a>(expression: &'a Expression<'_>) -> Option<&'a str> {
    match expression {
        Expression::AwaitExpression(awaited) => required_module(&awaited.argument),
        Expression::ParenthesizedExpression(inner) => required_module(&inner.expression),
        Expression::ImportExpression(import) => match &import.source {
            Expression::StringLiteral(name) => Some(name.value.as_str()),
            _ => None,
        },
        Expression::CallExpression(call) if is_identifier(&call.callee, "require") => {
            match call.arguments.first() {
                Some(Argument::StringLiteral(name)) => Some(name.value.as_str()),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Where the `import` or `require` of [`required_module`] begins.
fn required_at(expression: &Expression<'_>) -> Option<u32> {
    match expression {
        Expression::AwaitExpression(awaited) => required_at(&awaited.argument),
        Expression::ParenthesizedExpression(inner) => required_at(&inner.expression),
        other => Some(oxc_span::GetSpan::span(other).start),
    }
}

/// `import("name")` without `await`.
fn is_promise_of_module(expression: &Expression<'_>) -> bool {
    match expression {
        Expression::ParenthesizedExpression(inner) => is_promise_of_module(&inner.expression),
        Expression::ImportExpression(_) => true,
        _ => false,
    }
}

/// `createRequire(…)`, also of a module.
fn creates_require(expression: &Expression<'_>) -> bool {
    let Expression::CallExpression(call) = expression else { return false };
    let member = call.callee.as_member_expression().and_then(MemberExpression::static_property_name);
    is_identifier(&call.callee, "createRequire") || member == Some("createRequire")
}

fn is_identifier(expression: &Expression<'_>, name: &str) -> bool {
    matches!(expression, Expression::Identifier(identifier) if identifier.name == name)
}

/// `process.env`, also of `globalThis`.
fn is_environment(expression: &Expression<'_>) -> bool {
    let Some(member) = expression.as_member_expression() else { return false };
    let object = member.object();
    let is_process = is_identifier(object, "process")
        || object.as_member_expression().is_some_and(|inner| {
            is_global(inner.object()) && inner.static_property_name() == Some("process")
        });
    is_process && member.static_property_name() == Some("env")
}

fn is_global(expression: &Expression<'_>) -> bool {
    is_identifier(expression, "globalThis") || is_identifier(expression, "global")
}

/// Whether a pattern takes `exec` out of something, also as a parameter of a function.
fn takes_exec(pattern: &ObjectPattern<'_>) -> bool {
    pattern.properties.iter().any(|property| property.key.static_name().is_some_and(|name| name == "exec"))
}

/// Whether `x.exec(…)` may be `pi.exec` rather than that of a regular expression.
fn may_run_program(call: &CallExpression<'_>, object: &Expression<'_>) -> bool {
    may_be_api(object) || (!is_regular_expression(object) && call.arguments.len() >= 2)
}

/// `/a/` and `RegExp.prototype`.
fn is_regular_expression(expression: &Expression<'_>) -> bool {
    let name = expression.as_member_expression().and_then(MemberExpression::static_property_name);
    matches!(expression, Expression::RegExpLiteral(_)) || name == Some("prototype")
}

/// `pi` and the names that stand for it in many extensions.
fn may_be_api(expression: &Expression<'_>) -> bool {
    matches!(expression, Expression::Identifier(name) if matches!(name.name.as_str(), "pi" | "api"))
}

impl<'a> Visit<'a> for UseFinder {
    /// `({ exec }) => …` may get `pi`.
    fn visit_object_pattern(&mut self, pattern: &ObjectPattern<'a>) {
        if takes_exec(pattern) {
            self.need(Grant::RunPrograms, pattern.span.start, "exec");
        }
        walk::walk_object_pattern(self, pattern);
    }

    fn visit_function(&mut self, function: &Function<'a>, flags: ScopeFlags) {
        self.functions += 1;
        walk::walk_function(self, function, flags);
        self.functions -= 1;
    }

    fn visit_arrow_function_expression(&mut self, function: &ArrowFunctionExpression<'a>) {
        self.functions += 1;
        walk::walk_arrow_function_expression(self, function);
        self.functions -= 1;
    }

    fn visit_await_expression(&mut self, expression: &AwaitExpression<'a>) {
        self.awaits |= self.functions == 0;
        walk::walk_await_expression(self, expression);
    }

    fn visit_for_of_statement(&mut self, statement: &ForOfStatement<'a>) {
        self.awaits |= statement.r#await && self.functions == 0;
        walk::walk_for_of_statement(self, statement);
    }

    fn visit_import_declaration(&mut self, import: &ImportDeclaration<'a>) {
        let (module, at) = (import.source.value.as_str(), import.span.start);
        self.import(module, at);
        for specifier in import.specifiers.iter().flatten() {
            match specifier {
                ImportDeclarationSpecifier::ImportSpecifier(named) if named.imported.name() != "default" => {
                    self.find_in_node(module, &named.imported.name(), at);
                    self.use_member(module, &named.imported.name(), at);
                }
                other => self.bind(&other.local().name, module, at),
            }
        }
    }

    fn visit_export_from_declaration(&mut self, export: &ExportFromDeclaration<'a>) {
        self.import(&export.source.value, export.span.start);
        self.use_all(&export.source.value, export.span.start);
    }

    fn visit_export_all_declaration(&mut self, export: &ExportAllDeclaration<'a>) {
        self.import(&export.source.value, export.span.start);
        self.use_all(&export.source.value, export.span.start);
    }

    fn visit_import_expression(&mut self, import: &ImportExpression<'a>) {
        match &import.source {
            Expression::StringLiteral(name) => self.import_as_value(&name.value, import.span.start),
            _ => self.dynamic = self.dynamic.or(Some(import.span.start)),
        }
        walk::walk_import_expression(self, import);
    }

    fn visit_variable_declarator(&mut self, declarator: &VariableDeclarator<'a>) {
        let Some(init) = &declarator.init else { return walk::walk_variable_declarator(self, declarator) };
        let at = declarator.span.start;
        if let (BindingPattern::BindingIdentifier(name), true) = (&declarator.id, creates_require(init))
            && name.name != "require"
        {
            self.require_names.insert(name.name.to_string());
        }
        let module = required_module(init).filter(|_| !is_promise_of_module(init));
        self.known_modules.extend(module.and_then(|_| required_at(init)));
        match (&declarator.id, module) {
            (BindingPattern::BindingIdentifier(name), Some(module)) => self.bind(&name.name, module, at),
            (BindingPattern::ObjectPattern(pattern), Some(module)) => self.use_pattern(module, pattern),
            (BindingPattern::ObjectPattern(pattern), None) => self.visit_taken_apart(init, pattern),
            _ => {}
        }
        walk::walk_variable_declarator(self, declarator);
    }

    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        let at = call.span.start;
        if is_identifier(&call.callee, "require") {
            match call.arguments.first() {
                Some(Argument::StringLiteral(name)) => self.import_as_value(&name.value, at),
                _ => self.dynamic = self.dynamic.or(Some(at)),
            }
            *self.known_requires.entry("require".to_owned()).or_default() += 1;
        }
        match call.arguments.first() {
            Some(Argument::StringLiteral(name)) if creates_require(&call.callee) => {
                self.import(&name.value, at);
            }
            _ => self.requires_otherwise |= creates_require(&call.callee),
        }
        if let (Expression::Identifier(function), Some(Argument::StringLiteral(name))) =
            (&call.callee, call.arguments.first())
            && self.require_names.contains(function.name.as_str())
        {
            self.import(&name.value, at);
            *self.known_requires.entry(function.name.to_string()).or_default() += 1;
        }
        if let Some(member) = call.callee.as_member_expression() {
            match member.static_property_name() {
                Some("exec") => {
                    self.called_exec.insert(oxc_span::GetSpan::span(member).end);
                    if may_run_program(call, member.object()) {
                        self.need(Grant::RunPrograms, at, "exec");
                    }
                }
                Some("registerProvider") => self.add_provider(call),
                Some("registerFlag") => self.add_flag(call),
                Some("open" | "create" | "continueRecent" | "forkFrom" | "list" | "listAll")
                    if is_identifier(member.object(), "SessionManager") =>
                {
                    self.need(Grant::ReadFiles, at, "SessionManager");
                    self.need(Grant::WriteFiles, at, "SessionManager");
                }
                _ => {}
            }
        }
        walk::walk_call_expression(self, call);
    }

    fn visit_member_expression(&mut self, member: &MemberExpression<'a>) {
        let (object, name) = (member.object(), member.static_property_name());
        let at = oxc_span::GetSpan::span(member).start;
        if let Some(module) = required_module(object) {
            self.known_modules.extend(required_at(object));
            match name {
                // What `then` gets is the whole module.
                Some("then" | "catch" | "finally") if is_promise_of_module(object) => {
                    self.use_all(module, at);
                }
                Some(name) => self.use_member(module, name, at),
                None => self.use_all(module, at),
            }
        }
        // `const run = pi.exec` and `x.exec.bind(x)`: whether it is that of a regular expression shows only at run time.
        let is_value = !self.called_exec.contains(&oxc_span::GetSpan::span(member).end);
        if name == Some("exec") && is_value && !is_regular_expression(object) {
            self.need(Grant::RunPrograms, at, "exec");
        }
        if is_identifier(object, "module") && name == Some("require") {
            self.requires_otherwise = true;
        }
        if let (Expression::Identifier(object), Some(name)) = (object, name) {
            self.members.entry(object.name.to_string()).or_default().push(name.to_owned());
        }
        if is_environment(object) {
            self.known_environment.insert(oxc_span::GetSpan::span(object).start);
            self.use_variable(name, at);
        }
        let is_whole_environment = match member {
            MemberExpression::StaticMemberExpression(_) | MemberExpression::ComputedMemberExpression(_) => {
                name == Some("env") && (is_identifier(object, "process"))
            }
            MemberExpression::PrivateFieldExpression(_) => false,
        };
        if is_whole_environment && !self.known_environment.contains(&at) {
            self.use_variable(None, at);
        }
        if is_identifier(object, "WebAssembly") {
            self.only_in_node.get_or_insert_with(|| ("WebAssembly".to_owned(), at));
        }
        if is_global(object) && name.is_some_and(|name| NETWORK_GLOBALS.contains(&name)) {
            self.need(Grant::Network, at, name.unwrap_or_default());
        }
        walk::walk_member_expression(self, member);
    }

    fn visit_identifier_reference(&mut self, reference: &IdentifierReference<'a>) {
        let name = reference.name.as_str();
        if NETWORK_GLOBALS.contains(&name) {
            self.need(Grant::Network, reference.span.start, name);
        }
        *self.references.entry(name.to_owned()).or_default() += 1;
    }
}

impl UseFinder {
    /// `const { a, b } = something`.
    fn visit_taken_apart(&mut self, init: &Expression<'_>, pattern: &ObjectPattern<'_>) {
        let at = pattern.span.start;
        if is_environment(init) {
            self.known_environment.insert(oxc_span::GetSpan::span(init).start);
            for property in &pattern.properties {
                let name = property.key.static_name();
                self.use_variable(name.as_deref(), at);
            }
            if pattern.rest.is_some() {
                self.use_variable(None, at);
            }
        }
        let Expression::Identifier(object) = init else { return };
        let names: Vec<String> = pattern
            .properties
            .iter()
            .filter_map(|property| Some(property.key.static_name()?.into_owned()))
            .collect();
        if object.name == "process" && (pattern.rest.is_some() || names.len() != pattern.properties.len()) {
            self.need(Grant::Environment, at, "process");
        }
        if object.name == "process" && names.iter().any(|name| name == "env") {
            self.need(Grant::Environment, at, "process env");
        }
        if pattern.rest.is_none() && names.len() == pattern.properties.len() {
            let known = self.members.entry(object.name.to_string()).or_default();
            // The object itself is one reference, however many names are taken from it.
            *self.references.entry(object.name.to_string()).or_default() += names.len().saturating_sub(1);
            known.extend(names);
        }
    }
}
