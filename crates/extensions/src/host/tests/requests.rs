//! Requests over HTTP: the keys and headers that are sent, and what the provider sends back.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use super::*;

/// What a server for chat completions sends.
const REPLY: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"}}]}\n\n\
    data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// Answers one request. Returns the URL, and the headers and the body of the request as soon as it has come.
pub(super) fn start_server() -> (String, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let served = std::thread::spawn(move || {
        let mut stream = BufReader::new(listener.accept().unwrap().0);
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).unwrap();
            if line.trim().is_empty() {
                break;
            }
            let line = line.to_lowercase();
            if let Some(count) = line.strip_prefix("content-length:") {
                length = count.trim().parse().unwrap();
            }
            head += &line;
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).unwrap();
        head += &String::from_utf8(body).unwrap();
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{REPLY}",
            REPLY.len()
        );
        stream.get_mut().write_all(answer.as_bytes()).unwrap();
        head
    });
    (url, served)
}

/// An extension with a provider at this URL, and what else it does.
fn with_provider(url: &str, key: &str, more: &str) -> String {
    format!(
        "export default (pi) => {{ pi.registerProvider('local', {{ baseUrl: '{url}', apiKey: '{key}', api: 'openai-completions',
            headers: {{ 'x-own': 'secret' }}, models: [{{ id: 'm' }}] }});
            const seen = []; {more} pi.on('agent_end', (_, ctx) => ctx.ui.notify(seen.join('; '))); }};"
    )
}

/// The headers and the body of the request of one turn, and what the extension says at its end.
async fn headers_of_turn(key: &str, more: &str) -> (String, String) {
    let (url, served) = start_server();
    let mut session = TestSession::new(&[&with_provider(&url, key, more)], []).await;
    session.client_send(ClientCommand::SetModel { model: "local/m".to_owned() }).await;
    session.send("hello").await;
    let message = session.notified().await;
    (served.join().unwrap(), message)
}

#[tokio::test]
async fn a_key_is_a_text_a_variable_or_the_output_of_a_command() {
    let path = std::env::var("PATH").unwrap();
    for (key, sent) in [("k1", "k1"), ("$PATH", path.as_str()), ("!echo k3", "k3")] {
        let (head, _) = headers_of_turn(key, "").await;
        let expected = format!("authorization: bearer {}", sent.to_lowercase());
        assert!(head.contains(&expected), "{key}: {head}");
    }
}

#[tokio::test]
async fn a_model_has_a_url_and_headers_of_its_own() {
    let (url, served) = start_server();
    let source = format!(
        "export default (pi) => pi.registerProvider('local', {{ baseUrl: 'http://127.0.0.1:1', apiKey: 'k1', api: 'openai-completions',
            headers: {{ 'x-own': 'provider', 'x-both': 'provider' }},
            models: [{{ id: 'other' }}, {{ id: 'm', baseUrl: '{url}', headers: {{ 'x-both': 'model' }} }}] }});"
    );
    let mut session = TestSession::new(&[&source], []).await;
    session.client_send(ClientCommand::SetModel { model: "local/m".to_owned() }).await;
    session.turn("hello").await;
    let head = served.join().unwrap();
    for line in ["authorization: bearer k1", "x-own: provider", "x-both: model"] {
        assert!(head.contains(line), "{line}: {head}");
    }
}

#[tokio::test]
async fn handlers_change_headers_and_see_no_key() {
    let more = "pi.on('before_provider_headers', (event) => {
        seen.push(Object.keys(event.headers).filter((name) => /^(authorization|x-own)$/i.test(name)).join() || 'no key');
        event.headers['x-new'] = 'added';
        event.headers['x-gone'] = 'soon';
    });
    pi.on('before_provider_headers', (event) => { event.headers['x-gone'] = null; });";
    let (head, message) = headers_of_turn("k1", more).await;
    assert!(head.contains("x-new: added") && !head.contains("x-gone"), "{head}");
    assert!(head.contains("x-own: secret") && head.contains("authorization: bearer k1"), "{head}");
    assert_eq!(message, "no key");
}

#[tokio::test]
async fn handlers_see_what_the_provider_sends() {
    let more = "pi.on('provider_stream_event', ({ provider, api, model, data }) => { seen.push([provider, api, model, data.choices[0].delta.content ?? data.choices[0].finish_reason].join(' ')); });
        pi.on('after_provider_response', ({ status }) => { seen.push(status); });";
    let (_, message) = headers_of_turn("k1", more).await;
    assert_eq!(message, "local openai-completions m hi; local openai-completions m stop; 200");
}

#[tokio::test]
async fn handlers_change_the_body_that_is_sent() {
    let more = "pi.on('before_provider_request', ({ payload }) => { seen.push(payload.stream, payload.messages.at(-1).role); payload.temperature = 0.5; return payload; });
        pi.on('before_provider_request', ({ payload }) => ({ ...payload, service_tier: 'flex', seen: payload.temperature }));
        pi.on('before_provider_request', () => undefined);";
    let (request, message) = headers_of_turn("k1", more).await;
    assert!(request.contains(r#""service_tier":"flex""#) && request.contains(r#""seen":0.5"#), "{request}");
    assert_eq!(message, "true; user");
}
