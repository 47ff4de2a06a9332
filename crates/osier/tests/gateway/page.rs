//! The page, and the HTML that it shows.

use reqwest::Method;
use serde_json::{Value, json};

use crate::server::TestGateway;

async fn text(gateway: &TestGateway, path: &str) -> String {
    let response = gateway.plain(Method::GET, path).send().await.unwrap();
    assert_eq!(response.status(), 200, "{path}");
    response.text().await.unwrap()
}

#[tokio::test]
async fn the_page_loads_only_files_of_the_gateway() {
    let gateway = TestGateway::start();
    let page = text(&gateway, "/").await;
    assert!(!page.contains("<style") && !page.contains(" style="));
    let folder = page.split('"').find_map(|part| part.strip_suffix("/live.js")).unwrap();
    assert_eq!(
        page.matches("<script").count(),
        page.matches("<script type=\"module\"").count(),
        "no inline script"
    );
    let (mut open, mut seen) = (vec!["live.js".to_owned()], Vec::new());
    while let Some(name) = open.pop() {
        let module = text(&gateway, &format!("{folder}/{name}")).await;
        for line in module.lines().filter(|line| line.starts_with("import ")) {
            let import = line.split("\"./").nth(1).and_then(|rest| rest.strip_suffix("\";")).unwrap();
            if !seen.iter().any(|known| known == import) {
                seen.push(import.to_owned());
                open.push(import.to_owned());
            }
        }
    }
    assert!(seen.len() > 15, "{seen:?}");
}

#[tokio::test]
async fn an_unknown_path_is_a_page_for_browsers_and_an_error_for_programs() {
    let gateway = TestGateway::start();
    let browser = gateway.plain(Method::GET, "/nothing").header("accept", "text/html,*/*;q=0.8");
    let response = browser.send().await.unwrap();
    assert_eq!(response.status(), 404);
    assert!(response.text().await.unwrap().contains("There is no such page"));
    for (path, accept) in [("/nothing", "*/*"), ("/api/nothing", "text/html")] {
        let response = gateway.plain(Method::GET, path).header("accept", accept).send().await.unwrap();
        let error: Value = response.json().await.unwrap();
        assert!(error["message"].as_str().unwrap().starts_with("no such endpoint"), "{path}");
    }
}

/// A browser keeps the files of a version, and gets those of a new one: their addresses differ.
#[tokio::test]
async fn files_are_cached_by_their_version() {
    let gateway = TestGateway::start();
    let page = text(&gateway, "/").await;
    let style = page.split('"').find(|part| part.ends_with("/style.css")).unwrap();
    let caching = async |path: &str| {
        let response = gateway.plain(Method::GET, path).send().await.unwrap();
        response.headers()["cache-control"].to_str().unwrap().to_owned()
    };
    assert!(caching(style).await.contains("immutable"));
    for path in ["/", "/assets/style.css", "/assets/0000000000000000/style.css"] {
        assert_eq!(caching(path).await, "no-cache", "{path}");
    }
}

#[tokio::test]
async fn entries_are_rendered_in_the_order_of_the_path() {
    let gateway = TestGateway::start();
    let (session, ids) = gateway.create_with(&["**one**", "two", "<script>alert(1)</script>"]).await;
    let last = gateway.get(&format!("{session}/rendered?last=2")).await;
    assert_eq!((&last["hiddenEntries"], &last["leafId"]), (&json!(1), &json!(ids[2])));
    let rows: Vec<_> = last["entries"].as_array().unwrap().iter().map(|entry| &entry["row"]["id"]).collect();
    assert_eq!(rows, [&json!(ids[1]), &json!(ids[2])]);
    let html = last["entries"][1]["html"].as_str().unwrap();
    assert!(html.contains("&lt;") && html.contains("script") && !html.contains("<script"), "{html}");
    let named = gateway.get(&format!("{session}/rendered?ids={},ffffffff,{}", ids[2], ids[0])).await;
    assert_eq!(named["entries"].as_array().unwrap().len(), 2, "an unknown entry is left out");
    assert!(named["entries"][1]["html"].as_str().unwrap().contains("<strong>one</strong>"));
    let many = vec!["a"; 201].join(",");
    let refused = gateway.fails(Method::GET, &format!("{session}/rendered?ids={many}"), json!({})).await;
    assert_eq!(refused, (400, "invalid_request".to_owned()));
}

