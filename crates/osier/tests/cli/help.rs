//! Help, completions and the manual page.

use osier_testkit::expect;

use crate::support::TestEnv;

const COMMANDS: [&str; 26] = [
    "list",
    "show",
    "tree",
    "path",
    "entry",
    "context",
    "snapshot",
    "label",
    "rename",
    "config",
    "move",
    "undo",
    "redo",
    "copy",
    "fork",
    "compact",
    "compaction",
    "compare",
    "graft",
    "delete-branch",
    "restore-branch",
    "delete",
    "verify",
    "gc",
    "export",
    "append",
];

#[test]
fn help_lists_commands_and_options() {
    let env = TestEnv::new();
    let output = env.args(&["--help"]);
    assert_eq!(output.code, 0, "{}", output.err);
    expect![[r#"
        A coding agent and session engine whose conversation is a tree

        Usage: osier [OPTIONS] [PROMPT]...
               osier <COMMAND>

        Commands:
          sessions     List, show and change sessions [alias: s]
          search       Search the messages of all sessions
          config       Show the settings and where they come from, or change them
          models       List the available models
          agents       List the agents that a model can delegate tasks to
          explore      Try a prompt several times at once, then compare the tries and keep one
          extensions   List, add and remove extensions, and decide what they may do
          serve        Serve sessions over HTTP and WebSockets
          token        Print links and tokens for a gateway
          doctor       Check keys, servers, terminal and sessions, and suggest fixes
          trust        Trust a project's folder, or revoke that trust
          demo         Create a small example session and show what you can do with it
          schema       Print the JSON schema of the protocol between engines and clients
          completions  Print a completion script for a shell
          man          Print the manual page
          help         Print this message or the help of the given subcommand(s)

        Arguments:
          [PROMPT]...  The prompt. `@FILE` attaches a text or an image, `-` stands for standard input

        Options:
          -p, --print              Print the answer and exit
              --mode <MODE>        Print only the answer, or every event as a line of JSON; or read commands
                                   from standard input (rpc) [possible values: text, json, rpc]
              --protocol <NAME>    The protocol of `--mode rpc`: pi's commands and events, or the frames of
                                   Osier's own clients [possible values: pi, osier]
              --connect <URL>      Use the sessions of a gateway, in the terminal interface; `--cwd` is a
                                   directory there
              --token-file <FILE>  The file with the token of the gateway; without it, OSIER_TOKEN or a
                                   question
              --verbose            Show progress on standard error even if it is not a terminal, and log
                                   more
              --cwd <DIR>          Work in this directory instead of the current one
          -h, --help               Print help
          -V, --version            Print version

        Session:
          -c, --continue           Continue the most recent session in this directory
          -r, --resume [<ID>]      Resume a session by the first characters of its id; without ID, choose
                                   from a list
              --session <FILE>     Continue the session in this file, in Osier's or pi's format
              --fork <ID[@ENTRY]>  Start with a copy of a session, up to its leaf or to ENTRY
              --store <NAME>       The store for a new session; existing sessions are found in all stores
              --agent <NAME>       The agent that a new session belongs to, from `[agents.NAME]` in the
                                   settings
              --no-session         Do not save the session
              --name <NAME>        Set the name of the session

        Model and tools:
              --model <MODEL>                The model: PROVIDER/ID, or the end of its name; `osier models`
                                             lists them
              --thinking <LEVEL>             The thinking level of the model [possible values: off, minimal,
                                             low, medium, high, xhigh, max]
              --tools <NAMES>                The tools the model may use, separated by commas
              --no-tools                     Give the model no tools
              --approval <MODE>              What the model may do without asking: read (default), also
                                             change files (autoEdit), also run commands in a sandbox
                                             (sandbox), everything (yolo) [possible values: default,
                                             autoEdit, sandbox, yolo]
          -e, --extension <FILE>             Load an extension, a TypeScript or JavaScript file or a folder
                                             with one; can be repeated
              --no-extensions                Load no extensions except those of --extension
              --system-prompt <TEXT>         Replace the built-in system prompt
              --append-system-prompt <TEXT>  Append this text to the system prompt

        Examples:
          osier                              start an interactive session
          osier -p 'list the files here'     print the answer and exit
          cat log.txt | osier -p 'explain'   add piped input to the prompt
          osier -c 'and now the tests'       continue the last session
          osier demo                         create a small session to explore
          osier sessions tree 4f89da11       show a session as a tree
          osier search 'json flag'           find sessions by what was said

        Without an API key, a built-in offline model answers; it follows simple requests.
        Name a session by the first characters of its id, or by the path of its .jsonl file.
        Sessions are stored in $OSIER_HOME/sessions (default: ~/.osier/sessions).
        Exit codes: 0 success, 1 failure, 2 usage error, 130 interrupted with Ctrl-C. With --json, errors
        are JSON too.
    "#]]
    .assert_eq(&output.out);
    assert_eq!(env.args(&["help"]).out, output.out);
}

#[test]
fn every_command_help_has_examples_and_describes_its_output() {
    let env = TestEnv::new();
    let mut output = String::new();
    for command in COMMANDS {
        let help = env.ok(&format!("{command} --help"));
        assert!(help.contains("Examples:\n  osier sessions "), "{command}: {help}");
        assert!(help.contains("--json"), "{command}: {help}");
        let states_output = help.contains("Prints ") || help.contains("Lists ");
        assert!(states_output, "{command}: {help}");
        output += &format!("{command}: {}\n", help.lines().next().unwrap());
    }
    for command in ["demo", "completions", "man", "sessions"] {
        let help = env.args(&[command, "--help"]).out;
        assert!(help.contains("Examples:\n  osier "), "{command}: {help}");
        assert!(help.contains("Prints "), "{command}: {help}");
    }
    expect![[r#"
        list: List sessions, most recently used first
        show: Show a session's details and its conversation
        tree: Draw the tree of a session
        path: List the entries from the root to the leaf
        entry: Show one entry
        context: Show the messages that a model would get
        snapshot: Print everything a client needs to display a session
        label: List, set or clear labels of entries
        rename: Set or clear the name of a session
        config: Show or change the settings of a session
        move: Move the leaf to another entry
        undo: Undo the last move
        redo: Redo the last undone move
        copy: Copy a session to another store
        fork: Copy a path into a new session
        compact: Replace the older part of the context with a summary
        compaction: Show what a compaction dropped, or move to before it
        compare: Show two branches side by side
        graft: Add the conclusion of another branch to the current one
        delete-branch: Hide an entry and everything below it
        restore-branch: Restore a deleted branch
        delete: Delete sessions permanently
        verify: Check a session file and report all problems
        gc: Remove deleted branches from a session's file
        export: Export the path as Markdown, JSON or JSONL, or the session as HTML
        append: Append an entry to a session or to a new one
    "#]]
    .assert_eq(&output);
}

#[test]
fn help_lists_exactly_the_visible_commands() {
    let env = TestEnv::new();
    let help = env.ok("--help");
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let mut shown: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    shown.retain(|command| *command != "help");
    assert_eq!(shown, COMMANDS);
}

#[test]
fn version_is_printed() {
    let output = TestEnv::new().args(&["--version"]);
    assert_eq!((output.code, output.out.as_str()), (0, concat!("osier ", env!("CARGO_PKG_VERSION"), "\n")));
}

#[test]
fn usage_errors_exit_with_2_and_explain() {
    let env = TestEnv::with("say a");
    for args in [
        vec!["sesions"],
        vec![],
        vec!["sessions"],
        vec!["sessions", "nonsense"],
        vec!["sessions", "tree"],
        vec!["sessions", "tree", "s.jsonl", "--flat", "--nested"],
        vec!["sessions", "tree", "s.jsonl", "--filter", "odd"],
        vec!["sessions", "list", "--search", "re:("],
        vec!["sessions", "list", "--limit", "few"],
        vec!["sessions", "append"],
        vec!["sessions", "append", "a", "b", "c"],
        vec!["sessions", "append", "--role", "tool", "x"],
        vec!["sessions", "config", "s.jsonl", "novalue"],
        vec!["sessions", "delete"],
        vec!["sessions", "delete", "--older-than", "soon"],
        vec!["sessions", "delete", "s.jsonl", "--older-than", "1d"],
        vec!["sessions", "label", "s.jsonl", "--clear"],
        vec!["sessions", "move", "s.jsonl", "root", "--label", "x"],
        vec!["sessions", "export", "s.jsonl", "--format", "pdf"],
        vec!["sessions", "show", ""],
        vec!["completions", "tcl"],
    ] {
        let output = env.args(&args);
        assert_eq!((output.code, output.out.as_str()), (2, ""), "{args:?}: {}", output.err);
        assert!(!output.err.trim().is_empty(), "{args:?}");
    }
    env.check(
        &[
            "tree s.jsonl --filter odd",
            "append",
            "append s.jsonl '  '",
            "append s.jsonl x --entry '{}'",
            "append s.jsonl --name n x",
            "config s.jsonl approvalMode=off",
            "config s.jsonl novalue",
            "delete --older-than soon",
            "list --search 're:('",
            "show ''",
        ],
        expect![[r#"
            $ tree s.jsonl --filter odd
            ! osier: no filter "odd"; the filters are default, no-tools, user-only, labeled-only, all
            exit 2
            $ append
            ! osier: give TEXT to append, or --entry
            exit 2
            $ append s.jsonl '  '
            ! osier: TEXT is empty
            exit 2
            $ append s.jsonl x --entry '{}'
            ! osier: --entry takes a SESSION and no TEXT
            exit 2
            $ append s.jsonl --name n x
            ! osier: --name is for new sessions; use `osier sessions rename` for this one
            exit 2
            $ config s.jsonl approvalMode=off
            ! osier: the setting "approvalMode" must be default, autoEdit, sandbox or yolo, not "off"
            exit 2
            $ config s.jsonl novalue
            ! osier: "novalue" is not KEY=VALUE
            exit 2
            $ delete --older-than soon
            ! osier: invalid age "soon"; use 12h, 30d or 6w
            exit 2
            $ list --search 're:('
            ! osier: invalid regular expression: regex parse error:
            !       (
            !       ^
            !   error: unclosed group
            exit 2
            $ show ''
            ! osier: give a session: the first characters of its id, or a .jsonl file
            exit 2
        "#]],
    );
}

#[test]
fn completions_work_for_each_shell() {
    let env = TestEnv::new();
    for (shell, sign) in [("bash", "complete -F"), ("zsh", "#compdef osier"), ("fish", "complete -c osier")] {
        let output = env.args(&["completions", shell]);
        assert_eq!(output.code, 0, "{}", output.err);
        assert!(output.out.contains(sign) && output.out.contains("restore-branch"), "{shell}");
        assert!(output.out.contains("active-first"), "{shell}");
    }
}

#[test]
fn manual_covers_every_command() {
    let output = TestEnv::new().args(&["man"]);
    assert_eq!(output.code, 0, "{}", output.err);
    for command in COMMANDS {
        let title = format!(".TH osier-sessions-{command} 1");
        assert!(output.out.contains(&title), "{command}");
    }
    assert!(!output.out.contains("bench"), "hidden commands stay hidden");
}

#[test]
fn completions_and_manual_need_no_home() {
    let env = TestEnv::new();
    for args in [["completions", "bash"].as_slice(), &["man"]] {
        let mut command = env.command();
        command.args(args).env("OSIER_HOME", "/dev/null/nowhere");
        assert!(command.output().unwrap().status.success(), "{args:?}");
    }
}
