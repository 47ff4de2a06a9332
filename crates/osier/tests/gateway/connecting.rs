//! `osier --connect`: the terminal interface with the sessions of a gateway.

use std::fs;
use std::net::TcpListener;

use rustix::process::Signal;
use serde_json::json;

use crate::run_support::{ModelServer, osier_command};
use crate::screen::{ESCAPE, READY, Screen, open};
use crate::server::TestGateway;
use crate::support::TestEnv;
use crate::tunnel::Tunnel;

/// The terminal of a user on another machine, with the token in a file.
fn connect(gateway: &TestGateway, user: &TestEnv, args: &[&str]) -> Screen {
    let file = user.home().join("token-of-the-box");
    fs::create_dir_all(user.home()).unwrap();
    fs::write(&file, format!("{}\n", gateway.token)).unwrap();
    let all = [&["--connect", &gateway.url, "--token-file", file.to_str().unwrap()], args].concat();
    open(user, &all)
}

#[test]
fn the_terminal_has_a_conversation_on_another_machine() {
    let (gateway, user) = (TestGateway::start(), TestEnv::new());
    gateway.env.write("notes.txt", "buy milk\n");
    let mut screen = connect(&gateway, &user, &[]);
    screen.wait_for(READY);
    screen.submit("read notes.txt");
    screen.wait_for("returned 1 line");
    let host = gateway.url.trim_start_matches("http://").to_owned();
    screen.wait_for(&format!("{host} │ "));
    screen.submit("/name shopping");
    screen.submit("/new");
    screen.wait_for("/resume returns to");
    screen.wait_for(&format!("{host} │ "));
    screen.submit("/resume");
    screen.wait_for("› shopping");
    screen.press("\r");
    screen.wait_for("Resumed session");
    screen.submit("/settings");
    screen.wait_for("max_steps");
    screen.press(ESCAPE);
    screen.wait_gone("type to search");
    let said = screen.quit();
    assert!(said.contains(&format!("osier --connect {} --resume ", gateway.url)), "{said}");
    assert!(user.session_files().is_empty(), "nothing is stored on this machine");
    assert_eq!(gateway.env.session_files().len(), 1);
    let id = said.rsplit(' ').next().unwrap().trim().to_owned();
    let mut again = connect(&gateway, &user, &["--resume", &id]);
    again.wait_for("> read notes.txt");
    again.quit();
}

#[test]
fn a_gateway_of_this_machine_needs_no_token() {
    let gateway = TestGateway::start();
    let mut screen = open(&gateway.env, &["--connect", &gateway.url]);
    screen.wait_for(READY);
    screen.quit();
}

/// The token of the gateway must not go to whatever listens at the near end of a tunnel.
#[test]
fn the_end_of_a_tunnel_gets_no_token_that_the_user_did_not_give() {
    let gateway = TestGateway::start();
    let tunnel = Tunnel::to(gateway.port());
    let url = format!("http://127.0.0.1:{}", tunnel.port);
    let mut screen = open(&gateway.env, &["--connect", &url]);
    screen.wait_for("Token for http://127.0.0.1");
    screen.press(&format!("{}\r", gateway.token));
    screen.wait_for(READY);
    screen.quit();
}

#[test]
fn the_token_can_be_in_a_variable() {
    let (gateway, user) = (TestGateway::start(), TestEnv::new());
    let start = |token: &str, args: &[&str]| {
        let mut command = osier_command(&user, &[&["--connect", &gateway.url], args].concat());
        command.env("OSIER_TOKEN", token);
        Screen::start(command, 200, 24)
    };
    let mut screen = start(&format!(" {}\n", gateway.token), &[]);
    screen.wait_for(READY);
    screen.quit();
    let (code, text) = start("not the token", &[]).wait_for_exit();
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("does not accept the token"), "{text}");
    // A file that the user names counts more.
    user.write("token", &gateway.token);
    let mut screen = start("not the token", &["--token-file", "token"]);
    screen.wait_for(READY);
    screen.quit();
}

#[test]
fn the_log_of_the_terminal_has_no_token() {
    let (gateway, user) = (TestGateway::start(), TestEnv::new());
    let mut command = osier_command(&user, &["--connect", &gateway.url]);
    command.env("OSIER_TOKEN", &gateway.token).env("OSIER_LOG", "trace");
    let mut screen = Screen::start(command, 100, 24);
    screen.wait_for(READY);
    screen.submit("hello");
    screen.wait_for("offline model");
    screen.quit();
    let log = fs::read_to_string(user.home().join("logs/osier.log")).unwrap();
    assert!(log.contains("TRACE") || log.contains("DEBUG"), "{log}");
    assert!(!crate::run_support::home_contents(&user).contains(&gateway.token), "{log}");
}

/// The variable may be set in a shell in which the user also starts agents.
#[test]
fn a_command_of_the_agent_does_not_see_the_token_in_the_variable() {
    let env = TestEnv::new();
    let mut command = osier_command(&env, &["--model", "offline"]);
    command.env("OSIER_TOKEN", "s3cret-of-a-gateway");
    let mut screen = Screen::start(command, 100, 24);
    screen.wait_for(READY);
    screen.submit("!echo \"token=[$OSIER_TOKEN]\"");
    screen.wait_for("token=[]");
    screen.quit();
    assert!(!crate::run_support::home_contents(&env).contains("s3cret-of-a-gateway"));
}

