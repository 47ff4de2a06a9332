//! Who may use a gateway: tokens, links, cookies, names of hosts and pages, directories.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use osier_protocol::session_operation::NewStoredSession;
use osier_protocol::{EngineClient, EngineReply, EngineRequest};
use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::run_support::osier_command;
use crate::server::{TestGateway, failed, http_client, ok};
use crate::support::{CommandOutput, TestEnv};

fn error(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

/// The cookie that a link sets, as `name=value`.
async fn log_in(gateway: &TestGateway, link: &str) -> String {
    let response = http_client().get(link).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::SEE_OTHER);
    assert_eq!(response.headers()["location"], "/");
    let cookie = response.headers()["set-cookie"].to_str().unwrap();
    assert!(cookie.starts_with(&format!("osier_{}=", gateway.port())), "{cookie}");
    for property in ["; HttpOnly", "; SameSite=Strict", "; Path=/", "; Max-Age="] {
        assert!(cookie.contains(property), "{cookie}");
    }
    cookie.split(';').next().unwrap().to_owned()
}

#[tokio::test]
async fn requests_need_the_token() {
    let gateway = TestGateway::start();
    let refused = error(401, "unauthorized");
    let list = || gateway.plain(Method::GET, "/api/sessions");
    assert_eq!(failed(list().send().await.unwrap()).await, refused);
    for wrong in ["", "x", &gateway.token[1..], &format!("{}x", gateway.token), &gateway.token.to_lowercase()]
    {
        assert_eq!(failed(list().bearer_auth(wrong).send().await.unwrap()).await, refused, "{wrong}");
    }
    let basic = list().basic_auth("osier", Some(&gateway.token));
    assert_eq!(failed(basic.send().await.unwrap()).await, refused);
    let in_query = gateway.plain(Method::GET, &format!("/api/sessions?token={}", gateway.token));
    assert_eq!(failed(in_query.send().await.unwrap()).await, refused);
    ok(list().bearer_auth(&gateway.token).send().await.unwrap()).await;
}

#[tokio::test]
async fn the_token_file_is_private_survives_a_restart_and_can_be_replaced() {
    let gateway = TestGateway::start();
    let token = gateway.token.clone();
    let file = gateway.env.home().join("gateway-token");
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    let cookie = log_in(&gateway, &gateway.link).await;
    let gateway = TestGateway::start_in(gateway.stop().1, &[]);
    assert_eq!(gateway.token, token);
    let with_old_cookie = |gateway: &TestGateway| {
        let value = cookie.split_once('=').unwrap().1;
        let cookie = format!("osier_{}={value}", gateway.port());
        gateway.plain(Method::GET, "/api/sessions").header("cookie", cookie)
    };
    ok(with_old_cookie(&gateway).send().await.unwrap()).await;
    let gateway = TestGateway::start_in(gateway.stop().1, &["--rotate-token"]);
    assert_ne!(gateway.token, token);
    let old = gateway.plain(Method::GET, "/api/sessions").bearer_auth(&token);
    assert_eq!(failed(old.send().await.unwrap()).await, error(401, "unauthorized"));
    assert_eq!(failed(with_old_cookie(&gateway).send().await.unwrap()).await, error(401, "unauthorized"));
}

#[tokio::test]
async fn a_link_logs_in_once() {
    let gateway = TestGateway::start();
    let head = http_client().head(&gateway.link).send().await.unwrap();
    assert_eq!(head.status(), StatusCode::METHOD_NOT_ALLOWED, "a preview does not use the link");
    let cookie = log_in(&gateway, &gateway.link).await;
    let list = gateway.plain(Method::GET, "/api/sessions").header("cookie", &cookie);
    ok(list.send().await.unwrap()).await;
    // Another gateway of the same home folder does not accept it either.
    let beside = gateway.start_beside();
    for url in [gateway.link.clone(), gateway.link.replace(&gateway.url, &beside.url)] {
        let again = http_client().get(url).send().await.unwrap();
        assert_eq!(again.status(), StatusCode::UNAUTHORIZED);
        assert_eq!(again.headers()["content-type"], "text/html; charset=utf-8");
        let page = again.text().await.unwrap();
        assert!(page.contains("osier token link") && page.contains("/assets/style.css"), "{page}");
    }
    // The link is neither a cookie nor a token.
    let secret = gateway.link.rsplit('/').next().unwrap();
    let as_token = gateway.plain(Method::GET, "/api/sessions").bearer_auth(secret);
    assert_eq!(failed(as_token.send().await.unwrap()).await, error(401, "unauthorized"));
    let as_cookie = gateway.plain(Method::GET, "/api/sessions");
    let as_cookie = as_cookie.header("cookie", format!("osier_{}={secret}", gateway.port()));
    assert_eq!(failed(as_cookie.send().await.unwrap()).await, error(401, "unauthorized"));
}

