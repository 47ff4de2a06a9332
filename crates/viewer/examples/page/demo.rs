//! A home folder whose sessions look the same every time.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The session that most pictures show.
pub(crate) const DEMO_SESSION: &str = "4f89da11-0000-4000-8000-000000000001";
const SAMPLE: &str = include_str!("../../tests/browser/sample.jsonl");
const IN_SAMPLE: &str = "/home/dev/list";

/// More sessions for the list: when they began, a name, and messages.
const OTHERS: &[(&str, &str, &[&str])] = &[
    (
        "2026-01-31T08:10:00.000Z",
        "",
        &[
            "Why does the build take four minutes on CI and forty seconds here?",
            "The cache key contains the time.",
        ],
    ),
    (
        "2026-01-30T16:42:00.000Z",
        "Release 1.4",
        &["Write the release notes from the commits since 1.3", "Here they are."],
    ),
    (
        "2026-01-29T09:05:00.000Z",
        "",
        &[
            "Explain src/parser.rs to somebody who has never seen a parser",
            "A parser reads text and builds a tree.",
        ],
    ),
    (
        "2026-01-27T13:20:00.000Z",
        "Flaky test",
        &["tests/sync.rs fails about once in fifty runs. Find out why.", "Two threads write the same file."],
    ),
];

/// See the module documentation.
pub(crate) struct DemoHome {
    pub(crate) home: PathBuf,
    pub(crate) project: PathBuf,
}

impl DemoHome {
    pub(crate) fn build(osier: &str, folder: &Path) -> DemoHome {
        let _ = std::fs::remove_dir_all(folder);
        let (home, project) = (folder.join("home"), folder.join("code/list"));
        std::fs::create_dir_all(project.join("src")).unwrap();
        std::fs::write(project.join("src/list.rs"), SOURCE).unwrap();
        for file in ["src/main.rs", "docs/list.md", "tests/list.rs"] {
            std::fs::create_dir_all(project.join(file).parent().unwrap()).unwrap();
            std::fs::write(project.join(file), "").unwrap();
        }
        // Tries of a prompt work in copies of the last commit.
        git(&project, &["init", "--quiet", "--initial-branch", "main"]);
        git(&project, &["add", "."]);
        git(
            &project,
            &[
                "-c",
                "user.name=demo",
                "-c",
                "user.email=demo@example.com",
                "commit",
                "--quiet",
                "--message",
                "Start",
            ],
        );
        std::fs::create_dir_all(home.join("prompts")).unwrap();
        for (name, description) in TEMPLATES {
            let file = home.join(format!("prompts/{name}.md"));
            std::fs::write(file, format!("---\ndescription: {description}\n---\n{description}.\n")).unwrap();
        }
        let demo = DemoHome { home, project };
        let sessions = demo.sessions_folder(osier);
        std::fs::create_dir_all(&sessions).unwrap();
        let cwd = demo.project.to_str().unwrap();
        let write = |time: &str, id: &str, text: String| {
            std::fs::write(sessions.join(format!("{}_{id}.jsonl", time.replace([':', '.'], "-"))), text)
                .unwrap();
        };
        write("2026-01-31T09:00:00.000Z", DEMO_SESSION, SAMPLE.replace(IN_SAMPLE, cwd));
        for (number, (time, name, messages)) in OTHERS.iter().enumerate() {
            let id = format!("7c41d9e{number}-0000-4000-8000-000000000001");
            write(time, &id, session(&id, time, cwd, name, messages));
        }
        demo
    }

    fn sessions_folder(&self, osier: &str) -> PathBuf {
        let name = Command::new(osier)
            .arg("bench-dir")
            .arg(&self.project)
            .env("OSIER_HOME", &self.home)
            .output()
            .unwrap();
        self.home.join("sessions").join(String::from_utf8(name.stdout).unwrap().trim())
    }
}

/// Commands of the user.
const TEMPLATES: [(&str, &str); 3] = [
    ("release-notes", "Write the release notes"),
    ("review", "Review the changes since main"),
    ("test", "Write tests for a file"),
];

fn git(project: &Path, args: &[&str]) {
    assert!(Command::new("git").args(args).current_dir(project).status().unwrap().success(), "git {args:?}");
}

const SOURCE: &str =
    "pub fn list(items: &[Item]) {\n    for item in items {\n        println!(\"{item}\");\n    }\n}\n";

/// A session as a file.
fn session(id: &str, time: &str, cwd: &str, name: &str, messages: &[&str]) -> String {
    let mut lines =
        vec![serde_json::json!({ "type": "session", "version": 3, "id": id, "timestamp": time, "cwd": cwd })];
    for (number, text) in messages.iter().enumerate() {
        let role = if number % 2 == 0 { "user" } else { "assistant" };
        let parent = number.checked_sub(1).map(|before| format!("{before:08x}"));
        let message = serde_json::json!({ "role": role, "content": [{ "type": "text", "text": text }] });
        lines.push(serde_json::json!({ "type": "message", "id": format!("{number:08x}"), "parentId": parent, "timestamp": time, "message": message }));
    }
    if !name.is_empty() {
        let parent = format!("{:08x}", messages.len() - 1);
        lines.push(serde_json::json!({ "type": "session_info", "id": "000000ff", "parentId": parent, "timestamp": time, "name": name }));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}