#[test]
fn the_terminal_connects_again_and_misses_nothing() {
    let (gateway, user) = (TestGateway::start(), TestEnv::new());
    let mut screen = connect(&gateway, &user, &[]);
    screen.wait_for(READY);
    screen.submit("my name is Ada");
    screen.wait_for("offline model");
    let port = gateway.port();
    let env = gateway.kill();
    screen.wait_for("reconnecting…");
    let gateway = TestGateway::start_on(env, port);
    screen.wait_gone("reconnecting…");
    gateway.env.write("notes.txt", "buy milk\n");
    screen.submit("read notes.txt");
    screen.wait_for("returned 1 line");
    screen.quit();
    let prompts = fs::read_to_string(gateway.env.session_file()).unwrap();
    for text in ["my name is Ada", "read notes.txt"] {
        let stored = prompts.lines().filter(|line| line.contains(r#""role":"user""#) && line.contains(text));
        assert_eq!(stored.count(), 1, "{text}");
    }
}

#[test]
fn the_token_can_be_typed_and_is_not_shown() {
    let (gateway, user) = (TestGateway::start(), TestEnv::new());
    let mut screen = open(&user, &["--connect", &gateway.url]);
    screen.wait_for("Token for http://127.0.0.1");
    screen.press(&format!("{}\r", gateway.token));
    screen.wait_for(READY);
    let output = String::from_utf8_lossy(&screen.bytes).into_owned();
    assert!(!output.contains(&gateway.token), "{output}");
    screen.quit();
    let mut refused = open(&user, &["--connect", &gateway.url]);
    refused.wait_for("Token for http://127.0.0.1");
    refused.press("\r");
    let (code, text) = refused.wait_for_exit();
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("does not accept the token"), "{text}");
}

#[test]
fn the_terminal_connects_over_tls_if_the_certificate_is_trusted() {
    let (env, user) = (TestEnv::new(), TestEnv::new());
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    env.write("cert.pem", made.cert.pem());
    env.write("key.pem", made.signing_key.serialize_pem());
    let args = ["--tls-cert", "cert.pem", "--tls-key", "key.pem", "--allow-host", "localhost"];
    let gateway = TestGateway::start_in(env, &args);
    assert!(gateway.url.starts_with("https://localhost:"), "{}", gateway.url);
    user.write("token", &gateway.token);
    let command = || osier_command(&user, &["--connect", &gateway.url, "--token-file", "token"]);
    let mut trusting = command();
    trusting.env("SSL_CERT_FILE", gateway.env.path("cert.pem"));
    let mut screen = Screen::start(trusting, 80, 24);
    screen.wait_for(READY);
    screen.quit();
    let (code, text) = Screen::start(command(), 200, 24).wait_for_exit();
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("cannot connect to https://localhost:"), "{text}");
}

#[test]
fn an_export_is_written_on_this_machine() {
    let (gateway, user) = (TestGateway::start(), TestEnv::new());
    let mut screen = connect(&gateway, &user, &[]);
    screen.wait_for(READY);
    screen.submit("my name is Ada");
    screen.wait_for("offline model");
    screen.submit("/export talk.md");
    screen.wait_for("Exported to");
    screen.quit();
    let exported = String::from_utf8(user.read("talk.md")).unwrap();
    assert!(exported.contains("my name is Ada"), "{exported}");
    assert!(!gateway.env.path("talk.md").exists());
}

/// What the program prints on a terminal before it ends, and its exit code.
fn refused(user: &TestEnv, args: &[&str]) -> (Option<i32>, String) {
    Screen::start(osier_command(user, args), 200, 24).wait_for_exit()
}

