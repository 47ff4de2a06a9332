//! Finds the parts of a program that are types, and erases them.

use oxc_ast::ast::{
    ArrowFunctionExpression, Class, ClassElement, Declaration, ExportAllDeclaration, ExportDeclaration,
    ExportDefaultDeclarationKind, ExportFromDeclaration, ExportNamedDeclaration, ExportSpecifier, Expression,
    FormalParameter, Function, IdentifierReference, ImportDeclaration, ImportDeclarationSpecifier,
    MethodDefinition, MethodDefinitionKind, MethodDefinitionType, PropertyDefinition, PropertyDefinitionType,
    Statement, TSAsExpression, TSClassImplements, TSEnumDeclaration, TSExportAssignment,
    TSImportEqualsDeclaration, TSModuleReference, TSNamespaceDeclaration, TSNonNullExpression,
    TSSatisfiesExpression, TSTypeAnnotation, TSTypeAssertion, TSTypeParameterDeclaration,
    TSTypeParameterInstantiation, VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};
use oxc_span::{GetSpan, Span};
use oxc_syntax::scope::ScopeFlags;

use super::edits::Edits;
use super::enums::{OpenEnum, is_type_namespace};
use super::missing_imports::{declare_missing, is_missing};
use super::names::ValueNames;

/// Words before a class member or a parameter that only types have.
const TYPE_MODIFIERS: &[&str] =
    &["public", "private", "protected", "readonly", "abstract", "override", "declare"];
const MODIFIERS: &[&str] = &["static", "async", "get", "set", "accessor"];

#[derive(Debug)]
pub(super) struct TypeEraser<'s> {
    pub(super) edits: Edits<'s>,
    names: ValueNames,
    pub(super) open_enums: Vec<OpenEnum>,
    /// What the namespaces around the current statement export.
    pub(super) open_namespaces: Vec<Vec<String>>,
    error: Option<(String, u32)>,
}

