//! Requests, tool calls, and answers from tool results.

use expect_test::{Expect, expect};
use osier_model::{CancellationToken, Delta, Environment, Message, Model, ModelError, Request, StopReason};
use serde_json::json;

use crate::{deltas, info, message, rendered, request};

async fn check_calls(texts: &[&str], expected: Expect) {
    let mut out = String::new();
    for text in texts {
        let reply =
            message(request(vec![Message::user("before"), assistant("ok"), Message::user(*text)])).await;
        let calls: Vec<String> =
            rendered(&reply).lines().filter(|line| line.starts_with("-> ")).map(str::to_owned).collect();
        out += &format!(
            "{text}\n  {}\n",
            if calls.is_empty() { "(no call)".to_owned() } else { calls.join("\n  ") }
        );
    }
    expected.assert_eq(&out);
}

fn assistant(text: &str) -> Message {
    serde_json::from_value(json!({ "role": "assistant", "content": [{ "type": "text", "text": text }] }))
        .unwrap()
}

#[tokio::test]
async fn simple_requests_become_tool_calls() {
    check_calls(
        &[
            "read README.md",
            "Please read src/main.rs.",
            "Can you show me Cargo.toml and src/lib.rs?",
            "read lines 10-20 of src/main.rs",
            "open Makefile",
            "what's in `my notes.txt`?",
            "what is in src?",
            "list src",
            "ls",
            "What files are in crates/model?",
            "read @notes.txt",
            "search for river",
            "search for \"fn main\" in src",
            "grep unwrap in crates/",
            "where is parse_config defined?",
            "find *.rs",
            "find the file main.rs",
            "find config",
            "run the tests",
            "run `cargo build --release` please",
            "run cargo fmt -- --check",
            "$ git log --oneline | head -3; echo done",
            "write notes.txt with \"hello, world\"",
            "write hello to notes.txt",
            "create a file src/new.rs containing fn a() {}",
            "create empty.txt",
            "replace \"foo\" with \"bar\" in src/main.rs",
            "read a.txt, then run the tests",
            "list src and run tests",
        ],
        expect![[r#"
            read README.md
              -> read {"path":"README.md"}
            Please read src/main.rs.
              -> read {"path":"src/main.rs"}
            Can you show me Cargo.toml and src/lib.rs?
              -> read {"path":"Cargo.toml"}
              -> read {"path":"src/lib.rs"}
            read lines 10-20 of src/main.rs
              -> read {"path":"src/main.rs","offset":10,"limit":11}
            open Makefile
              -> read {"path":"Makefile"}
            what's in `my notes.txt`?
              -> read {"path":"my notes.txt"}
            what is in src?
              -> ls {"path":"src"}
            list src
              -> ls {"path":"src"}
            ls
              -> ls {}
            What files are in crates/model?
              -> ls {"path":"crates/model"}
            read @notes.txt
              -> read {"path":"notes.txt"}
            search for river
              -> grep {"pattern":"river","literal":true}
            search for "fn main" in src
              -> grep {"pattern":"fn main","path":"src","literal":true}
            grep unwrap in crates/
              -> grep {"pattern":"unwrap","path":"crates/","literal":true}
            where is parse_config defined?
              -> grep {"pattern":"parse_config","literal":true}
            find *.rs
              -> find {"pattern":"*.rs"}
            find the file main.rs
              -> find {"pattern":"main.rs"}
            find config
              -> find {"pattern":"*config*"}
            run the tests
              -> bash {"command":"if [ -f Cargo.toml ]; then cargo test; elif [ -f package.json ]; then npm test; elif [ -f go.mod ]; then go test ./...; elif [ -f Makefile ]; then make test; else python3 -m pytest; fi"}
            run `cargo build --release` please
              -> bash {"command":"cargo build --release"}
            run cargo fmt -- --check
              -> bash {"command":"cargo fmt -- --check"}
            $ git log --oneline | head -3; echo done
              -> bash {"command":"git log --oneline | head -3; echo done"}
            write notes.txt with "hello, world"
              -> write {"path":"notes.txt","content":"hello, world\n"}
            write hello to notes.txt
              -> write {"path":"notes.txt","content":"hello\n"}
            create a file src/new.rs containing fn a() {}
              -> write {"path":"src/new.rs","content":"fn a() {}\n"}
            create empty.txt
              -> write {"path":"empty.txt","content":""}
            replace "foo" with "bar" in src/main.rs
              -> edit {"path":"src/main.rs","edits":[{"oldText":"foo","newText":"bar"}]}
            read a.txt, then run the tests
              -> read {"path":"a.txt"}
            list src and run tests
              -> ls {"path":"src"}
              -> bash {"command":"if [ -f Cargo.toml ]; then cargo test; elif [ -f package.json ]; then npm test; elif [ -f go.mod ]; then go test ./...; elif [ -f Makefile ]; then make test; else python3 -m pytest; fi"}
        "#]],
    )
    .await;
}

#[tokio::test]
async fn tasks_are_delegated_together() {
    let texts = [
        "delegate list src; read README.md",
        "Delegate: run the tests",
        "委派：列出 src；读取 a.md",
        "delegates x",
    ];
    check_calls(&texts, expect![[r#"
        delegate list src; read README.md
          -> task {"tasks":[{"prompt":"list src","description":"list src"},{"prompt":"read README.md","description":"read README.md"}]}
        Delegate: run the tests
          -> task {"tasks":[{"prompt":"run the tests","description":"run the tests"}]}
        委派：列出 src；读取 a.md
          -> task {"tasks":[{"prompt":"列出 src","description":"列出 src"},{"prompt":"读取 a.md","description":"读取 a.md"}]}
        delegates x
          (no call)
    "#]]).await;
}

#[tokio::test]
async fn chinese_requests_become_tool_calls() {
    check_calls(
        &[
            "读取 README.md",
            "请读取README.md文件的内容",
            "帮我看一下 src/main.rs",
            "列出 src 目录",
            "src 目录下有哪些文件？",
            "搜索 river",
            "搜索“内存泄漏”",
            "找文件 *.rs",
            "运行测试",
            "运行 `cargo build`",
            "执行 ls -la",
            "把“你好，世界”写入 笔记.txt",
            "创建 a.txt，内容为 你好",
            "把 a.txt 里的 \"旧\" 改成 \"新\"",
            "列出 src，然后读取 Cargo.toml",
        ],
        expect![[r#"
            读取 README.md
              -> read {"path":"README.md"}
            请读取README.md文件的内容
              -> read {"path":"README.md"}
            帮我看一下 src/main.rs
              -> read {"path":"src/main.rs"}
            列出 src 目录
              -> ls {"path":"src"}
            src 目录下有哪些文件？
              -> ls {"path":"src"}
            搜索 river
              -> grep {"pattern":"river","literal":true}
            搜索“内存泄漏”
              -> grep {"pattern":"内存泄漏","literal":true}
            找文件 *.rs
              -> find {"pattern":"*.rs"}
            运行测试
              -> bash {"command":"if [ -f Cargo.toml ]; then cargo test; elif [ -f package.json ]; then npm test; elif [ -f go.mod ]; then go test ./...; elif [ -f Makefile ]; then make test; else python3 -m pytest; fi"}
            运行 `cargo build`
              -> bash {"command":"cargo build"}
            执行 ls -la
              -> bash {"command":"ls -la"}
            把“你好，世界”写入 笔记.txt
              -> write {"path":"笔记.txt","content":"你好，世界\n"}
            创建 a.txt，内容为 你好
              -> write {"path":"a.txt","content":"你好\n"}
            把 a.txt 里的 "旧" 改成 "新"
              -> edit {"path":"a.txt","edits":[{"oldText":"旧","newText":"新"}]}
            列出 src，然后读取 Cargo.toml
              -> ls {"path":"src"}
        "#]],
    )
    .await;
}

#[tokio::test]
async fn unclear_requests_make_no_calls() {
    check_calls(
        &[
            "Why is the sky blue?",
            "show me how it works",
            "run a marathon",
            "Write a poem about the sea",
            "",
            "读书的好处是什么？",
            "fix the bug",
            "don't read anything",
        ],
        expect![[r#"
            Why is the sky blue?
              (no call)
            show me how it works
              (no call)
            run a marathon
              (no call)
            Write a poem about the sea
              (no call)

              (no call)
            读书的好处是什么？
              (no call)
            fix the bug
              (no call)
            don't read anything
              (no call)
        "#]],
    )
    .await;
}

/// Runs a turn with scripted tool results and returns the transcript.
async fn run_turn(text: &str, results: &[(&str, bool)]) -> String {
    let mut messages = vec![Message::user(text)];
    let mut results = results.iter();
    let mut out = format!("user: {text}\n");
    for _ in 0..6 {
        let reply = message(request(messages.clone())).await;
        out += &rendered(&reply);
        let calls: Vec<(String, String)> =
            reply.calls_to_run().map(|call| (call.id.clone(), call.name.clone())).collect();
        messages.push(Message::Assistant(reply));
        if calls.is_empty() {
            break;
        }
        for (id, name) in calls {
            let (text, is_error) = results.next().unwrap();
            out += &format!("<- {text}\n");
            messages.push(serde_json::from_value(json!({ "role": "toolResult", "toolCallId": id, "toolName": name, "isError": is_error, "content": text })).unwrap());
        }
    }
    out
}

#[tokio::test]
async fn two_step_turn_answers_from_tool_results() {
    let transcript = run_turn(
        "list src, then run the tests",
        &[("lib.rs\nmain.rs", false), ("running 2 tests\ntest result: ok. 2 passed\n[exit code 0]", false)],
    )
    .await;
    expect![[r#"
        user: list src, then run the tests
        I will list `src`.
        -> ls {"path":"src"}
        <- lib.rs
        main.rs
        I will run the tests.
        -> bash {"command":"if [ -f Cargo.toml ]; then cargo test; elif [ -f package.json ]; then npm test; elif [ -f go.mod ]; then go test ./...; elif [ -f Makefile ]; then make test; else python3 -m pytest; fi"}
        <- running 2 tests
        test result: ok. 2 passed
        [exit code 0]
        `ls src` returned 2 lines:

        ```
        lib.rs
        main.rs
        ```

        `bash if [ -f Cargo.toml ]; then cargo test; elif [ -f package.json ]; then npm test; …` returned 3 lines:

        ```
        running 2 tests
        test result: ok. 2 passed
        [exit code 0]
        ```

        (This is Osier's offline model: built in, rules instead of a neural network. With an API key, a real model answers.)
    "#]].assert_eq(&transcript);
}

#[tokio::test]
async fn failed_step_stops_the_plan() {
    let transcript =
        run_turn("读取 没有.txt，然后运行测试", &[("cannot read 没有.txt: no such file", true)]).await;
    expect![[r#"
        user: 读取 没有.txt，然后运行测试
        我来读取 `没有.txt`。
        -> read {"path":"没有.txt"}
        <- cannot read 没有.txt: no such file
        `read 没有.txt` 没有成功：

        ```
        cannot read 没有.txt: no such file
        ```

        （这是 Osier 内置的离线模型：只按规则行事，不是神经网络。设置 API 密钥后，由真正的模型回答。）
    "#]]
    .assert_eq(&transcript);
}

#[tokio::test]
async fn question_is_answered_from_earlier_output() {
    let messages: Vec<Message> = serde_json::from_value(json!([
        { "role": "user", "content": "read config.toml" },
        { "role": "assistant", "content": [{ "type": "toolCall", "id": "1", "name": "read", "arguments": { "path": "config.toml" } }] },
        { "role": "toolResult", "toolCallId": "1", "toolName": "read", "content": "[server]\nport = 8099\nhost = \"localhost\"\n[log]\nlevel = \"debug\"" },
        { "role": "assistant", "content": [{ "type": "text", "text": "Read." }] },
        { "role": "user", "content": "What port does it use?" },
    ]))
    .unwrap();
    expect![[r#"
        From earlier in this conversation:

        - port = 8099 (read)
    "#]]
    .assert_eq(&rendered(&message(request(messages)).await));
}

#[tokio::test]
async fn greeting_gets_an_introduction() {
    let reply = rendered(&message(request(vec![Message::user("Hello!")])).await);
    assert!(reply.starts_with("(This is Osier's offline model"), "{reply}");
    let reply = rendered(&message(request(vec![Message::user("你好")])).await);
    assert!(reply.starts_with("（这是 Osier 内置的离线模型"), "{reply}");
}

#[tokio::test]
async fn missing_tool_is_named() {
    let request = Request { tools: Vec::new(), ..request(vec![Message::user("read a.txt")]) };
    let reply = rendered(&message(request).await);
    assert!(reply.starts_with("I need the tool `read` for that"), "{reply}");
}

#[tokio::test]
async fn checkpoint_marks_are_not_requests() {
    let message_with_marker: Message = serde_json::from_value(json!({ "role": "user", "content": [
        { "type": "text", "text": "read a.txt" }, { "type": "text", "text": "<system>Checkpoint 0</system>" },
    ]}))
    .unwrap();
    let reply = message(request(vec![message_with_marker.clone()])).await;
    assert_eq!(reply.calls().count(), 1);
    let result = serde_json::from_value(json!({
        "role": "toolResult", "toolCallId": reply.calls().next().unwrap().id, "toolName": "read",
        "content": [{ "type": "text", "text": "one" }, { "type": "text", "text": "<system>Checkpoint 1</system>" }],
    }));
    let messages = vec![message_with_marker, Message::Assistant(reply), result.unwrap()];
    let answer = rendered(&message(request(messages)).await);
    assert!(answer.contains("one") && !answer.contains("Checkpoint"), "{answer}");
}

#[tokio::test]
async fn reply_is_deterministic_and_streamed_with_usage() {
    let ask = || request(vec![Message::user("help")]);
    let (one, other) = (deltas(ask()).await, deltas(ask()).await);
    assert_eq!(one, other);
    assert!(one.iter().filter(|delta| matches!(delta, Delta::Text { .. })).count() > 20);
    let Some(Delta::Done(message)) = one.last() else { panic!("{one:?}") };
    assert!(
        message.usage.input > 0 && message.usage.output > 50 && message.usage.cost.total == 0.0,
        "{:?}",
        message.usage
    );
    assert_eq!(
        (message.provider.as_str(), message.api.as_str(), message.model.as_str()),
        ("offline", "offline", "offline")
    );
}

#[tokio::test]
async fn output_limit_context_overflow_and_cancel() {
    let short = Request { max_tokens: Some(10), ..request(vec![Message::user("help")]) };
    let reply = message(short).await;
    assert_eq!((reply.stop_reason, reply.text().len() <= 40), (StopReason::Length, true));

    let mut tiny = info();
    tiny.context_window = 100;
    let full =
        Request { model: std::sync::Arc::new(tiny), ..request(vec![Message::user("x".repeat(1_000))]) };
    assert!(matches!(
        deltas(full).await.last(),
        Some(Delta::Failed(ModelError::ContextOverflow { window: Some(100), .. }, _))
    ));

    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let model = osier_offline::OfflineModel::new(Environment::empty());
    let last = futures_util::StreamExt::collect::<Vec<_>>(
        model.stream(request(vec![Message::user("help")]), cancelled),
    )
    .await
    .pop();
    assert!(matches!(last, Some(Delta::Failed(ModelError::Cancelled, _))));
}

proptest::proptest! {
    #[test]
    fn no_text_causes_a_panic(text in "(read|write|list|run|search for|replace|把|读取|写入|改成|里的|, then|with|to|in|\\$|`|\"|“|”|İ|文件|a\\.rs|\n|```| |\\PC){0,14}") {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let ended = runtime.block_on(deltas(request(vec![Message::user(text)])));
        proptest::prop_assert!(matches!(ended.last(), Some(Delta::Done(_))));
    }

    #[test]
    fn no_conversation_causes_a_panic_in_a_summary(text in "(\\[User\\]: |\\[Assistant tool calls\\]: |\\[Tool result\\]: |read\\(|path=\"|\\)|</conversation>|<previous-summary>|## Goal|error|\n|\\PC){0,20}") {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let request = Request { tools: Vec::new(), ..request(vec![Message::user(format!("<conversation>{text}</conversation>"))]) };
        let ended = runtime.block_on(deltas(request));
        proptest::prop_assert!(matches!(ended.last(), Some(Delta::Done(_))));
    }
}