#[tokio::test]
async fn another_link_can_be_printed_for_the_gateway_that_runs() {
    let gateway = TestGateway::start();
    let printed = gateway.env.args(&["token", "link"]);
    assert_eq!(printed.code, 0, "{}", printed.err);
    assert!(printed.err.starts_with("The link works once, for ten minutes"), "{}", printed.err);
    assert!(printed.out.starts_with(&gateway.url), "{}", printed.out);
    log_in(&gateway, printed.out.trim()).await;
    log_in(&gateway, &gateway.link).await;
    // A link that was not used survives a restart.
    let printed = gateway.env.args(&["token", "link", "--port", &gateway.port().to_string()]);
    let (port, env) = (gateway.port(), gateway.stop().1);
    let gateway = TestGateway::start_on(env, port);
    log_in(&gateway, printed.out.trim()).await;
}

#[tokio::test]
async fn a_link_for_one_of_several_gateways_names_it() {
    let gateway = TestGateway::start();
    let beside = gateway.start_beside();
    let refused = gateway.env.args(&["token", "link"]);
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.err.contains(&gateway.url) && refused.err.contains(&beside.url), "{}", refused.err);
    let printed = gateway.env.args(&["token", "link", "--url", &beside.url]);
    log_in(&beside, printed.out.trim()).await;
    drop(beside.stop());
    let stopped = gateway.stop().1.args(&["token", "link"]);
    assert!(stopped.err.contains("no gateway of this home folder is running"), "{}", stopped.err);
}