impl<'s> TypeEraser<'s> {
    pub(super) fn new(source: &'s str, names: ValueNames) -> TypeEraser<'s> {
        let (open_enums, open_namespaces) = (Vec::new(), Vec::new());
        TypeEraser { edits: Edits::new(source), names, open_enums, open_namespaces, error: None }
    }

    /// The code without types, or why it cannot be made, and where.
    pub(super) fn finish(self) -> Result<String, (String, u32)> {
        match self.error {
            Some(error) => Err(error),
            None => Ok(self.edits.apply()),
        }
    }

    pub(super) fn refuse(&mut self, message: &str, at: u32) {
        self.error.get_or_insert_with(|| (message.to_owned(), at));
    }

    fn erase(&mut self, span: Span) {
        self.edits.erase(span.start, span.end);
    }

    fn erase_statement(&mut self, span: Span) {
        self.edits.erase_statement(span.start, span.end);
    }

    /// Ends a statement without a semicolon, if a type was its last part.
    fn end_statement(&mut self, span: Span) {
        if !self.edits.part(span.start, span.end).ends_with(';') {
            self.edits.end_statement(span.end);
        }
    }

    /// Erases `?` or `!` after a name.
    fn erase_sign(&mut self, after: u32) {
        if let Some(at) = self.edits.find(after, &['?', '!']) {
            self.edits.erase(at, at + 1);
        }
    }

    /// Erases modifiers from `start` up to the name at `end`. Those of a class member leave a semicolon, because
    /// what follows could continue the member before.
    fn erase_modifiers(&mut self, start: u32, end: u32, in_class: bool) {
        let mut at = start as usize;
        while let Some((word, from)) = next_word(self.edits.source(), at, end as usize) {
            let (first, last) = (from as u32, (from + word.len()) as u32);
            match () {
                () if TYPE_MODIFIERS.contains(&word) && in_class && first == start => {
                    self.edits.erase_statement(first, last);
                }
                () if TYPE_MODIFIERS.contains(&word) => self.edits.erase(first, last),
                () if MODIFIERS.contains(&word) => {}
                () => return,
            }
            at = last as usize;
        }
    }

    /// Erases a part that must not leave a line end before `sign`.
    fn erase_up_to(&mut self, span: Span, sign: &str) {
        let rest = self.edits.part(span.end, self.edits.source().len() as u32);
        let Some(offset) = rest.find(sign).filter(|_| self.edits.part(span.start, span.end).contains('\n'))
        else {
            return self.erase(span);
        };
        self.edits.replace(span.start, span.end + (offset + sign.len()) as u32, sign);
    }

    /// `this.x = x` for each parameter of a constructor that is also a property.
    fn assign_parameter_properties(&mut self, method: &MethodDefinition<'_>, is_derived: bool) {
        let parameters = method.value.params.items.iter();
        let properties =
            parameters.filter(|item| item.accessibility.is_some() || item.readonly || item.r#override);
        let mut assignments = String::new();
        for name in properties.filter_map(|item| item.pattern.get_identifier_name()) {
            assignments.push_str(&format!(" this.{name} = {name};"));
        }
        let Some(body) = method.value.body.as_ref().filter(|_| !assignments.is_empty()) else { return };
        if !is_derived {
            let start = body.directives.last().map_or(body.span.start + 1, |directive| directive.span.end);
            return self.edits.insert(start, &assignments);
        }
        match body.statements.iter().find(|statement| is_super_call(statement)) {
            Some(call) => self.edits.insert(call.span().end, &format!(";{assignments}")),
            None => self.refuse(
                "a constructor with parameter properties must call super() in a statement of its own",
                method.span.start,
            ),
        }
    }

    fn erase_import(&mut self, import: &ImportDeclaration<'_>) {
        let Some(specifiers) = &import.specifiers else { return };
        if import.import_kind.is_type() {
            return self.erase_statement(import.span);
        }
        let (mut before, mut named, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        for specifier in specifiers {
            let is_type = matches!(specifier, ImportDeclarationSpecifier::ImportSpecifier(one) if one.import_kind.is_type());
            if is_type || !self.names.used.contains(specifier.local().name.as_str()) {
                continue;
            }
            if is_missing(import, specifier) {
                missing.push(specifier.local().name.as_str());
                continue;
            }
            let text = self.edits.part(specifier.span().start, specifier.span().end);
            match specifier {
                ImportDeclarationSpecifier::ImportSpecifier(_) => named.push(text),
                _ => before.push(text.to_owned()),
            }
        }
        match before.len() + named.len() {
            kept if kept == specifiers.len() => {}
            0 => self.erase_statement(import.span),
            _ => {
                if !named.is_empty() {
                    before.push(format!("{{ {} }}", named.join(", ")));
                }
                let clause = format!("import {} from ", before.join(", "));
                self.edits.replace(import.span.start, import.source.span.start, &clause);
            }
        }
        if !missing.is_empty() {
            self.edits.insert(import.span.end, &declare_missing(&missing));
        }
    }

    /// `from` is where the module of `export { … } from "module"` starts.
    fn erase_exports(&mut self, span: Span, specifiers: &[ExportSpecifier<'_>], from: Option<u32>) {
        let is_type = |one: &ExportSpecifier<'_>| {
            one.export_kind.is_type() || from.is_none() && self.names.is_type(one.local.name().as_str())
        };
        let kept: Vec<_> = specifiers.iter().filter(|one| !is_type(one)).collect();
        if kept.len() == specifiers.len() {
            return;
        }
        if kept.is_empty() {
            return self.erase_statement(span);
        }
        let names: Vec<_> = kept.iter().map(|one| self.edits.part(one.span.start, one.span.end)).collect();
        let clause = format!("export {{ {} }}", names.join(", "));
        match from {
            Some(from) => self.edits.replace(span.start, from, &format!("{clause} from ")),
            None => self.edits.replace(span.start, span.end, &format!("{clause};")),
        }
    }
}

impl<'a> Visit<'a> for TypeEraser<'_> {
    fn visit_statement(&mut self, it: &Statement<'a>) {
        if is_type_statement(it) {
            return self.erase_statement(it.span());
        }
        walk::walk_statement(self, it);
        self.end_statement(it.span());
    }

    fn visit_import_declaration(&mut self, it: &ImportDeclaration<'a>) {
        self.erase_import(it);
    }

    fn visit_export_declaration(&mut self, it: &ExportDeclaration<'a>) {
        match self.open_namespaces.is_empty() {
            true => walk::walk_export_declaration(self, it),
            false => self.export_from_namespace(it),
        }
    }

    fn visit_export_named_declaration(&mut self, it: &ExportNamedDeclaration<'a>) {
        match it.export_kind.is_type() {
            true => self.erase_statement(it.span),
            false => self.erase_exports(it.span, &it.specifiers, None),
        }
    }

    fn visit_export_from_declaration(&mut self, it: &ExportFromDeclaration<'a>) {
        match it.export_kind.is_type() {
            true => self.erase_statement(it.span),
            false => self.erase_exports(it.span, &it.specifiers, Some(it.source.span.start)),
        }
    }

    fn visit_export_all_declaration(&mut self, it: &ExportAllDeclaration<'a>) {
        if it.export_kind.is_type() {
            self.erase_statement(it.span);
        }
    }

    fn visit_ts_export_assignment(&mut self, it: &TSExportAssignment<'a>) {
        self.edits.replace(it.span.start, it.expression.span().start, "export default ");
        self.visit_expression(&it.expression);
    }

    fn visit_ts_import_equals_declaration(&mut self, it: &TSImportEqualsDeclaration<'a>) {
        let is_module = matches!(it.module_reference, TSModuleReference::ExternalModuleReference(_));
        if it.import_kind.is_type() || !is_module && !self.names.used.contains(it.id.name.as_str()) {
            return self.erase_statement(it.span);
        }
        self.edits.replace(it.span.start, it.id.span.start, "const ");
    }

    fn visit_ts_enum_declaration(&mut self, it: &TSEnumDeclaration<'a>) {
        self.rewrite_enum(it);
    }

    fn visit_ts_namespace_declaration(&mut self, it: &TSNamespaceDeclaration<'a>) {
        self.rewrite_namespace(it);
    }

    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        self.qualify_enum_member(it.name.as_str(), it.span.start);
    }

    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        if it.definite {
            self.erase_sign(it.id.span().end);
        }
        walk::walk_variable_declarator(self, it);
    }

