//! Changes one key in the user's settings file. Keeps everything else byte for byte, and replaces the file atomically.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;

use osier_tools::read_regular_text;
use osier_tree::projection::preview::sanitize_line;
use toml_edit::{DocumentMut, Item, Table, Value};

use crate::error::SettingsError;
use crate::home::Home;
use crate::names;
use crate::rows::redact_url;
use crate::settings::table::{KeyLookup, SettingAccess, SettingKey, closest_name, look_up_key};
use crate::settings::{MAX_SETTINGS_BYTES, SettingsOwner, dotted_key};
use crate::trust;

/// Writes a value to the file. Returns the key, and the value with secrets hidden.
pub fn write_setting(name: &str, text: &str, home: &Home) -> Result<(Vec<String>, String), SettingsError> {
    let (path, key) = find_key(name)?;
    let kind = key.kind;
    let Some(value) = kind.parse_argument(text) else {
        return Err(SettingsError::Usage(format!("{} must be {kind}", dotted_key(&path))));
    };
    let invalid = |error: toml_edit::TomlError| {
        SettingsError::Invalid(format!("cannot set {}: {error}", dotted_key(&path)))
    };
    let value: Value = value.to_string().parse().map_err(invalid)?;
    names::check_names(key.name, &value, home)?;
    let shown = match value.as_str() {
        _ if key.access == SettingAccess::Secret => "(set)".to_owned(),
        Some(url) if key.name.ends_with(".base_url") => Value::from(redact_url(url)).to_string(),
        Some(url) if key.name.ends_with(".url") => {
            Value::from(osier_store_mysql::without_password(url)).to_string()
        }
        _ => value.to_string(),
    };
    let (head, mut document) = open_document(home)?;
    let no_table = || {
        let file = home.display_path(&home.config_file());
        SettingsError::Invalid(format!(
            "cannot set {}: its parent is not a table in {file}",
            dotted_key(&path)
        ))
    };
    let (last, above) = path.split_last().ok_or_else(no_table)?;
    let table = table_mut(document.as_item_mut(), above).ok_or_else(no_table)?;
    set_value(table, last, value);
    save(&head, &document, home)?;
    Ok((path, shown))
}

/// Removes a key from the file.
pub fn remove_setting(name: &str, home: &Home) -> Result<Vec<String>, SettingsError> {
    let (path, _) = find_key(name)?;
    let (head, mut document) = open_document(home)?;
    if !remove_key(document.as_item_mut(), &path) {
        let file = home.display_path(&home.config_file());
        return Err(SettingsError::Invalid(format!("{} is not set in {file}", dotted_key(&path))));
    }
    save(&head, &document, home)?;
    Ok(path)
}

/// Removes a key, and tables that are empty afterwards. Returns whether it was set.
fn remove_key(table: &mut Item, path: &[String]) -> bool {
    let Some((word, rest)) = path.split_first() else { return false };
    let inner = table.as_table_like_mut().and_then(|table| table.get_mut(word));
    let Some(inner) = inner else { return false };
    let is_there = rest.is_empty() || remove_key(inner, rest);
    let is_over = rest.is_empty() || inner.as_table_like().is_some_and(toml_edit::TableLike::is_empty);
    if is_there && is_over {
        table.as_table_like_mut().and_then(|table| table.remove(word));
        table.as_inline_table_mut().into_iter().for_each(toml_edit::InlineTable::fmt);
    }
    is_there
}

/// The parsed file. The text of a file that sets nothing, which is only comments, is returned separately and stays at the top.
fn open_document(home: &Home) -> Result<(String, DocumentMut), SettingsError> {
    let path = home.config_file();
    let shown = home.display_path(&path);
    let text = match read_regular_text(&path, MAX_SETTINGS_BYTES) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(SettingsError::io(format!("cannot read {shown}"))(error)),
    };
    let document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        let before = error.span().map_or(0, |span| span.start);
        let line = 1 + text.bytes().take(before).filter(|byte| *byte == b'\n').count();
        let message = error.message();
        SettingsError::Invalid(format!("{shown}:{line}: invalid TOML: {message}; fix the file first"))
    })?;
    Ok(if document.is_empty() { (text, DocumentMut::new()) } else { (String::new(), document) })
}

/// The table of a key, created if necessary.
fn table_mut<'d>(root: &'d mut Item, above: &[String]) -> Option<&'d mut Item> {
    let mut table = root;
    for word in above {
        let new = || {
            let mut new = Table::new();
            new.set_implicit(true);
            Item::Table(new)
        };
        table = table.as_table_like_mut()?.entry(word).or_insert_with(new);
    }
    table.is_table_like().then_some(table)
}

/// Sets a value. Keeps the spaces and comments around the old one.
fn set_value(table: &mut Item, word: &str, mut value: Value) {
    if let Some(Item::Value(old)) = table.get_mut(word) {
        *value.decor_mut() = old.decor().clone();
        *old = value;
    } else if let Some(inline) = table.as_inline_table_mut() {
        inline.insert(word, value);
        inline.fmt();
    } else if let Some(table) = table.as_table_mut() {
        table.insert(word, Item::Value(value));
    }
}

fn save(head: &str, document: &DocumentMut, home: &Home) -> Result<(), SettingsError> {
    let path = home.config_file();
    let gap = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
    let text = format!("{head}{gap}{document}");
    let write = || {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&home.folder)?;
        trust::replace_file(&path, text.as_bytes())
    };
    write().map_err(SettingsError::io(format!("cannot write {}", home.display_path(&path))))
}

/// Notices after a change: why it has no effect here, and what is wrong with the models.
pub fn change_notices(path: &[String], home: &Home) -> Result<Vec<String>, SettingsError> {
    let home = home.reload()?;
    let sets = home.settings.layers.settings();
    let over = sets.iter().find(|set| set.path == path && set.owner == SettingsOwner::Project);
    let over = over.map(|set| format!("{}:{} overrides it here", home.display_path(&set.file), set.line));
    let mut thoughts: Vec<String> = over.into_iter().collect();
    let registry = home.registry();
    thoughts.extend(registry.problems().iter().map(ToString::to_string));
    Ok(thoughts)
}

/// Looks up a setting by name. The error for an unknown name suggests the closest one.
pub fn find_key(name: &str) -> Result<(Vec<String>, &'static SettingKey), SettingsError> {
    let words = toml_edit::Key::parse(name)
        .map_err(|_| SettingsError::Usage(format!("invalid key {}", sanitize_line(name))))?;
    let path: Vec<String> = words.iter().map(|word| word.get().to_owned()).collect();
    match look_up_key(&path) {
        KeyLookup::Key(key) => Ok((path, key)),
        KeyLookup::Table => Err(SettingsError::Usage(format!("{name} is a table; name one of its keys"))),
        KeyLookup::Unknown(names) => {
            let word = path.last().map(String::as_str).unwrap_or_default();
            let above = &path[..path.len().saturating_sub(1)];
            let near = closest_name(word, &names).map(|near| [above, &[near.to_owned()]].concat());
            let hint = near.map_or_else(String::new, |near| format!("; did you mean {}?", dotted_key(&near)));
            Err(SettingsError::Usage(format!("unknown setting {}{hint}", sanitize_line(name))))
        }
    }
}
