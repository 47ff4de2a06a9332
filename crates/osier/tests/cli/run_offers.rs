//! The tools and checkpoints that a model gets.

use std::fs;

use crate::run_support::{ModelServer, RunningCommand, osier_command};

#[test]
fn without_the_backtrack_tool_there_are_no_checkpoints() {
    let server = ModelServer::new();
    let env = server.env();
    let offers = |args: &[&str]| {
        let running = RunningCommand::start(osier_command(&env, &[&["-p", "hello"], args].concat()));
        let request = server.next_request();
        let tools = request.body["tools"].to_string();
        let both =
            (tools.contains("\"backtrack\""), request.body["messages"].to_string().contains("Checkpoint 0"));
        request.reply("Hi.");
        assert_eq!(running.wait().code, 0);
        both
    };
    assert_eq!(offers(&[]), (true, true));
    assert_eq!(offers(&["--tools", "read"]), (false, false));
    assert_eq!(offers(&["--tools", "backtrack"]), (true, true));
    assert_eq!(offers(&["--no-tools"]), (false, false));
    let config = env.home().join("config.toml");
    let settings = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("backtracking = false\n{settings}")).unwrap();
    assert_eq!(offers(&[]), (false, false));
    assert_eq!(offers(&["--tools", "read,backtrack"]), (false, false));
}
