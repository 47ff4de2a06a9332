//! Enums and namespaces as JavaScript: functions that fill an object.

use oxc_ast::ast::{
    Declaration, ExportDeclaration, Statement, TSEnumDeclaration, TSEnumMember, TSEnumMemberName,
    TSNamespaceDeclaration, TSNamespaceDeclarationBody,
};
use oxc_ast_visit::{Visit, walk};
use oxc_span::GetSpan;

use super::erase::{TypeEraser, is_type_statement};

/// The enum whose members are visited. Values may name earlier members.
#[derive(Debug)]
pub(super) struct OpenEnum {
    name: String,
    members: Vec<String>,
}

impl<'a> TypeEraser<'_> {
    pub(super) fn rewrite_enum(&mut self, declaration: &TSEnumDeclaration<'a>) {
        let name = declaration.id.name.as_str();
        let body = declaration.body.span;
        let start = format!(
            "var {name} = (({name}) => {{ let $last = -1; const $member = (name, value) => {{ {name}[name] = $last = value; \
             if (typeof value !== \"string\") {name}[value] = name; }}; ["
        );
        self.edits.replace(declaration.span.start, body.start + 1, &start);
        self.open_enums.push(OpenEnum { name: name.to_owned(), members: Vec::new() });
        for member in &declaration.body.members {
            self.rewrite_member(member);
        }
        self.open_enums.pop();
        self.edits.replace(body.end - 1, body.end, &format!("]; return {name}; }})({name} || {{}});"));
    }

    fn rewrite_member(&mut self, member: &TSEnumMember<'a>) {
        let id = member.id.span();
        let name = match &member.id {
            TSEnumMemberName::Identifier(name) => format!("\"{}\"", name.name),
            _ => self.edits.part(id.start, id.end).to_owned(),
        };
        match &member.initializer {
            Some(value) => {
                self.edits.replace(member.span.start, value.span().start, &format!("$member({name}, "));
                self.visit_expression(value);
                self.edits.insert(value.span().end, ")");
            }
            None => {
                self.edits.replace(
                    member.span.start,
                    member.span.end,
                    &format!("$member({name}, $last + 1)"),
                );
            }
        }
        if let (TSEnumMemberName::Identifier(name), Some(open)) = (&member.id, self.open_enums.last_mut()) {
            open.members.push(name.name.to_string());
        }
    }

    /// A name in the value of an enum member may be an earlier member.
    pub(super) fn qualify_enum_member(&mut self, name: &str, start: u32) {
        let Some(open) = self.open_enums.last() else { return };
        if open.members.iter().any(|member| member == name) {
            let prefix = format!("{}.", open.name);
            self.edits.insert(start, &prefix);
        }
    }

    pub(super) fn rewrite_namespace(&mut self, declaration: &TSNamespaceDeclaration<'a>) {
        let name = declaration.id.name.as_str();
        let TSNamespaceDeclarationBody::TSModuleBlock(block) = &declaration.body else {
            return self
                .refuse("a namespace with a dot in its name is not supported", declaration.span.start);
        };
        self.edits.replace(
            declaration.span.start,
            block.span.start + 1,
            &format!("var {name} = (({name}) => {{"),
        );
        self.open_namespaces.push(Vec::new());
        self.visit_statements(&block.body);
        let exported = self.open_namespaces.pop().unwrap_or_default();
        let fill: String = exported.iter().map(|export| format!("{name}.{export} = {export}; ")).collect();
        self.edits.replace(
            block.span.end - 1,
            block.span.end,
            &format!("; {fill}return {name}; }})({name} || {{}});"),
        );
    }

    /// An export of a namespace: the declaration stays, and the end of the namespace exports its names.
    pub(super) fn export_from_namespace(&mut self, export: &ExportDeclaration<'a>) {
        self.edits.erase(export.span.start, export.declaration.span().start);
        let mut names = Vec::new();
        match &export.declaration {
            Declaration::VariableDeclaration(variables) => {
                for variable in &variables.declarations {
                    names.extend(variable.id.get_binding_identifiers().iter().map(|id| id.name.to_string()));
                }
            }
            other => names.extend(other.id().map(|id| id.name.to_string())),
        }
        if let Some(open) = self.open_namespaces.last_mut() {
            open.extend(names);
        }
        walk::walk_export_declaration(self, export);
    }
}

/// Whether a namespace declares only types.
pub(super) fn is_type_namespace(declaration: &TSNamespaceDeclaration<'_>) -> bool {
    match &declaration.body {
        _ if declaration.declare => true,
        TSNamespaceDeclarationBody::TSModuleBlock(block) => {
            block.body.iter().all(|statement| match statement {
                Statement::ExportNamedDeclaration(_) => true,
                other => is_type_statement(other),
            })
        }
        TSNamespaceDeclarationBody::TSNamespaceDeclaration(inner) => is_type_namespace(inner),
    }
}