/// Each entry of the test has 7 MB, and a response has at most 16 MB of entries.
#[tokio::test]
async fn large_entries_are_rendered_in_several_responses() {
    let gateway = TestGateway::start();
    let (session, _) = gateway.create_with(&[]).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        let image = json!({ "type": "image", "mimeType": "image/png", "data": "A".repeat(7 << 20) });
        let message = json!({ "message": { "role": "user", "content": [image] } });
        let stored = gateway.post(&format!("{session}/messages"), message).await;
        ids.push(stored["id"].as_str().unwrap().to_owned());
    }
    let rendered = |rendered: &Value| -> Vec<String> {
        let rows = rendered["entries"].as_array().unwrap().iter();
        rows.map(|entry| entry["row"]["id"].as_str().unwrap().to_owned()).collect()
    };
    let repeated = vec![ids[0].clone(); 150].join(",");
    let first = gateway.get(&format!("{session}/rendered?ids={repeated},{},{}", ids[1], ids[2])).await;
    assert_eq!((rendered(&first), &first["omitted"]), (ids[..2].to_vec(), &json!([ids[2]])));
    let rest = gateway.get(&format!("{session}/rendered?ids={}", ids[2])).await;
    assert_eq!((rendered(&rest), &rest["omitted"]), (ids[2..].to_vec(), &Value::Null));
    let last = gateway.get(&format!("{session}/rendered?last=3")).await;
    assert_eq!((rendered(&last), &last["hiddenEntries"]), (ids[1..].to_vec(), &json!(1)));
}

/// Each row is a line, so that a tree of any size can be read piece by piece.
#[tokio::test]
async fn the_rows_of_the_tree_are_lines() {
    let gateway = TestGateway::start();
    let (session, ids) = gateway.create_with(&["one", "two", "three"]).await;
    gateway.post(&format!("{session}/move"), json!({ "targetId": ids[1], "exact": true })).await;
    let response = gateway.request(Method::GET, &format!("{session}/rows")).send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/x-ndjson");
    let text = response.text().await.unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // The move is an entry, too.
    assert_eq!(lines[0], json!({ "rows": 4, "leafId": ids[1] }));
    let rows: Vec<_> = lines[1..].iter().map(|row| &row["id"]).collect();
    assert_eq!((rows.len(), rows[0], rows[2]), (4, &json!(ids[0]), &json!(ids[2])));
    assert_eq!((&lines[3]["parentId"], &lines[3]["preview"]), (&json!(ids[1]), &json!("user: \"three\"")));
}

#[tokio::test]
async fn text_that_is_not_stored_is_rendered_like_entries() {
    let gateway = TestGateway::start();
    let reply = json!({ "type": "message", "id": "1", "parentId": null,
        "message": { "role": "assistant", "content": [{ "type": "text", "text": "*a* <b>" }] } });
    let parts = json!({ "parts": [
        { "type": "entry", "entry": reply },
        { "type": "diff", "text": "@@ -1 +1 @@\n-old\n+<i>new" },
        { "type": "markdown", "text": "# Title" },
    ] });
    let rendered = gateway.post("/api/render", parts).await;
    let html: Vec<_> =
        rendered["html"].as_array().unwrap().iter().map(|part| part.as_str().unwrap()).collect();
    assert!(html[0].contains("<em>a</em> &lt;b&gt;"), "{}", html[0]);
    assert!(html[1].contains("class=\"added\"") && html[1].contains("+&lt;i&gt;new"), "{}", html[1]);
    assert!(html[2].contains("Title</h"), "{}", html[2]);
}

/// The lines that an export can save are a session with the same tree, without deleted branches.
#[tokio::test]
async fn an_export_contains_a_session_that_can_be_opened() {
    let gateway = TestGateway::start();
    let (session, ids) = gateway.create_with(&["one", "two </script> \u{2028}", "three"]).await;
    gateway.post(&format!("{session}/move"), json!({ "targetId": ids[0], "exact": true })).await;
    let other = json!({ "message": { "role": "user", "content": "gone" } });
    let gone = gateway.post(&format!("{session}/messages"), other).await;
    let gone = format!("{session}/entries/{}", gone["id"].as_str().unwrap());
    assert!(gateway.request(Method::DELETE, &gone).send().await.unwrap().status().is_success());
    let export = gateway.request(Method::GET, &format!("{session}/export?format=html")).send().await.unwrap();
    let export = export.text().await.unwrap();
    let blocks = export.split("<script type=\"application/json\" class=\"lines\"").skip(1);
    let json = blocks.map(|block| block.split_once('>').unwrap().1.split_once("</script>").unwrap().0);
    let lines = json.flat_map(|block| serde_json::from_str::<Vec<String>>(block).unwrap());
    let log: String = lines.map(|line| line + "\n").collect();
    assert!(!log.contains("gone"), "{log}");
    gateway.env.write("copy.jsonl", &log);
    let tree = |name: &str| gateway.env.ok(&format!("tree {name} --json --filter default"));
    let id = session.rsplit('/').next().unwrap();
    assert_eq!(tree("copy.jsonl"), tree(id));
}