#[tokio::test]
async fn other_host_names_are_refused() {
    let gateway = TestGateway::start();
    let ask = async |host: &str| {
        let request = gateway.request(Method::GET, "/api/sessions").header("host", host);
        request.send().await.unwrap().status().as_u16()
    };
    for host in ["evil.example", "evil.example:7433", "localhost.evil.example", "192.168.0.1", "0.0.0.0"] {
        assert_eq!(ask(host).await, 403, "{host}");
    }
    for host in ["localhost", "localhost:1", "127.0.0.1:9999", "[::1]:9999"] {
        assert_eq!(ask(host).await, 200, "{host}");
    }
    let start = |extra: &str| gateway.raw(&format!("GET / HTTP/1.1\r\n{extra}connection: close\r\n\r\n"));
    assert!(!start("").starts_with("HTTP/1.1 200"), "no host");
    assert!(!start("host: localhost\r\nhost: evil.example\r\n").starts_with("HTTP/1.1 200"), "two hosts");
    let absolute =
        gateway.raw("GET http://evil.example/ HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    assert!(!absolute.starts_with("HTTP/1.1 200"), "{absolute}");
    // The page and the login are refused too.
    let login = http_client().get(&gateway.link).header("host", "evil.example").send().await.unwrap();
    assert_eq!(failed(login).await, error(403, "forbidden"));
}

#[tokio::test]
async fn pages_of_other_sites_are_refused_even_with_the_cookie() {
    let gateway = TestGateway::start();
    let cookie = log_in(&gateway, &gateway.link).await;
    let create = || gateway.plain(Method::POST, "/api/sessions").header("cookie", &cookie).json(&json!({}));
    for origin in ["http://evil.example", "http://localhost:3000", "null", "https://127.0.0.1:1"] {
        let refused = create().header("origin", origin).send().await.unwrap();
        assert_eq!(failed(refused).await, error(403, "forbidden"), "{origin}");
    }
    assert_eq!(failed(create().send().await.unwrap()).await, error(401, "unauthorized"), "no origin");
    ok(create().header("origin", &gateway.url).send().await.unwrap()).await;
    let fetch = |site: &str| {
        gateway.plain(Method::GET, "/api/sessions").header("cookie", &cookie).header("sec-fetch-site", site)
    };
    for site in ["cross-site", "same-site"] {
        assert_eq!(failed(fetch(site).send().await.unwrap()).await, error(403, "forbidden"), "{site}");
    }
    ok(fetch("same-origin").send().await.unwrap()).await;
    let form =
        gateway.plain(Method::POST, "/api/sessions").header("cookie", &cookie).header("origin", &gateway.url);
    let form = form.header("content-type", "text/plain").body("{}").send().await.unwrap();
    assert_eq!(form.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
}

#[tokio::test]
async fn every_response_has_the_security_headers() {
    let gateway = TestGateway::start();
    for path in ["/", "/assets/style.css", "/api/sessions", "/api/openapi.json", "/nothing", "/login/x"] {
        let response = gateway.plain(Method::GET, path).send().await.unwrap();
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        assert!(header("content-security-policy").starts_with("default-src 'none'"), "{path}");
        assert_eq!(header("referrer-policy"), "no-referrer", "{path}");
        assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(header("x-frame-options"), "DENY", "{path}");
        assert_eq!(header("cross-origin-resource-policy"), "same-origin", "{path}");
        assert!(["no-store", "no-cache"].contains(&header("cache-control").as_str()), "{path}");
        assert!(!response.headers().contains_key("access-control-allow-origin"), "{path}");
    }
}

#[tokio::test]
async fn the_token_and_the_link_are_in_no_log_and_no_output() {
    let env = TestEnv::new();
    let mut command = osier_command(&env, &["serve", "--port", "0", "--json"]);
    command.env("OSIER_LOG", "trace");
    let mut running = crate::run_support::RunningCommand::start(command);
    let started: serde_json::Value = serde_json::from_str(&running.out.read_until("\n")).unwrap();
    let token = fs::read_to_string(env.home().join("gateway-token")).unwrap().trim().to_owned();
    let (url, link) = (started["url"].as_str().unwrap(), started["link"].as_str().unwrap());
    let client = http_client();
    client.get(link).send().await.unwrap();
    let list = client.get(format!("{url}/api/sessions")).bearer_auth(&token).send().await.unwrap();
    assert_eq!(list.status(), StatusCode::OK);
    // HTTP/2 as well.
    let http2 = reqwest::Client::builder().http2_prior_knowledge().build().unwrap();
    let list = http2.get(format!("{url}/api/sessions")).bearer_auth(&token).send().await.unwrap();
    assert_eq!(list.status(), StatusCode::OK);
    running.signal(rustix::process::Signal::INT);
    let CommandOutput { code, out, err } = running.wait();
    let log = fs::read_to_string(env.home().join("logs/osier.log")).unwrap();
    assert!(code == 0 && log.len() > 100, "{code} {log}");
    let secret = link.rsplit('/').next().unwrap();
    for text in [&log, &out, &err] {
        assert!(!text.contains(&token) && !text.contains(secret), "{text}");
    }
}

#[tokio::test]
async fn other_addresses_need_tls_or_a_proxy() {
    let env = TestEnv::new();
    let refused = env.args(&["serve", "--host", "0.0.0.0", "--port", "0"]);
    assert_eq!(refused.code, 2, "{}", refused.out);
    assert!(refused.err.contains("--tls-cert") && refused.err.contains("--behind-proxy"), "{}", refused.err);
    let gateway = TestGateway::start_in(env, &["--behind-proxy", "--allow-host", "osier.example"]);
    let from = |origin: &str| {
        let create = gateway.request(Method::POST, "/api/sessions").header("host", "osier.example");
        create.header("origin", origin).json(&json!({}))
    };
    assert_eq!(gateway.url, "https://osier.example");
    assert!(gateway.link.starts_with("https://osier.example/login/"), "{}", gateway.link);
    let created = http_proxy(&gateway, from("https://osier.example")).await;
    assert!(created.headers().contains_key("strict-transport-security"));
    ok(created).await;
    let refused = http_proxy(&gateway, from("http://osier.example")).await;
    assert_eq!(failed(refused).await, error(403, "forbidden"), "a page without TLS");
}

#[tokio::test]
async fn a_rotated_token_reaches_gateways_that_run() {
    let gateway = TestGateway::start();
    let cookie = log_in(&gateway, &gateway.link).await;
    let engine = crate::socket_support::connect(&gateway, &gateway.token).await;
    let mut connection = engine.watch();
    let other = TestGateway::start_in(gateway.env.clone(), &["--rotate-token"]);
    assert_ne!(other.token, gateway.token);
    let list = || gateway.plain(Method::GET, "/api/sessions");
    let refused = error(401, "unauthorized");
    assert_eq!(failed(list().bearer_auth(&gateway.token).send().await.unwrap()).await, refused);
    assert_eq!(failed(list().header("cookie", &cookie).send().await.unwrap()).await, refused);
    ok(list().bearer_auth(&other.token).send().await.unwrap()).await;
    // A WebSocket with the old token ends, and its client cannot connect again.
    let failed = async {
        loop {
            match connection.next().await {
                Some(osier_wire::LinkStatus::Failed(error)) => return error,
                other => assert!(other.is_some()),
            }
        }
    };
    let failed = tokio::time::timeout(crate::socket_support::TEST_TIMEOUT, failed).await.expect("it ends");
    assert_eq!(failed.code, osier_protocol::ErrorCode::Unauthorized, "{failed}");
}

#[tokio::test]
async fn a_web_socket_ends_when_its_token_expires() {
    let gateway = TestGateway::start();
    let (session, _) = gateway.create_with(&["hello"]).await;
    let id = session.rsplit('/').next().unwrap();
    let printed = gateway.env.args(&["token", "create", id, "--expires", "20s"]);
    let engine = crate::socket_support::connect(&gateway, printed.out.trim()).await;
    let mut connection = engine.watch();
    let changed = tokio::time::timeout(crate::socket_support::TEST_TIMEOUT, connection.next());
    assert!(changed.await.expect("it ends").is_some_and(|now| now != osier_wire::LinkStatus::Connected));
}

#[tokio::test]
async fn a_client_learns_what_it_may_do() {
    let gateway = TestGateway::start();
    let (session, _) = gateway.create_with(&["hello"]).await;
    let id = session.rsplit('/').next().unwrap();
    assert_eq!(gateway.get("/api/access").await, json!({ "access": "full" }));
    let printed = gateway.env.args(&["token", "create", id, "--expires", "1h"]);
    let asked = gateway.plain(Method::GET, "/api/access").bearer_auth(printed.out.trim());
    let access = ok(asked.send().await.unwrap()).await;
    assert_eq!((&access["access"], &access["sessionId"]), (&json!("read_session"), &json!(id)));
    assert_eq!(access["session"]["store"], "file");
    assert!(access["expires"].as_u64().is_some_and(|expires| expires > 1_700_000_000_000), "{access}");
    let cookie = log_in(&gateway, &gateway.link).await;
    let asked = gateway.plain(Method::GET, "/api/access").header("cookie", cookie);
    let access = ok(asked.send().await.unwrap()).await;
    assert!(access["access"] == "full" && access["expires"].is_u64(), "{access}");
    assert_eq!(gateway.plain(Method::GET, "/api/access").send().await.unwrap().status(), 401);
}

#[tokio::test]
async fn a_read_only_token_learns_nothing_about_other_sessions() {
    let gateway = TestGateway::start();
    for id in ["abcd-one", "abcd-two", "abcd-three"] {
        gateway.post("/api/sessions", json!({ "id": id })).await;
    }
    let printed = gateway.env.args(&["token", "create", "abcd-one"]);
    let ask = async |name: &str| {
        let request = gateway.plain(Method::GET, &format!("/api/sessions/{name}"));
        let response = request.bearer_auth(printed.out.trim()).send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    };
    // What means several sessions for others means the only one.
    for name in ["abcd-one", "abcd-o", "abcd", "ABCD"] {
        assert_eq!(ask(name).await.0, 200, "{name}");
    }
    let missing = ask("wxyz-four").await;
    assert_eq!(missing.0, 403);
    for name in ["abcd-two", "abcd-t", "abcd-one-and-more"] {
        assert_eq!(ask(name).await, missing, "{name}");
    }
}

/// Sends a request to the gateway as a proxy on this machine does.
async fn http_proxy(gateway: &TestGateway, request: reqwest::RequestBuilder) -> reqwest::Response {
    let (client, request) = request.build_split();
    let mut request = request.unwrap();
    request.url_mut().set_scheme("http").unwrap();
    request.url_mut().set_host(Some("127.0.0.1")).unwrap();
    request.url_mut().set_port(Some(gateway.port())).unwrap();
    client.execute(request).await.unwrap()
}

#[tokio::test]
async fn a_certificate_makes_it_https() {
    let env = TestEnv::new();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    env.write("cert.pem", made.cert.pem());
    env.write("key.pem", made.signing_key.serialize_pem());
    let args = ["--tls-cert", "cert.pem", "--tls-key", "key.pem", "--allow-host", "localhost"];
    let gateway = TestGateway::start_in(env, &args);
    assert!(gateway.link.starts_with("https://localhost:"), "{}", gateway.link);
    let trusted = reqwest::Certificate::from_pem(made.cert.pem().as_bytes()).unwrap();
    let client = reqwest::Client::builder()
        .tls_certs_only([trusted])
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .unwrap();
    let login = client.get(&gateway.link).send().await.unwrap();
    assert_eq!(login.version(), reqwest::Version::HTTP_2);
    assert!(login.headers()["set-cookie"].to_str().unwrap().ends_with("; Secure"));
    // A browser would use https for all other programs of this machine, too.
    assert!(!login.headers().contains_key("strict-transport-security"));
    let plain = gateway.raw("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
    assert!(!plain.starts_with("HTTP/1.1 200"), "{plain}");
}

#[tokio::test]
async fn only_sessions_of_the_served_directories_can_be_used() {
    let env = TestEnv::new();
    fs::create_dir_all(env.path("inside")).unwrap();
    let (outside, store) = (env.home().parent().unwrap().join("outside"), env.home().join("sessions"));
    fs::create_dir_all(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, env.path("link")).unwrap();
    let made = |directory: &std::path::Path| {
        let mut command = env.command();
        command.current_dir(directory).args(["sessions", "append", "--json", "hello"]);
        let output = CommandOutput::from_output(command.output().unwrap());
        let appended: serde_json::Value = serde_json::from_str(&output.out).unwrap();
        appended["session"].as_str().unwrap().to_owned()
    };
    let (near, far) = (made(&env.path("inside")), made(&outside));
    assert!(store.exists());
    let gateway = TestGateway::start_in(env, &[]);
    let listed = gateway.get("/api/sessions").await;
    assert_eq!(crate::support::ids(&listed["sessions"]), [near.as_str()]);
    gateway.get(&format!("/api/sessions/{near}/snapshot")).await;
    let not_allowed = error(403, "directory_not_allowed");
    for path in ["", "/snapshot", "/entries", "/usage", "/state", "/export"] {
        let path = format!("/api/sessions/{far}{path}");
        assert_eq!(gateway.fails(Method::GET, &path, json!({})).await, not_allowed, "{path}");
    }
    assert_eq!(gateway.fails(Method::DELETE, &format!("/api/sessions/{far}"), json!({})).await, not_allowed);
    let prompt =
        gateway.fails(Method::POST, &format!("/api/sessions/{far}/prompt"), json!({ "text": "hi" })).await;
    assert_eq!(prompt, not_allowed);
    for cwd in [&outside, &gateway.env.path("link"), &gateway.env.path("inside/../../outside")] {
        let created = gateway.fails(Method::POST, "/api/sessions", json!({ "cwd": cwd })).await;
        assert_eq!(created, not_allowed, "{cwd:?}");
        let changed =
            gateway.fails(Method::PATCH, &format!("/api/sessions/{near}"), json!({ "cwd": cwd })).await;
        assert_eq!(changed, not_allowed, "{cwd:?}");
    }
    let cwd = gateway.env.path("inside");
    assert_eq!(gateway.post("/api/sessions", json!({ "cwd": cwd })).await["cwd"], json!(cwd));
}

/// A gateway with the folders `first`, `second` and `other`, and these directories in its settings.
fn gateway_with_directories(directories: impl Fn(&TestEnv) -> Vec<PathBuf>) -> TestGateway {
    let env = TestEnv::new();
    for name in ["first", "second", "other"] {
        fs::create_dir_all(env.path(name)).unwrap();
    }
    fs::create_dir_all(env.home()).unwrap();
    let settings = format!("[gateway]\ndirectories = {:?}\n", directories(&env));
    fs::write(env.home().join("config.toml"), settings).unwrap();
    TestGateway::start_in(env, &[])
}

#[tokio::test]
async fn new_sessions_have_one_default_directory_however_they_are_created() {
    // If the directory of the gateway is not allowed, the first one that is allowed counts.
    let elsewhere = gateway_with_directories(|env| vec![env.path("first"), env.path("second")]);
    check_default_directory(&elsewhere, &elsewhere.env.path("first")).await;
    let own_is_last = gateway_with_directories(|env| vec![env.path("first"), env.cwd()]);
    check_default_directory(&own_is_last, &own_is_last.env.cwd()).await;
}

async fn check_default_directory(gateway: &TestGateway, expected: &Path) {
    let expected = json!(expected.canonicalize().unwrap());
    let posted = gateway.post("/api/sessions", json!({})).await;
    assert_eq!(posted["cwd"], expected);
    let engine = crate::socket_support::connect(gateway, &gateway.token).await;
    let opened = crate::socket_support::open(&engine, osier_protocol::OpenTarget::default()).await;
    assert_eq!(json!(opened.info.cwd), expected);
    let created = engine.call(EngineRequest::CreateSession(NewStoredSession::default())).await.unwrap();
    let EngineReply::Operation { result } = created else { panic!("{created:?}") };
    assert_eq!(result.to_value()["cwd"], expected);
}

#[tokio::test]
async fn only_sessions_of_the_directories_in_the_settings_can_be_used() {
    let gateway = gateway_with_directories(|env| vec![env.path("first"), env.path("second")]);
    for name in ["first", "second"] {
        let folder = gateway.env.path(name);
        let created = gateway.post("/api/sessions", json!({ "cwd": folder, "id": name })).await;
        assert_eq!(created["cwd"], json!(folder.canonicalize().unwrap()));
        gateway.get(&format!("/api/sessions/{name}/snapshot")).await;
    }
    // The directory where the gateway was started is not in the list.
    let cwd = gateway.env.cwd();
    let stored = gateway.env.json("append hello")["session"].as_str().unwrap().to_owned();
    let refused = error(403, "directory_not_allowed");
    for outside in [cwd, gateway.env.path("other"), gateway.env.path("first/../other")] {
        let body = json!({ "cwd": outside });
        assert_eq!(gateway.fails(Method::POST, "/api/sessions", body).await, refused, "{outside:?}");
    }
    for path in ["", "/snapshot", "/entries", "/export"] {
        let path = format!("/api/sessions/{stored}{path}");
        assert_eq!(gateway.fails(Method::GET, &path, json!({})).await, refused, "{path}");
    }
    let listed = gateway.get("/api/sessions").await["sessions"].clone();
    let mut names: Vec<&str> =
        listed.as_array().unwrap().iter().map(|card| card["id"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["first", "second"]);
    let engine = crate::socket_support::connect(&gateway, &gateway.token).await;
    let target = osier_protocol::OpenTarget::Named { name: stored };
    let failed = engine.open(osier_protocol::OpenRequest { target, leaving: None }).await.unwrap_err();
    assert_eq!(failed.code, osier_protocol::ErrorCode::DirectoryNotAllowed);
}

#[tokio::test]
async fn a_session_is_never_a_path() {
    let gateway = TestGateway::start();
    gateway.env.write("s.jsonl", osier_testkit::ScriptedSession::run("say a").file());
    let file = gateway.env.path("s.jsonl").to_str().unwrap().to_owned();
    for name in [
        "s.jsonl".to_owned(),
        file.replace('/', "%2F"),
        "..%2Fs.jsonl".to_owned(),
        "%2Fetc%2Fpasswd".to_owned(),
    ] {
        let path = format!("/api/sessions/{name}/snapshot");
        assert_eq!(gateway.fails(Method::GET, &path, json!({})).await, error(400, "invalid_id"), "{name}");
    }
}

#[tokio::test]
async fn a_read_only_token_reads_one_session_until_it_expires() {
    let gateway = TestGateway::start();
    let (session, ids) = gateway.create_with(&["hello"]).await;
    let (other, _) = gateway.create_with(&["secret"]).await;
    let id = session.rsplit('/').next().unwrap();
    let printed = gateway.env.args(&["token", "create", id, "--expires", "1h"]);
    assert_eq!(printed.code, 0, "{}", printed.err);
    let token = printed.out.trim();
    let ask = async |method: Method, path: &str| {
        let request = gateway.plain(method, path).bearer_auth(token).json(&json!({}));
        request.send().await.unwrap().status().as_u16()
    };
    for path in
        ["", "/snapshot", "/entries", "/path", "/tree", "/export", "/usage", &format!("/entries/{}", ids[0])]
    {
        assert_eq!(ask(Method::GET, &format!("{session}{path}")).await, 200, "{path}");
        assert_eq!(ask(Method::GET, &format!("{other}{path}")).await, 403, "{path}");
    }
    for path in ["/api/sessions", "/api/engine", "/api/settings", "/api/models", "/api/agents"] {
        assert_eq!(ask(Method::GET, path).await, 403, "{path}");
    }
    for path in ["/prompt", "/move", "/undo", "/fork", "/messages", "/entries", "/cancel", "/shell"] {
        assert_eq!(ask(Method::POST, &format!("{session}{path}")).await, 403, "{path}");
    }
    assert_eq!(ask(Method::DELETE, &session).await, 403);
    assert_eq!(ask(Method::PATCH, &session).await, 403);
    let short = gateway.env.args(&["token", "create", id, "--expires", "1s"]);
    let short = short.out.trim();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while gateway.plain(Method::GET, &session).bearer_auth(short).send().await.unwrap().status() != 401 {
        assert!(std::time::Instant::now() < deadline, "the token expires");
        tokio::task::yield_now().await;
    }
    let link = gateway.env.args(&["token", "create", id, "--link", "--port", &gateway.port().to_string()]);
    let cookie = log_in(&gateway, link.out.trim()).await;
    let with_cookie = |path: &str| gateway.plain(Method::GET, path).header("cookie", &cookie);
    ok(with_cookie(&session).send().await.unwrap()).await;
    assert_eq!(failed(with_cookie(&other).send().await.unwrap()).await, error(403, "forbidden"));
}

/// Other users of the machine can see the arguments of a program, and could use the link first.
#[tokio::test]
async fn serve_opens_the_page_without_showing_its_link_to_other_users() {
    let env = TestEnv::new();
    let tools = env.path("tools");
    fs::create_dir_all(&tools).unwrap();
    // The browser notes its arguments and the page that it opens.
    let browser =
        "#!/bin/sh\necho \"$@\" > opened.args\ncp -p \"$1\" opened.html\nmv opened.html opened.page\n";
    for name in ["xdg-open", "open"] {
        fs::write(tools.join(name), browser).unwrap();
        fs::set_permissions(tools.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = osier_command(&env, &["serve", "--json", "--port", "0", "--open"]);
    let path = std::env::var_os("PATH").unwrap();
    let path = std::env::join_paths([tools].into_iter().chain(std::env::split_paths(&path))).unwrap();
    command.env("PATH", path);
    let gateway = TestGateway::run(env.into(), command);
    let (page, deadline) = (gateway.env.path("opened.page"), Instant::now() + Duration::from_secs(60));
    while !page.exists() {
        assert!(Instant::now() < deadline, "the browser starts");
        std::thread::yield_now();
    }
    assert_eq!(fs::metadata(&page).unwrap().permissions().mode() & 0o777, 0o600);
    let arguments = fs::read_to_string(gateway.env.path("opened.args")).unwrap();
    assert!(!arguments.contains("login") && arguments.trim().ends_with(".html"), "{arguments}");
    let page = fs::read_to_string(page).unwrap();
    let link = page.split_once("<a href=\"").unwrap().1.split_once('"').unwrap().0;
    assert!(link.starts_with(&format!("{}/login/", gateway.url)), "{page}");
    log_in(&gateway, link).await;
    gateway.stop();
    assert!(!Path::new(arguments.trim()).exists(), "the page goes with the gateway");
}
