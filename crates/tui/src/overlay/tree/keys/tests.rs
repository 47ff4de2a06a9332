//! Keys from the settings, valid and invalid.

use super::*;

#[test]
fn unknown_names_and_unknown_keys_are_reported() {
    let problem = |name, keys| key_problem(name, keys).unwrap_or_default();
    assert_eq!(problem("tree.label", "ctrl+k  alt+m"), "");
    assert_eq!(problem("tree.lable", "ctrl+k"), "unknown key name tree.lable; did you mean tree.label?");
    assert_eq!(
        problem("tree.mark", "alt+c hyper+m"),
        "unknown key hyper+m; write keys like ctrl+k, alt+left, L or pageUp"
    );
    assert_eq!(problem("tree.mark", " "), "no key given; the default key stays");
}

#[test]
fn the_default_keys_stay_if_all_given_keys_are_unknown() {
    let changed = [("tree.choose", "entre"), ("tree.label", "x y hyper+z")];
    let changed = changed.map(|(name, keys)| (name.to_owned(), keys.to_owned())).into();
    let keys = KeyMap::new(&changed);
    let action = |key| keys.action(Key::parse(key).unwrap());
    assert_eq!(action("enter"), Some(TreeAction::Select));
    assert_eq!(
        [action("x"), action("y"), action("L")],
        [Some(TreeAction::Label), Some(TreeAction::Label), None]
    );
    assert_eq!(keys.help_parts()[..2], ["↑↓ enter select", "esc cancel"]);
    assert!(keys.help_parts().contains(&"x label".to_owned()));
}
