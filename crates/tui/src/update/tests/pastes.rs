//! Pasted texts and images.

use super::*;

#[test]
fn a_long_paste_is_stored_in_the_session_and_sent_in_full() {
    let mut harness = Harness::new(60, 14);
    harness.update(Msg::Input(Input::Paste("line\n".repeat(20))));
    assert_eq!(harness.state.editor.text(), "[paste #1 +20 lines]");
    harness.press("enter");
    let actions = harness.take_actions();
    assert!(actions.starts_with("StorePastes([(\"[paste #1 +20 lines]\", \"line\\nline"), "{actions}");
    assert!(actions.contains("Send(Prompt { prompt: Prompt { text: \"line\\nline"), "{actions}");
}

#[test]
fn a_long_paste_is_folded_in_the_transcript_until_it_is_expanded() {
    let mut harness = Harness::new(60, 30);
    harness.update(Msg::Input(Input::Paste("line\n".repeat(20))));
    harness.press("enter");
    let content = "line\n".repeat(20).trim_end().to_owned();
    harness.run_steps(&format!(
        "entry {}",
        json!({ "type": "message", "message": { "role": "user", "content": content } })
    ));
    assert!(harness.text().contains("> [paste #1 +20 lines]"), "{}", harness.text());
    assert!(!harness.text().contains("line\n"), "{}", harness.text());
    harness.press("ctrl+o");
    harness.show_path();
    assert_eq!(harness.text().matches("line\n").count(), 20, "{}", harness.text());
}

fn picture() -> osier_protocol::Image {
    osier_protocol::Image { data: "AAAA".to_owned(), mime_type: "image/png".to_owned() }
}

#[test]
fn the_pasted_path_of_an_image_becomes_a_marker_and_the_image_is_sent_and_stored() {
    let mut harness = Harness::new(60, 14);
    harness.press("'see' space");
    harness.update(Msg::Input(Input::Paste("'/tmp/my shot.png'".to_owned())));
    assert_eq!(harness.take_actions(), "ReadImage(\"/tmp/my shot.png\")\n");
    harness.press("space '!'");
    harness.update(Msg::Image("/tmp/my shot.png".to_owned(), picture()));
    assert_eq!(harness.state.editor.text(), "see [image #1 my shot.png] !");
    harness.press("enter");
    let image = r#"Image { data: "AAAA", mime_type: "image/png" }"#;
    assert_eq!(
        harness.take_actions(),
        format!(
            "StoreImages([(\"[image #1 my shot.png]\", {image})])\n\
             Send(Prompt {{ prompt: Prompt {{ text: \"see [image #1 my shot.png] !\", images: [{image}], files: [], message: None }}, when: Now, expected_leaf_id: None }}, Prompt(\"see [image #1 my shot.png] !\"))\n"
        )
    );
    harness.submit("[image #1 my shot.png] again");
    assert!(!harness.take_actions().contains("StoreImages"), "the image is already stored");
}

#[test]
fn a_path_without_an_image_stays_a_path() {
    let mut harness = Harness::new(60, 14);
    harness.update(Msg::Input(Input::Paste("/tmp/gone.png".to_owned())));
    harness.press("enter");
    assert!(harness.take_actions().contains("text: \"/tmp/gone.png\", images: []"));
}

#[test]
fn an_image_is_pasted_from_the_clipboard_and_its_marker_deleted_at_once() {
    let mut harness = Harness::new(60, 14);
    harness.press("ctrl+v");
    assert_eq!(harness.take_actions(), "PasteImage\n");
    harness.update(Msg::Image(String::new(), picture()));
    assert_eq!(harness.state.editor.text(), "[image #1]");
    harness.press("backspace");
    assert!(harness.state.editor.is_empty());
}

#[test]
fn pastes_survive_a_restart_and_are_shown_as_markers() {
    let mut harness = Harness::new(60, 14);
    let long = "line\n".repeat(20);
    let joined = JoinedSession {
        pastes: [("[paste #3 +20 lines]".to_owned(), long.clone())].into(),
        images: [("[image #2 a.png]".to_owned(), picture())].into(),
        path_prompts: vec![format!("read {}", long.trim_end())],
        ..JoinedSession::default()
    };
    harness.update(Msg::Joined(Box::new(joined)));
    harness.press("up");
    assert_eq!(harness.state.editor.text(), "read [paste #3 +20 lines]");
    let text = format!("once more: {long} [image #2 a.png]");
    harness.press("ctrl+c");
    harness.moved(MoveReply { editor_text: Some(text), ..MoveReply::default() });
    assert_eq!(harness.state.editor.text(), "once more: [paste #3 +20 lines] [image #2 a.png]");
    harness.press("enter");
    let actions = harness.take_actions();
    assert!(actions.contains("once more: line\\nline") && actions.contains("data: \"AAAA\""), "{actions}");
    assert!(!actions.contains("Keep"), "{actions}");
}

#[test]
fn images_that_a_returned_message_does_not_name_get_markers() {
    let mut harness = Harness::new(60, 14);
    let editor_images = vec![Image { data: "AAAA".to_owned(), mime_type: "image/png".to_owned() }];
    harness.moved(MoveReply { editor_text: Some("look".to_owned()), editor_images, ..MoveReply::default() });
    assert_eq!(harness.state.editor.text(), "look [image #1]");
}
