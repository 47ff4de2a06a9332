//! The names that a program uses as values. Imports of other names are types, and are not loaded.

use std::collections::HashSet;

use oxc_ast::ast::{
    BindingIdentifier, Class, ExportNamedDeclaration, ExportSpecifier, Function, IdentifierReference,
    ImportDeclaration, TSClassImplements, TSExternalModuleDeclaration, TSGlobalDeclaration,
    TSImportEqualsDeclaration, TSInterfaceDeclaration, TSModuleReference, TSType, TSTypeAliasDeclaration,
    TSTypeAnnotation, TSTypeName, TSTypeParameterDeclaration, TSTypeParameterInstantiation,
    VariableDeclaration,
};
use oxc_ast_visit::{Visit, walk};
use oxc_syntax::scope::ScopeFlags;

#[derive(Debug, Default)]
pub(super) struct ValueNames {
    /// Names that an expression or an export reads.
    pub(super) used: HashSet<String>,
    /// Names that the program binds to values, except by imports.
    pub(super) bound: HashSet<String>,
    /// Names of types: declared, or imported as types.
    pub(super) types: HashSet<String>,
}

impl ValueNames {
    /// Whether a name is only the name of a type.
    pub(super) fn is_type(&self, name: &str) -> bool {
        self.types.contains(name) && !self.bound.contains(name)
    }
}

impl<'a> Visit<'a> for ValueNames {
    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        self.used.insert(it.name.to_string());
    }

    fn visit_binding_identifier(&mut self, it: &BindingIdentifier<'a>) {
        self.bound.insert(it.name.to_string());
    }

    fn visit_import_declaration(&mut self, it: &ImportDeclaration<'a>) {
        for specifier in it.specifiers.iter().flatten() {
            let is_type = it.import_kind.is_type()
                || matches!(specifier, oxc_ast::ast::ImportDeclarationSpecifier::ImportSpecifier(named) if named.import_kind.is_type());
            if is_type {
                self.types.insert(specifier.local().name.to_string());
            }
        }
    }

    fn visit_export_named_declaration(&mut self, it: &ExportNamedDeclaration<'a>) {
        if !it.export_kind.is_type() {
            walk::walk_export_named_declaration(self, it);
        }
    }

    fn visit_export_specifier(&mut self, it: &ExportSpecifier<'a>) {
        if !it.export_kind.is_type() {
            self.used.insert(it.local.name().to_string());
        }
    }

    fn visit_ts_import_equals_declaration(&mut self, it: &TSImportEqualsDeclaration<'a>) {
        let mut name = match &it.module_reference {
            TSModuleReference::QualifiedName(name) => &name.left,
            TSModuleReference::IdentifierReference(name) => {
                self.used.insert(name.name.to_string());
                return;
            }
            TSModuleReference::ExternalModuleReference(_) => return,
        };
        while let TSTypeName::QualifiedName(inner) = name {
            name = &inner.left;
        }
        if let TSTypeName::IdentifierReference(first) = name {
            self.used.insert(first.name.to_string());
        }
    }

    fn visit_ts_interface_declaration(&mut self, it: &TSInterfaceDeclaration<'a>) {
        self.types.insert(it.id.name.to_string());
    }

    fn visit_ts_type_alias_declaration(&mut self, it: &TSTypeAliasDeclaration<'a>) {
        self.types.insert(it.id.name.to_string());
    }

    fn visit_class(&mut self, it: &Class<'a>) {
        if !it.declare {
            walk::walk_class(self, it);
        }
    }

    fn visit_function(&mut self, it: &Function<'a>, flags: ScopeFlags) {
        if it.body.is_some() {
            walk::walk_function(self, it, flags);
        }
    }

    fn visit_variable_declaration(&mut self, it: &VariableDeclaration<'a>) {
        if !it.declare {
            walk::walk_variable_declaration(self, it);
        }
    }

    // Types use names, but not as values.
    fn visit_ts_type(&mut self, _: &TSType<'a>) {}
    fn visit_ts_type_annotation(&mut self, _: &TSTypeAnnotation<'a>) {}
    fn visit_ts_type_parameter_declaration(&mut self, _: &TSTypeParameterDeclaration<'a>) {}
    fn visit_ts_type_parameter_instantiation(&mut self, _: &TSTypeParameterInstantiation<'a>) {}
    fn visit_ts_class_implements(&mut self, _: &TSClassImplements<'a>) {}
    fn visit_ts_global_declaration(&mut self, _: &TSGlobalDeclaration<'a>) {}
    fn visit_ts_external_module_declaration(&mut self, _: &TSExternalModuleDeclaration<'a>) {}
}
