//! Usage errors: reported before anything is opened, with a suggestion.

use osier_testkit::expect;

use crate::support::TestEnv;

fn errors(env: &TestEnv, runs: &[&[&str]]) -> String {
    let mut errors = String::new();
    for args in runs {
        let output = env.args(args);
        assert_eq!((output.code, output.out.as_str()), (2, ""), "{args:?}: {output}");
        errors += &format!("$ osier {}\n{}", args.join(" "), output.err);
    }
    errors
}

#[test]
fn conflicting_options_are_refused() {
    let env = TestEnv::new();
    let errors = errors(
        &env,
        &[
            &["-p", "-c", "--resume=4f89da11", "x"],
            &["-p", "--no-session", "--fork", "4f89da11", "x"],
            &["-p", "--no-session", "--name", "n", "x"],
            &["-p", "--name", " ", "x"],
            &["-p", "--tools", "read,wriet", "x"],
            &["-p", "--cwd", "nowhere", "x"],
            &["-p", "--model", "nonsense", "x"],
            &["-p"],
            &["-p", ""],
            &[],
        ],
    );
    expect![[r#"
        $ osier -p -c --resume=4f89da11 x
        osier: --continue and --resume cannot be combined; use only one of them
        $ osier -p --no-session --fork 4f89da11 x
        osier: --fork and --no-session cannot be combined; use only one of them
        $ osier -p --no-session --name n x
        osier: --name cannot be combined with --no-session: the session is not saved
        $ osier -p --name   x
        osier: --name is empty; `osier sessions rename` can clear a name
        $ osier -p --tools read,wriet x
        osier: no tool wriet; did you mean write? The tools are read, write, edit, bash, grep, find, ls, todo, backtrack, task
        $ osier -p --cwd nowhere x
        osier: --cwd nowhere: no such directory
        $ osier -p --model nonsense x
        osier: unknown model nonsense; `osier models` lists the available models
        $ osier -p
        osier: no prompt; give a PROMPT, or pipe one in: osier -p 'why is the sky blue?' (see `osier --help`)
        $ osier -p 
        osier: no prompt; give a PROMPT, or pipe one in: osier -p 'why is the sky blue?' (see `osier --help`)
        $ osier 
        osier: no prompt; give a PROMPT, or pipe one in: osier -p 'why is the sky blue?' (see `osier --help`)
    "#]].assert_eq(&errors);
    assert!(env.session_files().is_empty(), "no session was created");
}

#[test]
fn invalid_values_are_refused_with_the_valid_ones() {
    let env = TestEnv::new();
    for (args, known) in [
        (["--thinking", "hard", "x"], "[possible values: off, minimal, low, medium, high, xhigh, max]"),
        (["--approval", "all", "x"], "[possible values: default, autoEdit, sandbox, yolo]"),
        (["--mode", "xml", "x"], "[possible values: text, json, rpc]"),
    ] {
        let output = env.args(&args);
        assert_eq!((output.code, output.out.as_str()), (2, ""), "{output}");
        assert!(output.err.contains(known), "{output}");
    }
    let output = env.args(&["--tools", "read", "--no-tools", "x"]);
    assert!(output.code == 2 && output.err.contains("cannot be used with"), "{output}");
}

#[test]
fn a_mistyped_command_is_not_sent_to_a_model() {
    let env = TestEnv::new();
    let errors = errors(
        &env,
        &[
            &["sesions"],
            &["session", "list"],
            &["sesions", "list", "--all"],
            &["--verbose", "demo"],
            &["modles"],
            &["rpc"],
            &["rpc", "--stdio"],
            &["tree"],
        ],
    );
    expect![[r#"
        $ osier sesions
        osier: unknown command `sesions`; did you mean `osier sessions`? To send it to the model: osier -- 'sesions'
        $ osier session list
        osier: unknown command `session`; did you mean `osier sessions`? To send it to the model: osier -- 'session list'
        $ osier sesions list --all
        osier: unknown command `sesions`; did you mean `osier sessions`? To send it to the model: osier -- 'sesions list'
        $ osier --verbose demo
        osier: the options before the command `demo` do not apply to it. To send it to the model: osier -- 'demo'
        $ osier modles
        osier: unknown command `modles`; did you mean `osier models`? To send it to the model: osier -- 'modles'
        $ osier rpc
        osier: unknown command `rpc`; the commands are sessions, search, config, models, agents, explore, extensions, serve, token, doctor, trust, demo, schema, completions, man, help. To send it to the model: osier -- 'rpc'
        $ osier rpc --stdio
        osier: unknown command `rpc`; the commands are sessions, search, config, models, agents, explore, extensions, serve, token, doctor, trust, demo, schema, completions, man, help. To send it to the model: osier -- 'rpc'
        $ osier tree
        osier: unknown command `tree`; did you mean `osier sessions tree`? To send it to the model: osier -- 'tree'
    "#]].assert_eq(&errors);
    assert!(env.session_files().is_empty());
}

#[test]
fn sentences_and_explicit_prompts_are_prompts() {
    let env = TestEnv::new();
    for args in [
        &["session", "handling", "is", "odd"][..],
        &["--", "demo"],
        &["-p", "demo"],
        &["--mode", "text", "sessions"],
        &["say", "hello"],
        &["Hello"],
        &["-c", "yes"],
    ] {
        let output = env.args(args);
        assert_eq!((output.code, output.err.as_str()), (0, ""), "{args:?}: {output}");
    }
    assert_eq!(env.session_files().len(), 6);
}
