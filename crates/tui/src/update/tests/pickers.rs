//! Picker lists.

use super::*;

#[test]
fn the_model_picker_filters_as_you_type() {
    let mut desk = Desk::new(60, 14);
    let mut setting = crate::state::Setting::clone(&desk.state.setting);
    setting.models = ["a/model", "b/large", "b/small", "c/mall"].map(str::to_owned).to_vec();
    desk.state.setting = setting.into();
    desk.say("/model");
    desk.check(expect![[r#"

        Model
        / type to search
        › a/model    ← now
          b/large
          b/small
          c/mall
        (1/4) ↑↓ · enter takes it · escape
        code │ a/model │ #0 │ 5e551011
    "#]]);
    desk.press("'bsm' enter");
    assert_eq!(desk.asked(), "Send(SetModel(\"b/small\"), Change(\"model: b/small\"))\n");
    assert!(desk.state.overlays.is_empty());
    desk.say("/model c/mall");
    assert_eq!(desk.asked(), "Send(SetModel(\"c/mall\"), Change(\"model: c/mall\"))\n");
}

#[test]
fn the_status_line_warns_if_sandbox_mode_has_no_sandbox() {
    let mut desk = Desk::new(80, 8);
    desk.state.facts.approval = Some(osier_tools::approvals::Mode::Sandbox);
    desk.press("ctrl+c");
    assert!(desk.text().contains("│ no sandbox: asks before running anything │"), "{}", desk.text());
}

#[test]
fn thinking_and_approval_can_be_picked_and_wrong_names_are_reported() {
    let mut desk = Desk::new(60, 16);
    desk.say("/thinking");
    desk.press("'hi' enter");
    assert_eq!(desk.asked(), "Send(SetThinking(High), Change(\"thinking: high\"))\n");
    desk.say("/thinking much");
    assert!(desk.text().contains("there is no level much; levels: off, "), "{}", desk.text());
    desk.state.facts.approval = Some(osier_tools::approvals::Mode::AutoEdit);
    desk.press("ctrl+c");
    desk.say("/approval");
    desk.check(expect![[r#"

        Approval
        / type to search
          default   asks before anything that writes or runs
        › autoEdit  asks before anything that runs  ← now
          sandbox   not available, asks before anything that runs: …
          yolo      asks for nothing, confines nothing
        (2/4) ↑↓ · enter takes it · escape
        code │ a/model │ autoEdit │ #0 │ 5e551011
    "#]]);
    desk.press("down down enter");
    assert_eq!(desk.asked(), "Send(SetApproval(Yolo), Change(\"approval: yolo\"))\n");
    desk.say("/approval all");
    assert!(
        desk.text().contains("there is no mode all; modes: default, autoEdit, sandbox, "),
        "{}",
        desk.text()
    );
}
