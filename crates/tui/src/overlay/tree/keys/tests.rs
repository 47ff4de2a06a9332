//! Keys that people choose, and what is wrong with some of them.

use super::*;

#[test]
fn a_name_that_nobody_knows_and_a_key_that_nobody_can_press_are_told() {
    let told = |name, keys| key_problem(name, keys).unwrap_or_default();
    assert_eq!(told("tree.label", "ctrl+k  alt+m"), "");
    assert_eq!(told("tree.lable", "ctrl+k"), "no key has the name tree.lable; did you mean tree.label?");
    assert_eq!(
        told("tree.mark", "alt+c hyper+m"),
        "hyper+m is no key; write it like ctrl+k, alt+left, L or pageUp"
    );
    assert_eq!(told("tree.mark", " "), "names no key; the usual one stays");
}

#[test]
fn where_all_keys_are_wrong_the_usual_ones_stay() {
    let changed = [("tree.choose", "entre"), ("tree.label", "x y hyper+z")];
    let changed = changed.map(|(name, keys)| (name.to_owned(), keys.to_owned())).into();
    let keys = Keys::new(&changed);
    let deed = |key| keys.deed(Key::parse(key).unwrap());
    assert_eq!(deed("enter"), Some(Deed::Choose));
    assert_eq!([deed("x"), deed("y"), deed("L")], [Some(Deed::Label), Some(Deed::Label), None]);
    assert_eq!(keys.help()[..3], ["↑↓ enter go", "escape leave", "x label"]);
}
