//! The modules of Node and the globals, as extensions use them.

use super::*;

/// What the function `run` of an extension returns, as text. `imports` stand before it.
async fn returned(imports: &str, body: &str) -> String {
    let source = format!(
        "{imports}\nexport default (pi) => pi.registerCommand('run', {{ handler: async (args, ctx) => {{\n\
           let text;\n\
           try {{ text = JSON.stringify(await (async () => {{ {body} }})()) }} catch (error) {{ text = `${{error.code ?? ''}} ${{error.message}}` }}\n\
           ctx.ui.notify(String(text));\n\
         }} }});"
    );
    let mut session = TestSession::new(&[&source], []).await;
    session.send("/run").await;
    session.notified().await
}

#[tokio::test]
async fn files_are_written_and_read() {
    let text = returned(
        "import * as fs from 'node:fs'; import { join } from 'path'; import os from 'os';",
        "const folder = fs.mkdtempSync(join(os.tmpdir(), 'osier-test-'));\n\
         try {\n\
           const file = join(folder, 'a/b.txt');\n\
           fs.mkdirSync(join(folder, 'a'), { recursive: true });\n\
           fs.writeFileSync(file, 'grün');\n\
           fs.appendFileSync(file, '\\n2');\n\
           fs.copyFileSync(file, file + '.copy');\n\
           const about = fs.statSync(file);\n\
           const list = fs.readdirSync(folder, { withFileTypes: true }).map((entry) => [entry.name, entry.isDirectory()]);\n\
           const buffer = fs.readFileSync(file);\n\
           const before = fs.existsSync(file + '.copy');\n\
           fs.rmSync(file + '.copy');\n\
           return [fs.readFileSync(file, 'utf8'), buffer.length, about.isFile(), about.size, about.mtime instanceof Date, list, before, fs.existsSync(file + '.copy')];\n\
         } finally { fs.rmSync(folder, { recursive: true, force: true }); }",
    )
    .await;
    assert_eq!(text, r#"["grün\n2",7,true,7,true,[["a",true]],true,false]"#);
}

#[tokio::test]
async fn errors_of_files_have_nodes_codes() {
    let text = returned(
        "import fs from 'fs'; import { readFile, access } from 'fs/promises';",
        "const codes = [];\n\
         const note = (error) => codes.push([error.code, error.syscall]);\n\
         await readFile('/no/such/file').catch(note);\n\
         await access('/no/such/file').catch(note);\n\
         try { fs.readdirSync('/no/such/folder') } catch (error) { note(error); }\n\
         try { fs.readFileSync('/') } catch (error) { note(error); }\n\
         await new Promise((done) => fs.readFile('/nope', 'utf8', (error) => { note(error); done(); }));\n\
         codes.push(fs.statSync('/nope', { throwIfNoEntry: false }) === undefined);\n\
         return codes;",
    )
    .await;
    assert_eq!(
        text,
        r#"[["ENOENT","open"],["ENOENT","access"],["ENOENT","scandir"],["EISDIR","read"],["ENOENT","open"],true]"#
    );
}

#[tokio::test]
async fn programs_stream_their_output_and_end() {
    let text = returned(
        "import { spawn, execSync, spawnSync, exec, execFile } from 'child_process'; import { promisify } from 'util';",
        "const seen = [];\n\
         const child = spawn('sh', ['-c', 'cat; echo err >&2; exit 3']);\n\
         child.stdout.on('data', (data) => seen.push(String(data)));\n\
         child.stderr.setEncoding('utf8').on('data', (data) => seen.push(data));\n\
         child.stdin.end('in');\n\
         const code = await new Promise((done) => child.on('close', done));\n\
         const { stdout } = await promisify(exec)('echo $((1+1))');\n\
         const failed = await promisify(execFile)('false').catch((error) => error.code);\n\
         const missing = await new Promise((done) => spawn('no-such-program').on('error', (error) => done(error.code)));\n\
         const run = spawnSync('sh', ['-c', 'cat'], { input: 'x', encoding: 'utf8' });\n\
         return [seen.sort(), code, stdout, failed, missing, run.stdout, run.status, execSync('echo sync').toString(), spawnSync('no-such-program').error.code];",
    )
    .await;
    assert_eq!(text, r#"[["err\n","in"],3,"2\n",1,"ENOENT","x",0,"sync\n","ENOENT"]"#);
}

#[tokio::test]
async fn a_program_is_killed() {
    let text = returned(
        "import { spawn } from 'node:child_process';",
        "const child = spawn('sleep', ['1000']);\n\
         child.kill();\n\
         return await new Promise((done) => child.on('exit', (code, signal) => done([code, signal])));",
    )
    .await;
    assert_eq!(text, r#"[null,"SIGTERM"]"#);
}

#[tokio::test]
async fn buffers_text_and_hashes() {
    let text = returned(
        "import { createHash, createHmac, randomUUID } from 'node:crypto'; import { Buffer as Named } from 'buffer';",
        "const bytes = Buffer.from('grün');\n\
         return [Named === Buffer, bytes.toString('hex'), bytes.toString('base64'), Buffer.from('_-8', 'base64url').length,\n\
           Buffer.concat([bytes, Buffer.from([0, 255])]).length, bytes.subarray(0, 2) instanceof Buffer, Buffer.byteLength('ü'),\n\
           new TextDecoder().decode(new TextEncoder().encode('é😀')), createHash('sha256').update('a').update('b').digest('hex').slice(0, 8),\n\
           createHmac('sha1', 'k').update('x').digest('base64').length, /^[0-9a-f]{8}-[0-9a-f]{4}-4/.test(randomUUID()),\n\
           atob(btoa('hi')), bytes.equals(Buffer.from('grün')), Buffer.from([1, 2]).readUInt16BE(0), crypto.randomUUID().length];",
    )
    .await;
    assert_eq!(
        text,
        r#"[true,"6772c3bc6e","Z3LDvG4=",2,7,true,2,"é😀","fb8e20fc",28,true,"hi",true,258,36]"#
    );
}

#[tokio::test]
async fn urls_segments_and_numbers() {
    let text = returned(
        "import { fileURLToPath, pathToFileURL } from 'url';",
        "const url = new URL('https://x.org/a?b=1');\n\
         url.searchParams.append('c', 'ä 2');\n\
         url.pathname = '/z';\n\
         const words = [...new Intl.Segmenter('en', { granularity: 'grapheme' }).segment('a👨‍👩‍👧b')].map((part) => part.segment.length);\n\
         return [url.href, fileURLToPath(pathToFileURL('/a b/c')), URL.canParse('x'), words, (1234567.891).toLocaleString(),\n\
           new Date(0).toLocaleDateString('en-US', { timeZone: 'UTC', month: 'short', day: 'numeric' }), import.meta.url.startsWith('file:///'),\n\
           import.meta.dirname.startsWith('/'), structuredClone(new Map([[1, { a: [2] }]])).get(1).a[0]];",
    )
    .await;
    assert_eq!(
        text,
        r#"["https://x.org/z?b=1&c=%C3%A4+2","/a b/c",false,[1,8,1],"1,234,567.891","Jan 1",true,true,2]"#
    );
}

#[tokio::test]
async fn modules_are_required_by_every_name() {
    let text = returned(
        "import { createRequire } from 'node:module'; import EventEmitter, { once } from 'events'; import { readFileSync } from 'fs';",
        "const names = ['fs', 'node:fs/promises', 'path', 'os', 'child_process', 'url', 'util', 'crypto', 'events', 'readline', 'buffer', 'process', 'timers/promises', 'stream', 'assert', 'string_decoder'];\n\
         const own = createRequire(import.meta.url);\n\
         const emitter = new EventEmitter();\n\
         setTimeout(() => emitter.emit('x', 5), 0);\n\
         const [value] = await once(emitter, 'x');\n\
         return [names.filter((name) => !own(name)), typeof require('fs').readFileSync, require('fs').readFileSync === readFileSync, typeof require('events'), require('process') === process, value,\n\
           require('util').inspect({ a: [1, 'b'] }), process.cwd() === ctx.cwd, typeof process.pid, process.platform.length > 0];",
    )
    .await;
    assert_eq!(text, r#"[[],"function",true,"function",true,5,"{ a: [ 1, \"b\" ] }",true,"number",true]"#);
}

#[tokio::test]
async fn packages_of_node_modules_are_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let write = |file: &str, text: &str| {
        let path = folder.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("node_modules/old/package.json", r#"{ "main": "lib.js" }"#);
    write(
        "node_modules/old/lib.js",
        "const path = require('path'); exports.join = (...parts) => path.join(...parts);",
    );
    write("node_modules/new/package.json", r#"{ "type": "module", "exports": "./index.js" }"#);
    write(
        "node_modules/new/index.js",
        "import data from './data.json' with { type: 'json' }; export const number = data.n;",
    );
    write("node_modules/new/data.json", r#"{ "n": 7 }"#);
    let main = "import { join } from 'old'; import { number } from 'new'; \
                export default (pi) => pi.registerCommand('run', { handler: (args, ctx) => ctx.ui.notify(`${join('a', 'b')} ${number}`) });";
    write("main.ts", main);
    let mut session = TestSession::with_files(&[folder.path().join("main.ts")], []).await;
    session.send("/run").await;
    assert_eq!(session.notified().await, "a/b 7");
}

#[tokio::test]
async fn a_server_is_asked_with_fetch() {
    use std::io::{Read, Write};
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = server.accept().unwrap();
        let mut request = Vec::new();
        let mut chunk = [0; 1024];
        while !request.ends_with(b"{\"q\":1}") {
            let count = stream.read(&mut chunk).unwrap();
            request.extend_from_slice(&chunk[..count]);
        }
        let is_right = String::from_utf8_lossy(&request).to_lowercase().contains("x-own: yes");
        let body = format!("{{\"ok\":{is_right}}}");
        write!(
            stream,
            "HTTP/1.1 201 Created\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
    });
    let body = format!(
        "const response = await fetch('http://{address}/x', {{ method: 'POST', headers: {{ 'X-Own': 'yes' }}, body: JSON.stringify({{ q: 1 }}) }});\n\
         return [response.status, response.ok, response.headers.get('content-type'), await response.json()];"
    );
    assert_eq!(returned("", &body).await, r#"[201,true,"application/json",{"ok":true}]"#);
}

#[tokio::test]
async fn a_program_is_stopped_with_what_it_started() {
    let text = returned(
        "import fs from 'node:fs';",
        "const slow = await pi.exec('/bin/sh', ['-c', 'sleep 1000; echo last'], { timeout: 50 });\n\
         const stop = new AbortController();\n\
         const stopped = pi.exec('/bin/sh', ['-c', 'echo first; touch started; sleep 1000; echo last'], { signal: stop.signal, cwd: ctx.cwd });\n\
         while (!fs.existsSync('started')) await new Promise((done) => setTimeout(done, 5));\n\
         stop.abort();\n\
         const aborted = await stopped;\n\
         const long = await pi.exec('/bin/sh', ['-c', 'echo 12345; exit 3'], { maxBuffer: 2, timeout: 1e300 });\n\
         const missing = await pi.exec('/no/such/program', []);\n\
         return [slow.stdout, slow.killed, aborted.stdout, aborted.killed, long, missing.code, missing.killed];",
    )
    .await;
    let long = r#"{"stdout":"12","stderr":"","code":3,"killed":false,"truncated":true}"#;
    assert_eq!(text, format!(r#"["",true,"first\n",true,{long},1,false]"#));
}

#[tokio::test]
async fn synchronous_programs_have_limits_too() {
    let text = returned(
        "import { spawnSync } from 'node:child_process';",
        "const late = spawnSync('/bin/sh', ['-c', 'sleep 1000 & wait'], { timeout: 300 });\n\
         const full = spawnSync('/bin/sh', ['-c', 'while :; do echo 12345; done'], { maxBuffer: 10 });\n\
         const never = spawnSync('/bin/echo', ['x'], { timeout: 1e300, encoding: 'utf8' });\n\
         return [late.error.code, full.error.code, never.stdout];",
    )
    .await;
    assert_eq!(text, r#"["ETIMEDOUT","ENOBUFS","x\n"]"#);
}

#[tokio::test]
async fn a_program_with_much_output_that_reads_nothing_ends_with_its_extension() {
    let text = returned(
        "import { spawn } from 'node:child_process';",
        "const program = spawn('/bin/sh', ['-c', 'while :; do echo 1234567890; done']);\n\
         program.stdin.write('x'.repeat(200000));\n\
         await new Promise((done) => program.stdout.once('data', done));\n\
         const ended = new Promise((done) => program.on('exit', (code, signal) => done(signal)));\n\
         program.kill();\n\
         return ended;",
    )
    .await;
    assert_eq!(text, r#""SIGTERM""#);
}

#[tokio::test]
async fn json_is_data_and_never_code() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "x.ts",
        "import data from './data.json'; export default (pi) => pi.registerCommand('go', { handler: (_, ctx) => ctx.ui.notify(String(data.__proto__)) });",
    );
    write("data.json", r#"{ "__proto__": 7 }"#);
    let files = [folder.path().join("x.ts")];
    let mut session = TestSession::with_files(&files, []).await;
    session.send("/go").await;
    assert_eq!(session.notified().await, "7");
    write("data.json", "(() => { globalThis.ran = 1; return {}; })()");
    let mut session = TestSession::with_files(&files, []).await;
    let (event, error) = session.failed().await;
    assert!(event == "load" && error.contains("data.json"), "{event}: {error}");
}

#[tokio::test]
async fn a_module_that_waited_for_another_one_can_be_imported_again() {
    let folder = tempfile::tempdir().unwrap();
    let write = |file: &str, text: &str| std::fs::write(folder.path().join(file), text).unwrap();
    write("late.ts", "export let text = 'early'; try { await import('missing'); } catch { text = 'late'; }");
    write("middle.ts", "import { text } from './late.js'; export const middle = `middle ${text}`;");
    write("lazy.ts", "import { middle } from './middle.js'; export const lazy = `lazy ${middle}`;");
    let main = "import { middle } from './middle.js'; \
                export default (pi) => pi.registerCommand('run', { handler: async (args, ctx) => { \
                    const { lazy } = await import('./lazy.js'); ctx.ui.notify(`${middle}, ${lazy}`); } });";
    write("main.ts", main);
    let mut session = TestSession::with_files(&[folder.path().join("main.ts")], []).await;
    session.send("/run").await;
    assert_eq!(session.notified().await, "middle late, lazy middle late");
}

#[tokio::test]
async fn half_of_a_surrogate_pair_becomes_a_replacement_character() {
    let text = returned(
        "import fs from 'node:fs'; import { join } from 'node:path'; import os from 'node:os'; import { createHash } from 'node:crypto'; import { spawn, spawnSync } from 'node:child_process';",
        "const half = 'a😀b'.slice(0, 2);\n\
         const folder = fs.mkdtempSync(join(os.tmpdir(), 'osier-test-'));\n\
         const child = spawn('cat');\n\
         child.stdin.end(half);\n\
         const [piped] = await new Promise((done) => child.stdout.once('data', (data) => done([String(data)])));\n\
         try {\n\
           const file = join(folder, 'x');\n\
           fs.writeFileSync(file, half);\n\
           fs.appendFileSync(file, half);\n\
           return [fs.readFileSync(file, 'utf8'), Buffer.from(half).toString('hex'), new TextEncoder().encode(half).length,\n\
             createHash('sha1').update(half).digest('hex') === createHash('sha1').update('a\\ufffd').digest('hex'),\n\
             spawnSync('cat', { input: half, encoding: 'utf8' }).stdout, piped];\n\
         } finally { fs.rmSync(folder, { recursive: true, force: true }); }",
    )
    .await;
    let half = "a\u{fffd}";
    let parts: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(parts[0], format!("{half}{half}"), "{text}");
    assert_eq!((&parts[1], &parts[2], &parts[3]), (&"61efbfbd".into(), &4.into(), &true.into()), "{text}");
    assert_eq!((&parts[4], &parts[5]), (&half.into(), &half.into()), "{text}");
}

#[tokio::test]
async fn nothing_is_lost_of_much_input_for_a_program() {
    let text = returned(
        "import { spawn } from 'node:child_process';",
        "const child = spawn('sh', ['-c', 'cat | wc -l']);\n\
         let full = 0;\n\
         for (let line = 0; line < 6000; line += 1) if (!child.stdin.write(`line ${line} ${'x'.repeat(40)}\\n`)) full += 1;\n\
         const drained = new Promise((done) => child.stdin.once('drain', done));\n\
         child.stdin.end('last\\n');\n\
         const [count] = await new Promise((done) => child.stdout.once('data', (data) => done([String(data).trim()])));\n\
         await drained;\n\
         return [count, full > 0];",
    )
    .await;
    assert_eq!(text, r#"["6001",true]"#);
}

#[tokio::test]
async fn input_for_a_program_that_closed_it_does_not_wait() {
    let text = returned(
        "import { spawn } from 'node:child_process';",
        "const child = spawn('sh', ['-c', 'exec 0<&-; echo closed; sleep 1000']);\n\
         await new Promise((done) => child.stdout.once('data', done));\n\
         for (let chunk = 0; chunk < 5; chunk += 1) child.stdin.write('x'.repeat(200_000));\n\
         await new Promise((done) => child.stdin.end(done));\n\
         child.kill();\n\
         return 'done';",
    )
    .await;
    assert_eq!(text, r#""done""#);
}