#[test]
fn a_token_in_the_url_and_a_wrong_token_are_refused() {
    let (gateway, user) = (TestGateway::start(), TestEnv::new());
    let with_token = format!("{}/?token={}", gateway.url, gateway.token);
    let (code, text) = refused(&user, &["--connect", &with_token]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("URL without a token") && !text.contains(&gateway.token), "{text}");
    user.write("wrong", "not the token\n");
    let (code, text) = refused(&user, &["--connect", &gateway.url, "--token-file", "wrong"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("does not accept the token"), "{text}");
    let (code, text) = refused(&user, &["--connect", "http://127.0.0.1:1", "--token-file", "wrong"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("cannot connect to http://127.0.0.1:1:"), "{text}");
    let (code, text) = refused(&user, &["--connect", "http://127.0.0.1:1"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("cannot connect to http://127.0.0.1:1:"), "{text}");
    assert!(!text.contains("Token for"), "there is nothing to give a token to: {text}");
}

#[test]
fn a_terminal_is_needed_and_agents_are_configured_where_they_run() {
    let user = TestEnv::new();
    let output = user.args(&["--connect", "http://127.0.0.1:1", "-p", "hello"]);
    assert_eq!(output.code, 2, "{output}");
    assert!(output.err.contains("--connect needs a terminal"), "{output}");
    let (code, text) = refused(&user, &["--connect", "http://127.0.0.1:1", "--no-tools"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("--no-tools cannot be combined with --connect"), "{text}");
}

#[test]
fn a_token_that_can_only_read_is_not_for_the_terminal() {
    let (gateway, user) = (TestGateway::start(), TestEnv::new());
    let id = gateway.env.json("append hello")["session"].as_str().unwrap().to_owned();
    let token = gateway.env.args(&["token", "create", &id]).out;
    user.write("token", token);
    let (code, text) = refused(&user, &["--connect", &gateway.url, "--token-file", "token", "--resume", &id]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("can only read one session, and is for browsers"), "{text}");
}

#[test]
fn ctrl_c_at_the_question_for_the_token_shows_what_is_typed_again() {
    let (gateway, user) = (TestGateway::start(), TestEnv::new());
    let mut screen = open(&user, &["--connect", &gateway.url]);
    screen.wait_for("Token for http://127.0.0.1");
    // The signal that Ctrl-C causes outside raw mode.
    screen.signal(Signal::INT);
    // It also checks that the terminal shows what is typed.
    let (code, text) = screen.wait_for_exit();
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("no token for the gateway"), "{text}");
}

#[test]
fn ctrl_c_ends_the_program_while_it_connects() {
    let (listener, user) = (TcpListener::bind(("127.0.0.1", 0)).unwrap(), TestEnv::new());
    let url = format!("http://{}", listener.local_addr().unwrap());
    let mut screen = open(&user, &["--connect", &url]);
    screen.wait_for("Token for http://127.0.0.1");
    screen.press("secret\r");
    // It has the token now, and waits for a gateway that does not answer.
    // The first connection was made before the question, to see whether something listens.
    let _connections = [listener.accept().unwrap(), listener.accept().unwrap()];
    screen.signal(Signal::INT);
    assert_eq!(screen.wait_for_exit().0, Some(130));
}

#[test]
fn a_prompt_is_shown_until_the_gateway_has_it() {
    let (gateway, user) = (TestGateway::start(), TestEnv::new());
    let mut screen = connect(&gateway, &user, &[]);
    screen.wait_for(READY);
    screen.submit("my name is Ada");
    screen.wait_for("offline model");
    let port = gateway.port();
    let env = gateway.kill();
    env.write("notes.txt", "buy milk\n");
    screen.wait_for("reconnecting…");
    screen.submit("read notes.txt");
    screen.wait_for("to send: read notes.txt");
    let _gateway = TestGateway::start_on(env, port);
    screen.wait_for("returned 1 line");
    screen.wait_gone("to send: read notes.txt");
    screen.quit();
}

/// The near end of a tunnel is on this machine; a connection to any other machine should be encrypted.
#[test]
fn a_connection_that_others_can_read_is_announced() {
    let user = TestEnv::new();
    user.write("token", "t\n");
    let connect = |url: &str| refused(&user, &["--connect", url, "--token-file", "token"]).1;
    // No such machine exists.
    let text = connect("http://box.invalid:7433");
    assert!(text.contains("is not encrypted") && text.contains("cannot connect"), "{text}");
    for url in ["https://box.invalid:7433", "http://127.0.0.1:1"] {
        let text = connect(url);
        assert!(!text.contains("is not encrypted") && text.contains("cannot connect"), "{text}");
    }
}

/// A terminal that joins sees what runs, as one that was there from the start.
#[test]
fn the_terminal_shows_a_tool_that_was_running_before_it_joined() {
    let model = ModelServer::new();
    let (gateway, user) = (TestGateway::start_in(model.env(), &[]), TestEnv::new());
    let mut first = connect(&gateway, &user, &[]);
    first.wait_for(READY);
    first.submit("run");
    let wait = "echo started; until [ -e go ]; do sleep 0.05; done; echo ended";
    model.next_request().reply_with_call("bash", &json!({ "command": wait }));
    first.wait_for("Allow bash");
    first.answer("y");
    first.wait_for("started");
    let mut second = connect(&gateway, &user, &["--continue"]);
    second.wait_for("started");
    fs::write(gateway.env.path("go"), "").unwrap();
    model.next_request().reply("It ran.");
    for mut screen in [first, second] {
        screen.wait_for("It ran.");
        screen.quit();
    }
}

#[test]
fn a_question_of_a_gateway_that_ended_disappears() {
    let model = ModelServer::new();
    let (gateway, user) = (TestGateway::start_in(model.env(), &[]), TestEnv::new());
    let mut screen = connect(&gateway, &user, &[]);
    screen.wait_for(READY);
    screen.submit("write");
    model.next_request().reply_with_call("write", &json!({ "path": "made.txt", "content": "yes" }));
    screen.wait_for("Allow write");
    let port = gateway.port();
    let env = gateway.kill();
    screen.wait_for("reconnecting…");
    let _gateway = TestGateway::start_on(env, port);
    screen.wait_gone("Allow write");
    screen.quit();
}
