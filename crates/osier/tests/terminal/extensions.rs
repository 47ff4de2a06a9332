//! Extensions on the screen: notifications, failures and dialogs.

use crate::screen::{READY, open};
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
