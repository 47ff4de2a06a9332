//! The components of pi-tui, as text.

use super::*;

/// The lines of a component at a width, without their styles.
async fn lines(imports: &str, component: &str, width: usize) -> String {
    let source = format!(
        "import {{ {imports} }} from '@earendil-works/pi-tui'; import {{ stripVTControlCharacters }} from 'node:util'; \
         export default (pi) => pi.registerCommand('draw', {{ handler: (_, ctx) => {{ \
            const component = (() => {{ {component} }})(); \
            ctx.ui.notify(component.render({width}).map((line) => stripVTControlCharacters(line).trimEnd()).join('\\n')); }} }});"
    );
    let mut session = TestSession::new(&[&source], []).await;
    session.send("/draw").await;
    session.notified().await
}

#[tokio::test]
async fn texts_wrap_inside_their_padding() {
    let drawn = lines("Text, Container, Box", "const all = new Container(); all.addChild(new Text('one two three', 1, 0)); const box = new Box(2, 1); box.addChild(new Text('日本', 0, 0)); all.addChild(box); return all;", 9).await;
    assert_eq!(drawn, " one two\n three\n\n  日本\n");
}

#[tokio::test]
async fn a_list_is_chosen_from_with_keys() {
    let list = "const list = new SelectList(['a', 'b', 'c'].map((value) => ({ value, label: `item ${value}` })), 2, {}); \
                list.onSelect = (item) => list.setItems([{ value: `chose ${item.value}` }]); ";
    let drawn = lines("SelectList", &format!("{list} list.handleInput('\\u001b[B'); return list;"), 30).await;
    assert_eq!(drawn, "  item a\n→ item b\n  (2/3)");
    let chosen = lines(
        "SelectList",
        &format!("{list} list.handleInput('\\u001b[A'); list.handleInput('\\r'); return list;"),
        30,
    )
    .await;
    assert_eq!(chosen, "→ chose c");
}

#[tokio::test]
async fn settings_change_with_enter() {
    let component = "return (() => { const list = new SettingsList([{ id: 'x', label: 'Sound', currentValue: 'on', values: ['on', 'off'] }], 5, {}, () => {}, () => {}); list.handleInput('\\r'); return list; })();";
    let drawn = lines("SettingsList", component, 40).await;
    assert!(drawn.starts_with("→ Sound  off\n"), "{drawn}");
}

#[tokio::test]
async fn an_input_is_edited() {
    let component = "const input = new Input(); for (const key of ['a', 'b', 'ü', '\\u001b[D', '\\u007f', 'X', '\\u001b[200~paste\\u001b[201~']) input.handleInput(key); return input;";
    assert_eq!(lines("Input", component, 20).await, "> aXpasteü");
    let editor = "const editor = new Editor({}, {}); for (const key of ['a', '\\u001b[13;2u', 'b']) editor.handleInput(key); return editor;";
    assert_eq!(lines("Editor", editor, 6).await, "──────\na\nb\n──────");
}

#[tokio::test]
async fn markdown_has_its_blocks() {
    let text = "# Head\\n\\nsome **bold** `code` text\\n\\n- one\\n- two\\n\\n> quote\\n\\n| a | b |\\n|---|---|\\n| 1 | 2 |\\n";
    let drawn = lines("Markdown", &format!("return new Markdown('{text}', 0, 0, {{}});"), 24).await;
    assert_eq!(
        drawn,
        "Head\n\nsome bold code text\n\n- one\n- two\n\n│ quote\n\n┌─────┬─────┐\n│ a   │ b   │\n├─────┼─────┤\n│ 1   │ 2   │\n└─────┴─────┘"
    );
}
