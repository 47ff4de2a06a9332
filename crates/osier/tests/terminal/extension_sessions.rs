//! Extensions in the terminal: the question whether one may run, and sessions that they open.

use crate::screen::{READY, open};
use crate::support::TestEnv;

/// Says what it runs.
const RUNNER: &str = r#"export default function (pi: any) {
    pi.on("session_start", async (_event, ctx) => {
        const { stdout } = await pi.exec("echo", ["ran it"]);
        ctx.ui.notify(stdout.trim());
    });
}"#;

#[test]
fn the_terminal_asks_once_what_an_extension_may_do() {
    let env = TestEnv::new();
    env.write("../home/extensions/runner.ts", RUNNER);
    let mut screen = open(&env, &[]);
    screen.wait_for("Allow the extension");
    screen.wait_for("runs programs with your rights");
    screen.wait_for("› n  No");
    // What you type is your prompt, even if it contains the letters of answers.
    screen.press("say yes");
    screen.wait_for("> say yes");
    assert!(!env.path("../home/extensions.json").exists(), "{}", screen.text());
    screen.answer_until("y", |text| text.contains("ran it"));
    screen.quit();
    let mut screen = open(&env, &[]);
    screen.wait_for("ran it");
    screen.quit();
    env.write("../home/extensions/runner.ts", RUNNER.replace("ran it", "ran again"));
    let mut screen = open(&env, &[]);
    screen.wait_for("Allow the extension");
    screen.wait_for("› n  No");
    screen.answer_until("\r", |text| text.contains("is not loaded"));
    screen.quit();
    let mut screen = open(&env, &[]);
    screen.wait_for(READY);
    // The reply comes after everything that is asked at the start.
    screen.submit("hello there");
    screen.wait_for("offline model");
    assert!(!screen.text().contains("Allow the extension"), "a refusal is kept");
    screen.quit();
}

#[test]
fn reload_finds_a_first_extension_and_its_commands_are_known_as_they_change() {
    let extension = |version: &str, command: &str| {
        format!(
            r#"export default function (pi: any) {{
                pi.on("session_start", (_event, ctx) => ctx.ui.notify("{version} loaded"));
                pi.registerCommand("{command}", {{ handler: (_args, ctx) => ctx.ui.notify("{command} ran") }});
            }}"#
        )
    };
    let env = TestEnv::new();
    let mut screen = open(&env, &[]);
    screen.wait_for(READY);
    env.write("../home/extensions/x.ts", extension("one", "first"));
    screen.submit("/reload");
    screen.wait_for("one loaded");
    screen.submit("/first");
    screen.wait_for("first ran");
    env.write("../home/extensions/x.ts", "export default (");
    screen.submit("/reload");
    screen.wait_for("cannot load the extension");
    screen.submit("/first");
    screen.wait_for("unknown command /first");
    screen.press("\x03");
    env.write("../home/extensions/x.ts", extension("two", "second"));
    screen.submit("/reload");
    screen.wait_for("two loaded");
    screen.submit("/second");
    screen.wait_for("second ran");
    screen.quit();
}

#[test]
fn a_command_opens_a_new_session_and_ends_the_program() {
    let env = TestEnv::new();
    env.write(
        "x.ts",
        r#"export default function (pi: any) {
            pi.registerCommand("fresh", { handler: async (_args, ctx) => {
                const before = ctx.sessionManager.getSessionId();
                await ctx.newSession({ withSession: (fresh) => {
                    fresh.ui.notify(`other session: ${fresh.sessionManager.getSessionId() !== before}`);
                } });
            } });
            pi.registerCommand("leave", { handler: (_args, ctx) => ctx.shutdown() });
        }"#,
    );
    let mut screen = open(&env, &["-e", "x.ts"]);
    screen.wait_for(READY);
    screen.submit("/fresh now");
    screen.wait_for("other session: true");
    screen.submit("/leave now");
    assert_eq!(screen.wait_for_exit().0, Some(0));
}
