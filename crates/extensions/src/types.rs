//! `osier.d.ts`, the types of the API for TypeScript. A test generates the file: preparations, decisions and small enums from the Rust
//! types that Osier sends and reads, followed by the declarations in `types/`.

/// The content of `osier.d.ts`.
pub const TYPES: &str = include_str!("../osier.d.ts");

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use osier_agent::hooks::{
        CompactionDecision, ExtensionCompaction, ForkPosition, ForkPreparation, MoveDecision,
        MovePreparation, SwitchPreparation, SwitchReason,
    };
    use osier_model::ThinkingLevel;
    use osier_protocol::{NotifyType, WidgetPlacement};
    use schemars::JsonSchema;
    use schemars::generate::SchemaSettings;
    use serde_json::Value;

    /// Declarations that no Rust type describes: functions, components, and what JavaScript builds.
    const DECLARATIONS: [&str; 8] = [
        include_str!("../types/api.d.ts"),
        include_str!("../types/events.d.ts"),
        include_str!("../types/session.d.ts"),
        include_str!("../types/ui.d.ts"),
        include_str!("../types/functions.d.ts"),
        include_str!("../types/pi-ai.d.ts"),
        include_str!("../types/pi-tui.d.ts"),
        include_str!("../types/typebox.d.ts"),
    ];

    const HEADER: &str = "\
// The API of Osier's extensions for TypeScript. Generated: `UPDATE_EXPECT=1 cargo test -p osier-extensions types` writes this file.
// Print it with `osier extensions types`.
";

    /// One exported type.
    struct ExportedType {
        name: &'static str,
        schema: Value,
        /// Fields that are left out instead of null.
        optional: &'static [&'static str],
        /// Fields whose ids become what they name before an extension sees them, and fields with another exported type.
        replaced: &'static [(&'static str, &'static str)],
    }

    /// A value that Osier sends.
    fn sent<T: JsonSchema>(name: &'static str) -> ExportedType {
        let generator = SchemaSettings::default().for_serialize().into_generator();
        ExportedType {
            name,
            schema: generator.into_root_schema_for::<T>().to_value(),
            optional: &[],
            replaced: &[],
        }
    }

    /// A value that an extension returns.
    fn returned<T: JsonSchema>(name: &'static str) -> ExportedType {
        let generator = SchemaSettings::default().into_generator();
        ExportedType {
            name,
            schema: generator.into_root_schema_for::<T>().to_value(),
            optional: &[],
            replaced: &[],
        }
    }

    fn exported() -> Vec<ExportedType> {
        vec![
            sent::<ThinkingLevel>("ThinkingLevel"),
            sent::<NotifyType>("NotifyType"),
            sent::<WidgetPlacement>("WidgetPlacement"),
            sent::<SwitchReason>("SwitchReason"),
            sent::<ForkPosition>("ForkPosition"),
            ExportedType {
                optional: &["customInstructions", "label"],
                replaced: &[("entriesToSummarize", "SessionEntry[]")],
                ..sent::<MovePreparation>("TreePreparation")
            },
            returned::<MoveDecision>("SessionBeforeTreeResult"),
            returned::<ExtensionCompaction>("CompactionResult"),
            ExportedType {
                replaced: &[("compaction", "CompactionResult")],
                ..returned::<CompactionDecision>("SessionBeforeCompactResult")
            },
            ExportedType {
                replaced: &[("position", "ForkPosition")],
                ..sent::<ForkPreparation>("ForkPreparation")
            },
            ExportedType {
                optional: &["targetSessionFile"],
                replaced: &[("reason", "SwitchReason")],
                ..sent::<SwitchPreparation>("SwitchPreparation")
            },
        ]
    }

    fn declare(exported: &ExportedType) -> String {
        let ExportedType { name, schema, .. } = exported;
        let mut text = comment(schema, "\t");
        let Some(fields) = schema["properties"].as_object() else {
            let _ = writeln!(text, "\texport type {name} = {};", type_of(schema, schema));
            return text;
        };
        // A result may have data of the extension's own type.
        let parameter = if *name == "CompactionResult" { "<T = unknown>" } else { "" };
        let _ = writeln!(text, "\texport interface {name}{parameter} {{");
        for (field, of) in fields {
            let replaced =
                exported.replaced.iter().find(|(name, _)| name == field).map(|(_, of)| (*of).to_owned());
            if replaced.is_none() {
                text.push_str(&comment(of, "\t\t"));
            }
            let is_required =
                schema["required"].as_array().is_some_and(|names| names.contains(&field.as_str().into()));
            let is_optional = !is_required || exported.optional.contains(&field.as_str());
            let mut of = replaced.unwrap_or_else(|| type_of(of, schema));
            if is_optional {
                of = of.trim_end_matches(" | null").to_owned();
            }
            if !parameter.is_empty() && field == "details" {
                of = "T".to_owned();
            }
            let _ = writeln!(text, "\t\t{field}{}: {of};", if is_optional { "?" } else { "" });
        }
        text.push_str("\t}\n");
        text
    }

    fn comment(schema: &Value, indent: &str) -> String {
        let Some(text) = schema["description"].as_str() else { return String::new() };
        format!(
            "{indent}/** {} */\n",
            text.split("; see `").next().unwrap_or(text).replace('\n', " ").replace("`None`", "`null`")
        )
    }

    /// The type of a schema. `root` has the definitions.
    fn type_of(schema: &Value, root: &Value) -> String {
        if let Some(name) = schema["$ref"].as_str() {
            let definition = root.pointer(name.trim_start_matches('#')).unwrap_or(&Value::Null);
            return type_of(definition, root);
        }
        if let Some(options) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
            return options.iter().map(|option| type_of(option, root)).collect::<Vec<_>>().join(" | ");
        }
        if let Some(values) = schema["enum"].as_array() {
            return values.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
        }
        if let Some(value) = schema.get("const") {
            return value.to_string();
        }
        if let Some(fields) = schema["properties"].as_object() {
            let required = schema["required"].as_array();
            let field = |(name, of): (&String, &Value)| {
                let is_required = required.is_some_and(|names| names.contains(&name.as_str().into()));
                format!("{name}{}: {}", if is_required { "" } else { "?" }, type_of(of, root))
            };
            return format!("{{ {} }}", fields.iter().map(field).collect::<Vec<_>>().join("; "));
        }
        match &schema["type"] {
            Value::Array(types) => {
                types.iter().map(|of| plain(of, schema, root)).collect::<Vec<_>>().join(" | ")
            }
            of => plain(of, schema, root),
        }
    }

    fn plain(of: &Value, schema: &Value, root: &Value) -> String {
        match of.as_str() {
            Some("string") => "string".to_owned(),
            Some("integer" | "number") => "number".to_owned(),
            Some("boolean") => "boolean".to_owned(),
            Some("null") => "null".to_owned(),
            Some("array") => format!("{}[]", type_of(&schema["items"], root)),
            _ => "unknown".to_owned(),
        }
    }

    #[test]
    fn the_types_are_those_of_the_rust_types() {
        let generated: Vec<String> = exported().iter().map(declare).collect();
        let module = "declare module \"@earendil-works/pi-coding-agent\" {\n";
        let text = format!("{HEADER}\n{module}{}}}\n{}", generated.concat(), DECLARATIONS.concat());
        expect_test::expect_file!["../osier.d.ts"].assert_eq(&text);
    }

    #[test]
    fn todays_and_older_names_are_exported() {
        let names = [
            "HookAPI",
            "HookEventContext",
            "HookCommandContext",
            "HookUIContext",
            "HookMessage",
            "HookHandler",
        ];
        let seeds = [
            "TreePreparation",
            "SessionBeforeTreeEvent",
            "SessionBeforeTreeResult",
            "SessionTreeEvent",
            "BranchSummaryEntry",
        ];
        let entries = [
            "CompactionResult",
            "CompactionEntry",
            "CustomMessageEntry",
            "CustomMessageRenderer",
            "SessionTreeNode",
        ];
        for name in names.iter().chain(&seeds).chain(&entries) {
            let is_exported = |kind: &str| super::TYPES.contains(&format!("export {kind} {name}"));
            assert!(is_exported("interface") || is_exported("type"), "{name}");
        }
    }
}
