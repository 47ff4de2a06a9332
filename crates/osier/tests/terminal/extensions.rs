//! Extensions on the screen: notifications, failures and dialogs.

use crate::screen::{CTRL_C, ESCAPE, READY, open};
use crate::support::TestEnv;

#[test]
fn an_extension_notifies_and_asks() {
    let env = TestEnv::new();
    env.write(
        "x.ts",
        r#"export default function (pi: any) {
            pi.registerCommand("hello", { handler: async (args, ctx) => ctx.ui.notify(`hello ${args} in ${ctx.mode}`) });
            pi.registerCommand("choose", { handler: async (_args, ctx) => {
                const choice = await ctx.ui.select("Which color?", ["red", "green"]);
                const name = await ctx.ui.input("Your name?");
                ctx.ui.notify(`chose ${choice} for ${name}`);
            } });
            pi.registerCommand("break", { handler: () => { throw new Error("broken on purpose"); } });
        }"#,
    );
    let mut screen = open(&env, &["-e", "x.ts"]);
    screen.wait_for(READY);
    screen.submit("/hello you");
    screen.wait_for("hello you in tui");
    screen.submit("/choose now");
    screen.wait_for("Which color?");
    screen.wait_for("green");
    screen.press("\x1b[B");
    screen.wait_for("› green");
    screen.answer_until("\r", |text| text.contains("Your name?"));
    screen.answer_until("Ada\r", |text| text.contains("chose "));
    screen.wait_for("chose green for Ada");
    screen.submit("/break it");
    screen.wait_for("broken on purpose");
    screen.quit();
}

const SCREEN: &str = r#"import { CustomEditor } from "@earendil-works/pi-coding-agent";
import { Text, matchesKey } from "@earendil-works/pi-tui";
export default function (pi: any) {
    pi.registerMessageRenderer("note", (message, { expanded }, theme) =>
        new Text(theme.fg("accent", `note: ${message.content}`) + (expanded ? " (expanded)" : "") + "\x1b]0;EVIL\x07", 0, 0));
    pi.registerCommand("note", { handler: async (text) => { pi.sendMessage({ customType: "note", content: text, display: true }); } });
    pi.registerCommand("float", { handler: async (_args, ctx) => {
        const key = await ctx.ui.custom((_tui, _theme, _keys, done) => ({
            render: (width) => ["╔" + "═".repeat(width - 2) + "╗", "║" + "x".repeat(200), "╚" + "═".repeat(width - 2) + "╝"],
            handleInput: (data) => done(matchesKey(data, "escape") ? "escape" : data), invalidate() {},
        }), { overlay: true, overlayOptions: { anchor: "top-right", width: 20 } });
        ctx.ui.notify(`float closed with ${key}`);
    } });
    class Shout extends CustomEditor {
        handleInput(data) { super.handleInput(/^[a-z]$/.test(data) ? data.toUpperCase() : data); }
        render(width) { const lines = super.render(width); lines[lines.length - 1] = "-- shout --"; return lines; }
    }
    pi.registerCommand("shout", { handler: async (_args, ctx) => {
        ctx.ui.setEditorComponent((tui, theme, keys) => new Shout(tui, theme, keys));
    } });
}"#;

#[test]
fn an_extension_draws_its_messages_and_they_expand() {
    let env = TestEnv::new();
    env.write("x.ts", SCREEN);
    let mut screen = open(&env, &["-e", "x.ts"]);
    screen.wait_for(READY);
    screen.submit("/note first");
    screen.wait_for("note: first");
    assert!(!screen.text().contains("[note]"), "Osier's own drawing is replaced: {}", screen.text());
    screen.press("\x0f");
    screen.wait_for("note: first (expanded)");
    assert!(!String::from_utf8_lossy(&screen.bytes).contains("]0;EVIL"));
    screen.quit();
}

#[test]
fn a_float_stands_at_its_place_and_what_it_covered_comes_back() {
    let env = TestEnv::new();
    env.write("x.ts", SCREEN);
    let mut screen = open(&env, &["-e", "x.ts"]);
    screen.wait_for(READY);
    screen.submit("/float now");
    screen.wait_for("╔══");
    let text = screen.text();
    let rows: Vec<&str> = text.lines().collect();
    assert!(rows[0].ends_with("╔══════════════════╗"), "{text}");
    assert!(rows[2].ends_with("╚══════════════════╝"), "{text}");
    assert!(rows.iter().all(|row| row.chars().count() <= 80), "{text}");
    assert!(text.contains("type a message"), "the rest stays visible: {text}");
    screen.press("q");
    screen.wait_for("float closed with q");
    screen.wait_gone("╔══");
    screen.quit();
}

#[test]
fn an_editor_of_an_extension_sends_prompts_and_commands() {
    let env = TestEnv::new();
    env.write("x.ts", SCREEN);
    let mut screen = open(&env, &["-e", "x.ts"]);
    screen.wait_for(READY);
    screen.submit("/shout now");
    screen.wait_for("-- shout --");
    screen.press("hello");
    screen.wait_for("HELLO");
    screen.press("\r");
    screen.wait_for("> HELLO");
    screen.wait_for("-- shout --");
    screen.quit();
}

#[test]
fn a_slow_command_and_a_slow_check_are_shown_and_escape_cancels_them() {
    let env = TestEnv::new();
    env.write(
        "x.ts",
        r#"export default function (pi: any) {
            pi.on("input", async (event) => { if (event.text === "check me") await new Promise(() => {}); });
            pi.registerCommand("slow", { handler: async () => { await new Promise(() => {}); } });
            pi.registerCommand("loop", { handler: () => { while (true) {} } });
            pi.registerCommand("ask", { handler: async (_args, ctx) => { await ctx.ui.input("Your name?", "Ada"); ctx.ui.notify("asked"); } });
        }"#,
    );
    let mut screen = open(&env, &["-e", "x.ts"]);
    screen.wait_for(READY);
    screen.submit("check me");
    screen.wait_for("an extension checks your prompt");
    screen.press(ESCAPE);
    screen.wait_gone("an extension checks your prompt");
    screen.wait_for("> check me");
    screen.press(CTRL_C);
    screen.wait_gone("> check me");
    screen.submit("/ask now");
    screen.wait_for("Your name?  from x.ts");
    screen.wait_for("Ada");
    screen.answer_until("\r", |text| text.contains("asked"));
    for name in ["slow", "loop"] {
        screen.submit(&format!("/{name} now"));
        screen.wait_for(&format!("running /{name}"));
        screen.press(ESCAPE);
        screen.wait_for(&format!("Canceled /{name}"));
        screen.wait_gone(&format!("running /{name}"));
    }
    screen.quit();
}
