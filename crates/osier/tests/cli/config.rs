//! `osier config`: settings from several files, their precedence, and error messages.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use osier_testkit::{Expect, expect};

use crate::support::TestEnv;

/// A test environment with the user's settings file and optionally a project's.
fn env(user: &str, project: Option<&str>) -> TestEnv {
    let env = TestEnv::new();
    fs::create_dir(env.home()).unwrap();
    fs::write(env.home().join("config.toml"), user).unwrap();
    if let Some(project) = project {
        env.write(".osier/config.toml", project);
    }
    env
}

fn check(env: &TestEnv, commands: &[&[&str]], expect: Expect) {
    let output: String =
        commands.iter().map(|args| format!("$ {}\n{}", args.join(" "), env.args(args))).collect();
    expect.assert_eq(&env.with_stable_names(&output));
}

const CONFIG: &[&str] = &["config"];

#[test]
fn defaults_apply_without_settings_files() {
    check(
        &TestEnv::new(),
        &[CONFIG],
        expect![[r#"
            $ config
            model                          "offline/offline"  needs no key
            thinking                       "medium"           default
            approval                       "default"          default
            tools                          -
            backtracking                   true               default
            max_steps                      200                default
            summary_model                  -
            compaction.enabled             true               default
            compaction.reserve_tokens      -
            compaction.keep_recent_tokens  -
            restore_model_on_move          true               default
            subagents.enabled              true               default
            subagents.max_parallel         8                  default
            subagents.max_depth            1                  default
            subagents.max_turns            100                default
            subagents.max_tokens           -
            subagents.max_seconds          1800               default
            subagents.max_cost             -
            explore.max_copy_mb            200                default
            system_prompt                  -
            append_system_prompt           -
            theme                          "auto"             default
            double_escape                  "tree"             default
            tree_filter                    "default"          default
            tree_order                     "oldest"           default
            tree_style                     "flat"             default
            notify                         "bell"             default
            ask_summary                    true               default
            prompt_history                 true               default
            editor                         -
            durability                     "turn"             default
            agent                          "main"             default
            default_store                  "file"             default
            extensions                     -
            gateway.directories            -
            retry.attempts                 4                  default
            retry.patience                 60                 default
            sandbox.when                   "always"           default
            sandbox.user_commands          false              default
            sandbox.write                  -
            sandbox.hide                   -
            sandbox.show                   -
            sandbox.network                "off"              default
            sandbox.ports                  -
            sandbox.unix_sockets           false              default
        "#]],
    );
}

#[test]
fn settings_are_shown_with_file_and_line() {
    let env = env(
        "# mine\nthinking = \"low\"\ntools = [\"read\", \"ls\"]\n\n[providers.local]\nbase_url = \"http://127.0.0.1:8080/v1\"\n\
         [[providers.local.models]]\nid = \"smollm2\"\ncontext_window = 8192\n",
        Some("thinking = \"high\"\nretry.attempts = 2\n"),
    );
    check(
        &env,
        &[CONFIG],
        expect![[r#"
            $ config
            model                          "local/smollm2"             from your own server
            thinking                       "high"                      ~/code/.osier/config.toml:1
            approval                       "default"                   default
            tools                          ["read", "ls"]              ~/home/config.toml:3
            backtracking                   true                        default
            max_steps                      200                         default
            summary_model                  -
            compaction.enabled             true                        default
            compaction.reserve_tokens      -
            compaction.keep_recent_tokens  -
            restore_model_on_move          true                        default
            subagents.enabled              true                        default
            subagents.max_parallel         8                           default
            subagents.max_depth            1                           default
            subagents.max_turns            100                         default
            subagents.max_tokens           -
            subagents.max_seconds          1800                        default
            subagents.max_cost             -
            explore.max_copy_mb            200                         default
            system_prompt                  -
            append_system_prompt           -
            theme                          "auto"                      default
            double_escape                  "tree"                      default
            tree_filter                    "default"                   default
            tree_order                     "oldest"                    default
            tree_style                     "flat"                      default
            notify                         "bell"                      default
            ask_summary                    true                        default
            prompt_history                 true                        default
            editor                         -
            durability                     "turn"                      default
            agent                          "main"                      default
            default_store                  "file"                      default
            extensions                     -
            gateway.directories            -
            retry.attempts                 4                           default
            retry.patience                 60                          default
            sandbox.when                   "always"                    default
            sandbox.user_commands          false                       default
            sandbox.write                  -
            sandbox.hide                   -
            sandbox.show                   -
            sandbox.network                "off"                       default
            sandbox.ports                  -
            sandbox.unix_sockets           false                       default
            providers.local.base_url       "http://127.0.0.1:8080/v1"  ~/home/config.toml:6
            providers.local.models         smollm2                     ~/home/config.toml:7
            retry.attempts                 2                           not trusted: ~/code/.osier/config.toml:2
        "#]],
    );
}

#[test]
fn api_key_in_the_environment_selects_the_model_and_is_not_shown() {
    let env = TestEnv::new();
    let mut command = env.command();
    let output = command.env("OPENAI_API_KEY", "sk-hunter2").args(["config", "--json"]).output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(!out.contains("hunter2"), "{out}");
    let rows: serde_json::Value = serde_json::from_str(&out).unwrap();
    expect![[r#"{"key":"model","value":"openai/gpt-5.5","from":"environment","variable":"OPENAI_API_KEY"}"#]]
        .assert_eq(&rows[0].to_string());
}

#[test]
fn secrets_are_shown_only_as_set() {
    let env = env(
        "[providers.p]\nbase_url = \"https://me:hunter2@host.example/v1?key=hunter2#hunter2\"\n\
         api_key_command = \"echo hunter2\"\nheaders = { x-token = \"hunter2\" }\n",
        Some("[providers.q]\nbase_url = \"http://x:hunter2@y\"\nheaders = { a = \"hunter2\" }\n"),
    );
    let mut output = String::new();
    for args in [
        ["config"].as_slice(),
        &["config", "--json"],
        &["config", "get", "providers.p.headers.x-token"],
        &["config", "get", "providers.p.api_key_command", "--json"],
        &["doctor"],
        &["doctor", "--json"],
        &["models", "--all"],
    ] {
        let run_output = env.args(args);
        assert!(
            !format!("{}{}", run_output.out, run_output.err).contains("hunter2"),
            "{args:?}: {run_output}"
        );
        output += &run_output.out;
    }
    assert!(output.contains("https://host.example/v1") && output.contains("(set)"), "{output}");
}

#[test]
fn invalid_settings_are_reported_with_file_line_and_suggestion() {
    let unknown = "durabilty = \"always\"\n[retry]\natempts = 1\n";
    let env = env(unknown, None);
    check(
        &env,
        &[&["sessions", "list"]],
        expect![[r#"
            $ sessions list
            ! osier: ~/home/config.toml:1: unknown key durabilty; did you mean durability?
            ! osier: ~/home/config.toml:3: unknown key retry.atempts; did you mean retry.attempts?
            ! no sessions in this directory; --all includes other directories
        "#]],
    );
    let (known, configured) = (TestEnv::new().args(CONFIG), env.args(CONFIG));
    assert_eq!((configured.out, configured.err.lines().count()), (known.out, 2), "{}", configured.err);
    fs::write(env.home().join("config.toml"), "thinking = \"loud\"\nmodel = 3\n").unwrap();
    check(
        &env,
        &[&["sessions", "list"], &["models"], CONFIG],
        expect![[r#"
            $ sessions list
            ! osier: ~/home/config.toml:1: thinking must be "off", "minimal", "low", "medium", "high", "xhigh" or "max"
            !   ~/home/config.toml:2: model must be a string
            exit 1
            $ models
            ! osier: ~/home/config.toml:1: thinking must be "off", "minimal", "low", "medium", "high", "xhigh" or "max"
            !   ~/home/config.toml:2: model must be a string
            exit 1
            $ config
            model                          "offline/offline"  needs no key
            thinking                       "medium"           default
            approval                       "default"          default
            tools                          -
            backtracking                   true               default
            max_steps                      200                default
            summary_model                  -
            compaction.enabled             true               default
            compaction.reserve_tokens      -
            compaction.keep_recent_tokens  -
            restore_model_on_move          true               default
            subagents.enabled              true               default
            subagents.max_parallel         8                  default
            subagents.max_depth            1                  default
            subagents.max_turns            100                default
            subagents.max_tokens           -
            subagents.max_seconds          1800               default
            subagents.max_cost             -
            explore.max_copy_mb            200                default
            system_prompt                  -
            append_system_prompt           -
            theme                          "auto"             default
            double_escape                  "tree"             default
            tree_filter                    "default"          default
            tree_order                     "oldest"           default
            tree_style                     "flat"             default
            notify                         "bell"             default
            ask_summary                    true               default
            prompt_history                 true               default
            editor                         -
            durability                     "turn"             default
            agent                          "main"             default
            default_store                  "file"             default
            extensions                     -
            gateway.directories            -
            retry.attempts                 4                  default
            retry.patience                 60                 default
            sandbox.when                   "always"           default
            sandbox.user_commands          false              default
            sandbox.write                  -
            sandbox.hide                   -
            sandbox.show                   -
            sandbox.network                "off"              default
            sandbox.ports                  -
            sandbox.unix_sockets           false              default
            ! osier: ~/home/config.toml:1: thinking must be "off", "minimal", "low", "medium", "high", "xhigh" or "max"
            ! osier: ~/home/config.toml:2: model must be a string
        "#]],
    );
    fs::write(env.home().join("config.toml"), "model = \"unfinished\nkey = \"sk-hunter2\"\n").unwrap();
    check(
        &env,
        &[&["sessions", "list"]],
        expect![[r#"
        $ sessions list
        ! osier: ~/home/config.toml:1: invalid TOML: invalid basic string, expected `"`
        exit 1
    "#]],
    );
}

#[test]
fn number_of_reported_problems_is_limited() {
    let mistakes: String = (0..100).map(|number| format!("key{number} = 1\n")).collect();
    let run_output = env(&mistakes, None).args(&["sessions", "list"]);
    assert_eq!(run_output.err.lines().count(), 10, "{}", run_output.err);
    assert!(run_output.err.contains("and 92 more; `osier doctor` lists all of them"), "{}", run_output.err);
}

#[test]
fn names_in_settings_are_sanitized() {
    let env = env("", Some("\"a\\u001b[2J\\nosier: all is well\" = 1\n"));
    let run_output = env.args(&["sessions", "list"]);
    assert_eq!(run_output.err.lines().count(), 2, "{:?}", run_output.err);
    assert!(!run_output.err.contains('\u{1b}'), "{:?}", run_output.err);
}

#[test]
fn config_set_keeps_the_rest_of_the_file() {
    let before = "# my settings\nthinking = \"low\" # enough\n\n[providers.local]  # here\nbase_url = \"http://127.0.0.1:1/v1\"\nheaders = { a = \"1\" }\n";
    let env = env(before, None);
    let file = env.home().join("config.toml");
    check(
        &env,
        &[
            &["config", "set", "thinking", "high"],
            &["config", "set", "model", "anthropic/claude-opus-5-5"],
            &["config", "set", "tools", "read,grep"],
            &["config", "set", "backtracking", "false"],
            &["config", "set", "providers.local.headers.b", "secret"],
            &["config", "set", "providers.other.base_url", "http://127.0.0.1:2/v1"],
            &["config", "get", "tools"],
            &["config", "get", "thinking"],
        ],
        expect![[r#"
            $ config set thinking high
            thinking = "high"
            $ config set model anthropic/claude-opus-5-5
            model = "anthropic/claude-opus-5-5"
            $ config set tools read,grep
            tools = ["read", "grep"]
            $ config set backtracking false
            backtracking = false
            $ config set providers.local.headers.b secret
            providers.local.headers.b = (set)
            $ config set providers.other.base_url http://127.0.0.1:2/v1
            providers.other.base_url = "http://127.0.0.1:2/v1"
            $ config get tools
            ["read", "grep"]
            $ config get thinking
            high
        "#]],
    );
    expect![[r##"
        # my settings
        thinking = "high" # enough
        model = "anthropic/claude-opus-5-5"
        tools = ["read", "grep"]
        backtracking = false

        [providers.local]  # here
        base_url = "http://127.0.0.1:1/v1"
        headers = { a = "1", b = "secret" }

        [providers.other]
        base_url = "http://127.0.0.1:2/v1"
    "##]]
    .assert_eq(&fs::read_to_string(&file).unwrap());
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    for key in ["model", "tools", "backtracking", "providers.local.headers.b", "providers.other.base_url"] {
        assert_eq!(env.args(&["config", "unset", key]).code, 0, "{key}");
    }
    assert_eq!(env.args(&["config", "set", "thinking", "low"]).code, 0);
    let after = fs::read_to_string(&file).unwrap();
    assert_eq!(after, before);
}

#[test]
fn invalid_value_is_rejected_and_not_written() {
    let env = TestEnv::new();
    check(
        &env,
        &[
            &["config", "set", "thinking", "loud"],
            &["config", "set", "modle", "x"],
            &["config", "set", "retry.attempts", "many"],
            &["config", "set", "providers", "x"],
            &["config", "set", "a b", "x"],
            &["config", "set", "tools", "read,gerp"],
            &["config", "set", "model", "claude-opos-5-5"],
            &["config", "set", "summary_model", "opuss"],
            &["config", "unset", "model"],
            &["config", "get", "tools"],
            &["config", "get", "providers.x.base_ulr"],
        ],
        expect![[r#"
            $ config set thinking loud
            ! osier: thinking must be "off", "minimal", "low", "medium", "high", "xhigh" or "max"
            exit 2
            $ config set modle x
            ! osier: unknown setting modle; did you mean model?
            exit 2
            $ config set retry.attempts many
            ! osier: retry.attempts must be a whole number from 1 to 20
            exit 2
            $ config set providers x
            ! osier: providers is a table; name one of its keys
            exit 2
            $ config set a b x
            ! osier: invalid key a b
            exit 2
            $ config set tools read,gerp
            ! osier: no tool gerp; did you mean grep? The tools are read, write, edit, bash, grep, find, ls, todo, backtrack, task
            exit 2
            $ config set model claude-opos-5-5
            ! osier: unknown model claude-opos-5-5; did you mean anthropic/claude-opus-5-5 or anthropic/claude-opus-5 or anthropic/claude-sonnet-5-5? `osier models` lists the available models
            exit 2
            $ config set summary_model opuss
            ! osier: unknown model opuss; did you mean anthropic/claude-opus-5-5 or anthropic/claude-opus-5? `osier models` lists the available models
            exit 2
            $ config unset model
            ! osier: model is not set in ~/home/config.toml
            exit 1
            $ config get tools
            ! osier: tools is not set
            exit 1
            $ config get providers.x.base_ulr
            ! osier: unknown setting providers.x.base_ulr; did you mean providers.x.base_url?
            exit 2
        "#]],
    );
    assert!(!env.home().join("config.toml").exists());
}

#[test]
fn config_set_warns_if_the_project_overrides_it() {
    let env = env("", Some("thinking = \"off\"\n"));
    check(
        &env,
        &[&["config", "set", "thinking", "max"]],
        expect![[r#"
            $ config set thinking max
            thinking = "max"
            ! osier: ~/code/.osier/config.toml:1 overrides it here
        "#]],
    );
}

#[test]
fn symlink_to_the_settings_stays_a_symlink() {
    let env = env("", None);
    let file = env.home().join("config.toml");
    env.write("dotfiles.toml", "# kept elsewhere\n");
    fs::remove_file(&file).unwrap();
    symlink(env.path("dotfiles.toml"), &file).unwrap();
    assert_eq!(env.args(&["config", "set", "thinking", "low"]).code, 0);
    assert!(fs::symlink_metadata(&file).unwrap().is_symlink());
    assert_eq!(env.read("dotfiles.toml"), b"# kept elsewhere\nthinking = \"low\"\n");
}

#[test]
fn invalid_toml_is_not_overwritten() {
    let env = env("model = \n", None);
    check(
        &env,
        &[&["config", "set", "thinking", "low"], &["config", "path"]],
        expect![[r#"
        $ config set thinking low
        ! osier: ~/home/config.toml:1: invalid TOML: string values must be quoted, expected literal string; fix the file first
        exit 1
        $ config path
        $DIR/home/config.toml
    "#]],
    );
    assert_eq!(fs::read_to_string(env.home().join("config.toml")).unwrap(), "model = \n");
}

#[test]
fn help_and_version_do_not_read_settings() {
    let env = env("this is no toml", None);
    for args in [["--version"].as_slice(), &["--help"], &["config", "keys"], &["config", "--help"], &["man"]]
    {
        let run_output = env.args(args);
        assert_eq!((run_output.code, run_output.err.as_str()), (0, ""), "{args:?}");
    }
}