    fn visit_function(&mut self, it: &Function<'a>, flags: ScopeFlags) {
        if let Some(this) = &it.this_param {
            let rest = it.params.rest.as_ref().map(|rest| rest.span.start);
            let next = it.params.items.first().map(|item| item.span.start).or(rest);
            self.edits.erase(this.span.start, next.unwrap_or(it.params.span.end - 1));
        }
        if let Some(parameters) = &it.type_parameters {
            self.visit_ts_type_parameter_declaration(parameters);
        }
        self.visit_formal_parameters(&it.params);
        if let Some(annotation) = &it.return_type {
            self.visit_ts_type_annotation(annotation);
        }
        if let Some(body) = &it.body {
            self.visit_function_body(body);
        }
        let _ = flags;
    }

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        if let Some(parameters) = &it.type_parameters {
            self.erase_up_to(parameters.span, "(");
        }
        self.visit_formal_parameters(&it.params);
        if let Some(annotation) = &it.return_type {
            self.erase_up_to(annotation.span, "=>");
        }
        self.visit_arrow_function_body(&it.body);
    }

    fn visit_formal_parameter(&mut self, it: &FormalParameter<'a>) {
        let start = it.decorators.last().map_or(it.span.start, |decorator| decorator.span.end);
        self.erase_modifiers(start, it.pattern.span().start, false);
        if it.optional {
            self.erase_sign(it.pattern.span().end);
        }
        walk::walk_formal_parameter(self, it);
    }

    fn visit_class(&mut self, it: &Class<'a>) {
        if it.r#abstract {
            let start = it.decorators.last().map_or(it.span.start, |decorator| decorator.span.end);
            let found = self.edits.part(start, it.body.span.start).find("abstract");
            if let Some(offset) = found {
                self.edits.erase(start + offset as u32, start + offset as u32 + 8);
            }
        }
        if let Some(first) = it.implements.first()
            && let Some(offset) = self.edits.part(it.span.start, first.span.start).rfind("implements")
        {
            self.edits.erase(it.span.start + offset as u32, it.body.span.start);
        }
        for element in &it.body.body {
            if let ClassElement::MethodDefinition(method) = element
                && method.kind == MethodDefinitionKind::Constructor
            {
                self.assign_parameter_properties(method, it.heritage.is_some());
            }
        }
        walk::walk_class(self, it);
    }

    fn visit_class_element(&mut self, it: &ClassElement<'a>) {
        match is_type_member(it) {
            true => self.erase_statement(it.span()),
            false => walk::walk_class_element(self, it),
        }
    }

    fn visit_method_definition(&mut self, it: &MethodDefinition<'a>) {
        let start = it.decorators.last().map_or(it.span.start, |decorator| decorator.span.end);
        self.erase_modifiers(start, it.key.span().start, true);
        if it.optional {
            self.erase_sign(it.key.span().end);
        }
        walk::walk_method_definition(self, it);
    }

    fn visit_property_definition(&mut self, it: &PropertyDefinition<'a>) {
        let start = it.decorators.last().map_or(it.span.start, |decorator| decorator.span.end);
        self.erase_modifiers(start, it.key.span().start, true);
        if it.optional || it.definite {
            self.erase_sign(it.key.span().end);
        }
        walk::walk_property_definition(self, it);
        self.end_statement(it.span);
    }

    fn visit_ts_as_expression(&mut self, it: &TSAsExpression<'a>) {
        self.visit_expression(&it.expression);
        self.edits.erase(it.expression.span().end, it.span.end);
    }

    fn visit_ts_satisfies_expression(&mut self, it: &TSSatisfiesExpression<'a>) {
        self.visit_expression(&it.expression);
        self.edits.erase(it.expression.span().end, it.span.end);
    }

    fn visit_ts_type_assertion(&mut self, it: &TSTypeAssertion<'a>) {
        let inner = it.expression.span();
        // Without its type, an object could be taken for a block.
        match &it.expression {
            Expression::ObjectExpression(_) => {
                self.edits.replace(it.span.start, inner.start, "(");
                self.edits.insert(inner.end, ")");
            }
            _ => self.edits.erase(it.span.start, inner.start),
        }
        self.visit_expression(&it.expression);
    }

    fn visit_ts_non_null_expression(&mut self, it: &TSNonNullExpression<'a>) {
        self.visit_expression(&it.expression);
        self.edits.erase(it.expression.span().end, it.span.end);
    }

    fn visit_ts_type_annotation(&mut self, it: &TSTypeAnnotation<'a>) {
        self.erase(it.span);
    }

    fn visit_ts_type_parameter_declaration(&mut self, it: &TSTypeParameterDeclaration<'a>) {
        self.erase(it.span);
    }

    fn visit_ts_type_parameter_instantiation(&mut self, it: &TSTypeParameterInstantiation<'a>) {
        self.erase(it.span);
    }

    fn visit_ts_class_implements(&mut self, _: &TSClassImplements<'a>) {}
}

