//! What a token is. Grammars name scopes, from the whole file down to a single character; few of them have a look of their own.

use std::sync::LazyLock;

use syntect::parsing::Scope;

/// What a piece of code is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenClass {
    Plain,
    Comment,
    /// A string, a character or a regular expression.
    Literal,
    Number,
    Keyword,
    Type,
    Function,
    /// The name of a field, of an attribute or of a variable in a shell.
    Property,
}

/// What a scope says about its text.
#[derive(Debug, Clone, Copy)]
enum ScopeMeaning {
    Class(TokenClass),
    /// A keyword if it is a word, such as `and`; plain if it is a sign.
    Operator,
    /// A string, unless it is the key of a mapping.
    Text,
    /// A keyword such as `let`, or the name of a type such as `int`.
    Storage,
}

use ScopeMeaning::{Class, Operator, Storage, Text};
use TokenClass::{Comment, Function, Keyword, Literal, Number, Plain, Property, Type};

/// The first prefix that matches counts. A scope without one says nothing; the scope around it decides.
const MEANINGS: &[(&str, ScopeMeaning)] = &[
    ("comment", Class(Comment)),
    ("string", Text),
    ("constant.character", Class(Literal)),
    ("constant.numeric", Class(Number)),
    ("constant.language", Class(Keyword)),
    ("keyword.operator", Operator),
    ("keyword", Class(Keyword)),
    ("storage.modifier.lifetime", Class(Type)),
    ("storage.type.numeric", Class(Type)),
    ("storage.type.primitive", Class(Type)),
    ("storage.type", Storage),
    ("storage", Class(Keyword)),
    ("variable.language", Class(Keyword)),
    ("variable.function", Class(Function)),
    ("entity.name.function", Class(Function)),
    ("entity.name.macro", Class(Function)),
    ("support.function", Class(Function)),
    ("support.macro", Class(Function)),
    ("support.type.property-name", Class(Property)),
    ("support.type", Class(Type)),
    ("support.class", Class(Type)),
    ("entity.other.inherited-class", Class(Type)),
    ("entity.other.attribute-name", Class(Property)),
    ("entity.name.tag.yaml", Class(Property)),
    ("entity.name.tag.toml", Class(Property)),
    ("entity.name.tag", Class(Keyword)),
    ("entity.name.section", Class(Keyword)),
    ("entity.name.type", Class(Type)),
    ("entity.name.class", Class(Type)),
    ("entity.name.struct", Class(Type)),
    ("entity.name.enum", Class(Type)),
    ("entity.name.union", Class(Type)),
    ("entity.name.trait", Class(Type)),
    ("entity.name.interface", Class(Type)),
    ("meta.group.expansion.parameter", Class(Property)),
    ("markup.heading", Class(Keyword)),
    ("markup.raw", Class(Literal)),
    ("markup.underline.link", Class(Function)),
    ("meta.interpolation", Class(Plain)),
    ("punctuation.section.expansion.parameter", Class(Property)),
    ("punctuation.section", Class(Plain)),
    ("punctuation.separator", Class(Plain)),
    ("punctuation.terminator", Class(Plain)),
    ("punctuation.accessor", Class(Plain)),
    // Code in another language, such as a script in a page, starts anew.
    ("source", Class(Plain)),
    ("text", Class(Plain)),
];

/// The scopes around the key of a mapping, such as the name of a field in JSON.
const KEYS: &[&str] = &["meta.mapping.key", "meta.structure.dictionary.key"];

/// Types that some grammars do not tell from keywords.
const PRIMITIVES: &[&str] = &[
    "bool", "byte", "char", "double", "f32", "f64", "float", "i128", "i16", "i32", "i64", "i8", "int",
    "isize", "long", "short", "signed", "str", "string", "u128", "u16", "u32", "u64", "u8", "unsigned",
    "usize", "void",
];

/// How far a string is below its key. A limit, because hostile code nests deeply.
const KEY_DEPTH: usize = 6;

/// The class of a token with these scopes, the innermost last.
pub(crate) fn classify(scopes: &[Scope], token: &str) -> TokenClass {
    let meaning = scopes.iter().rev().find_map(|scope| meaning_of(*scope));
    match meaning {
        Some(Class(class)) => class,
        Some(Operator) if token.starts_with(char::is_alphabetic) => Keyword,
        Some(Text) if scopes.iter().rev().take(KEY_DEPTH).any(|scope| is_key(*scope)) => Property,
        Some(Text) => Literal,
        Some(Storage) if PRIMITIVES.contains(&token) => Type,
        Some(Storage) => Keyword,
        Some(Operator) | None => Plain,
    }
}

fn meaning_of(scope: Scope) -> Option<ScopeMeaning> {
    static PREFIXES: LazyLock<Vec<(Scope, ScopeMeaning)>> =
        LazyLock::new(|| MEANINGS.iter().map(|(name, meaning)| (parse_scope(name), *meaning)).collect());
    PREFIXES.iter().find(|(prefix, _)| prefix.is_prefix_of(scope)).map(|(_, meaning)| *meaning)
}

fn is_key(scope: Scope) -> bool {
    static PREFIXES: LazyLock<Vec<Scope>> =
        LazyLock::new(|| KEYS.iter().map(|name| parse_scope(name)).collect());
    PREFIXES.iter().any(|prefix| prefix.is_prefix_of(scope))
}

fn parse_scope(name: &str) -> Scope {
    Scope::new(name).expect("the scopes above have at most eight parts")
}
