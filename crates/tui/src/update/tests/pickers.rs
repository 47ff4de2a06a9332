//! Picker lists.

use super::*;

#[test]
fn the_model_picker_filters_as_you_type() {
    let mut harness = Harness::new(60, 14);
    harness.state.models = ["a/model", "b/large", "b/small", "c/mall"].map(str::to_owned).to_vec();
    harness.submit("/model");
    harness.check(expect![[r#"

        ╭─ Model ───────────────────────────────────────────────────
        │ / type to search
        │ › a/model    ← current
        │   b/large
        │   b/small
        │   c/mall
        ╰─ (1/4) ↑↓ move · enter select · esc cancel ───────────────
        code │ a/model │ #0 │ 5e551011
    "#]]);
    harness.press("'bsm' enter");
    assert_eq!(harness.take_actions(), "Send(SetModel { model: \"b/small\" }, Change(\"model: b/small\"))\n");
    assert!(harness.state.overlays.is_empty());
    harness.submit("/model c/mall");
    assert_eq!(harness.take_actions(), "Send(SetModel { model: \"c/mall\" }, Change(\"model: c/mall\"))\n");
}

#[test]
fn the_status_line_warns_if_sandbox_mode_has_no_sandbox() {
    let mut harness = Harness::new(80, 8);
    harness.state.status.approval_mode = Some(osier_tools::approvals::ApprovalMode::Sandbox);
    harness.press("ctrl+c");
    assert!(harness.text().contains("│ no sandbox: asks before running anything │"), "{}", harness.text());
}

#[test]
fn thinking_and_approval_can_be_picked_and_wrong_names_are_reported() {
    let mut harness = Harness::new(60, 16);
    harness.submit("/thinking");
    harness.press("'hi' enter");
    assert_eq!(harness.take_actions(), "Send(SetThinking { level: High }, Change(\"thinking: high\"))\n");
    harness.submit("/thinking much");
    assert!(harness.text().contains("unknown thinking level much; use one of off, "), "{}", harness.text());
    harness.state.status.approval_mode = Some(osier_tools::approvals::ApprovalMode::AutoEdit);
    harness.press("ctrl+c");
    harness.submit("/approval");
    harness.check(expect![[r#"

        ╭─ Approval ────────────────────────────────────────────────
        │ / type to search
        │   default   asks before writing files or running comman…
        │ › autoEdit  asks before running commands  ← current
        │   sandbox   not available, asks before running commands…
        │   yolo      never asks, no sandbox
        ╰─ (2/4) ↑↓ move · enter select · esc cancel ───────────────
        code │ a/model │ autoEdit │ #0 │ 5e551011
    "#]]);
    harness.press("down down enter");
    assert_eq!(harness.take_actions(), "Send(SetApproval { mode: Yolo }, Change(\"approval: yolo\"))\n");
    harness.submit("/approval all");
    assert!(
        harness.text().contains("unknown approval mode all; use one of default, autoEdit,"),
        "{}",
        harness.text()
    );
}