/// Whether a statement is only about types.
pub(super) fn is_type_statement(statement: &Statement<'_>) -> bool {
    match statement {
        Statement::TSNamespaceExportDeclaration(_) => true,
        Statement::ExportDeclaration(export) => is_type_declaration(&export.declaration),
        Statement::ExportDefaultDeclaration(export) => match &export.declaration {
            ExportDefaultDeclarationKind::TSInterfaceDeclaration(_) => true,
            ExportDefaultDeclarationKind::FunctionDeclaration(function) => function.body.is_none(),
            _ => false,
        },
        other => other.as_declaration().is_some_and(is_type_declaration),
    }
}

fn is_type_declaration(declaration: &Declaration<'_>) -> bool {
    match declaration {
        Declaration::TSTypeAliasDeclaration(_)
        | Declaration::TSInterfaceDeclaration(_)
        | Declaration::TSGlobalDeclaration(_)
        | Declaration::TSExternalModuleDeclaration(_) => true,
        Declaration::VariableDeclaration(variables) => variables.declare,
        Declaration::FunctionDeclaration(function) => function.body.is_none(),
        Declaration::ClassDeclaration(class) => class.declare,
        Declaration::TSEnumDeclaration(declaration) => declaration.declare,
        Declaration::TSNamespaceDeclaration(namespace) => is_type_namespace(namespace),
        Declaration::TSImportEqualsDeclaration(_) => false,
    }
}

fn is_type_member(member: &ClassElement<'_>) -> bool {
    match member {
        ClassElement::TSIndexSignature(_) => true,
        ClassElement::MethodDefinition(method) => {
            method.r#type == MethodDefinitionType::TSAbstractMethodDefinition || method.value.body.is_none()
        }
        ClassElement::PropertyDefinition(property) => {
            property.declare || property.r#type == PropertyDefinitionType::TSAbstractPropertyDefinition
        }
        ClassElement::AccessorProperty(property) => property.r#type.is_abstract(),
        ClassElement::StaticBlock(_) => false,
    }
}

fn is_super_call(statement: &Statement<'_>) -> bool {
    let Statement::ExpressionStatement(statement) = statement else { return false };
    let Expression::CallExpression(call) = &statement.expression else { return false };
    matches!(call.callee, Expression::Super(_))
}

/// The next word before `end`, after spaces and comments, and where it starts.
fn next_word(source: &str, mut at: usize, end: usize) -> Option<(&str, usize)> {
    loop {
        let rest = source.get(at..end)?;
        let skipped = match rest {
            _ if rest.starts_with("//") => rest.find('\n')?,
            _ if rest.starts_with("/*") => rest.find("*/")? + 2,
            _ => rest.len() - rest.trim_start().len(),
        };
        if skipped == 0 {
            let length = rest.find(|char: char| !char.is_ascii_alphabetic()).unwrap_or(rest.len());
            return rest.get(..length).filter(|word| !word.is_empty()).map(|word| (word, at));
        }
        at += skipped;
    }
}
