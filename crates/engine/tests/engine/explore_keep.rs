//! Keeping a try: the merge with what the user changed, conflicts, another try instead, and an interrupted keep.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Command;

use futures_util::StreamExt;
use osier_protocol::explore::{ExploreCommand, FileChangeKind, TryStatus};
use osier_protocol::{Client, ClientCommand, ClientEvent, ErrorCode};
use serde_json::json;

use crate::explore::{Explorer, git, new_engine};

#[tokio::test]
async fn keep_merges_with_what_the_user_changed_meanwhile() {
    let explorer = Explorer::in_repository().await;
    let report = explorer
        .explore(
            "answer x",
            &["", "write a.txt one\\ntwo\\nthree\\nfour\\nFIVE\\n\nwrite d/e.txt deep\nrun rm new.txt"],
        )
        .await;
    assert_eq!(report.tries[1].status, TryStatus::Completed);
    let report = explorer
        .explore("read a.txt\nwrite a.txt one\\ntwo\\nthree\\nfour\\nFIVE\\n\nwrite d/e.txt deep", &[""])
        .await;
    assert_eq!(report.tries[0].files_changed, 2, "{report:#?}");
    explorer.write("a.txt", "ONE\ntwo\nthree\nfour\nfive\n");
    explorer.write("b.txt", "mine\n");
    let kept = explorer.keep(1).await.unwrap();
    assert!(kept.kept, "{kept:?}");
    let changes: Vec<_> = kept.files.iter().map(|file| (file.path.as_str(), file.change)).collect();
    assert_eq!(changes, [("a.txt", FileChangeKind::Changed), ("d/e.txt", FileChangeKind::Added)]);
    assert_eq!(explorer.file("a.txt"), "ONE\ntwo\nthree\nfour\nFIVE\n");
    assert_eq!(explorer.file("b.txt"), "mine\n");
    assert_eq!(explorer.file("d/e.txt"), "deep");
    assert_eq!(explorer.leaf(), kept.leaf_id.map(|id| id.to_string()));
    // The index is still the user's.
    assert_eq!(git(&explorer.project, &["show", ":b.txt"]), "staged\n");
    assert_eq!(explorer.reports().await.pop().unwrap().kept, Some(1));
}

#[tokio::test]
async fn keeping_another_try_takes_back_the_first_one() {
    let explorer = Explorer::in_repository().await;
    let tries = ["write c.txt first\nwrite a.txt first", "write c.txt second\nwrite d.txt more"];
    explorer.explore("read a.txt", &tries).await;
    let start = explorer.file("a.txt");
    explorer.keep(1).await.unwrap();
    explorer.write("mine.txt", "mine\n");
    let kept = explorer.keep(2).await.unwrap();
    assert_eq!((kept.kept, kept.instead_of), (true, Some(1)), "{kept:?}");
    assert_eq!(kept.lines()[0], "Kept try 2 instead of try 1; 3 files changed:");
    assert_eq!((explorer.file("a.txt"), explorer.file("c.txt")), (start.clone(), "second".to_owned()));
    assert_eq!((explorer.file("d.txt"), explorer.file("mine.txt")), ("more".to_owned(), "mine\n".to_owned()));
    assert_eq!(explorer.leaf(), kept.leaf_id.map(|id| id.to_string()));
    // What the user has taken back already is not in the way.
    fs::remove_file(explorer.project.join("c.txt")).unwrap();
    fs::remove_file(explorer.project.join("d.txt")).unwrap();
    let kept = explorer.keep(1).await.unwrap();
    assert_eq!((kept.kept, kept.instead_of), (true, Some(2)), "{kept:?}");
    assert_eq!((explorer.file("a.txt"), explorer.file("c.txt")), ("first".to_owned(), "first".to_owned()));
    // What the user built on it is.
    explorer.write("c.txt", "first, and mine\n");
    let (before, leaf) = (explorer.git_state(), explorer.leaf());
    let kept = explorer.keep(2).await.unwrap();
    assert!(!kept.kept && kept.conflicts[0].path == "c.txt", "{kept:?}");
    assert!(kept.conflicts[0].reason.contains("try 1 cannot be taken back"), "{kept:?}");
    assert_eq!((explorer.git_state(), explorer.leaf()), (before, leaf));
    // Keeping the same try again brings back what is missing of it.
    explorer.write("a.txt", &start);
    explorer.write("c.txt", "first");
    let kept = explorer.keep(1).await.unwrap();
    assert_eq!((kept.kept, kept.instead_of, explorer.file("a.txt")), (true, None, "first".to_owned()));
}

#[tokio::test]
async fn a_conflict_is_shown_and_changes_nothing() {
    let explorer = Explorer::in_repository().await;
    explorer.explore("read a.txt\nwrite a.txt theirs\nwrite c.txt new", &[""]).await;
    explorer.write("a.txt", "mine\n");
    let (before, leaf) = (explorer.git_state(), explorer.leaf());
    let kept = explorer.keep(1).await.unwrap();
    assert!(!kept.kept);
    assert_eq!(kept.conflicts.len(), 1, "{kept:?}");
    assert_eq!(kept.conflicts[0].path, "a.txt");
    assert_eq!(kept.conflicts[0].reason, "you and the try changed the same place");
    assert_eq!((explorer.git_state(), explorer.leaf()), (before, leaf));
    assert_eq!(explorer.file("a.txt"), "mine\n");
    // Without the conflict it works.
    explorer.write("a.txt", "one\ntwo\nthree\nfour\nfive\n");
    assert!(explorer.keep(1).await.unwrap().kept);
    assert_eq!(explorer.file("a.txt"), "theirs");
}

#[tokio::test]
async fn a_keep_that_died_in_the_middle_is_finished_by_keeping_again() {
    let explorer = Explorer::in_repository().await;
    let report = explorer
        .explore("read a.txt\nwrite a.txt theirs\nwrite c.txt new\nwrite d.txt more", &["", ""])
        .await;
    // The process wrote its journal and one file, and died before it removed a temporary file.
    let kept = explorer.keep(1).await.unwrap();
    let folder = PathBuf::from(&explorer.engine.engine.list_explores()[0].folder);
    let blob = |name: &str| {
        let output = Command::new("git").args(["hash-object", name]).current_dir(&explorer.project).output();
        String::from_utf8(output.unwrap().stdout).unwrap().trim().to_owned()
    };
    let after = |name: &str| json!({ "mode": "100644", "blob": blob(name) });
    let original = git(&explorer.project, &["rev-parse", "HEAD:a.txt"]).trim().to_owned();
    let record: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.join("explore.json")).unwrap()).unwrap();
    let tree = &record["kept"]["tree"];
    let journal = json!({ "try": 1, "tip": kept.leaf_id, "tree": tree, "changes": [
        { "path": "a.txt", "before": { "mode": "100644", "blob": original }, "after": after("a.txt") },
        { "path": "c.txt", "before": null, "after": after("c.txt") },
        { "path": "d.txt", "before": null, "after": after("d.txt") },
    ]});
    fs::write(folder.join("keep.json"), journal.to_string()).unwrap();
    explorer.write("a.txt", "one\ntwo\nthree\nfour\nfive\n");
    fs::remove_file(explorer.project.join("d.txt")).unwrap();
    let staging = explorer.project.join(format!(".osier-keep-{}", report.id));
    fs::create_dir(&staging).unwrap();
    fs::write(staging.join("2.new"), "half of it").unwrap();
    assert_eq!(explorer.reports().await[0].unfinished_keep, Some(1));
    let error = explorer.keep(2).await.unwrap_err();
    assert!(error.message.contains("try 1"), "{error:?}");
    let kept = explorer.keep(1).await.unwrap();
    assert!(kept.kept);
    assert_eq!((explorer.file("a.txt"), explorer.file("d.txt")), ("theirs".into(), "more".into()));
    assert_eq!(explorer.reports().await[0].unfinished_keep, None);
    let left: Vec<_> =
        fs::read_dir(&explorer.project).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("osier")), "{left:?}");
}

#[tokio::test]
async fn a_keep_that_fails_halfway_changes_nothing() {
    let explorer = Explorer::in_repository().await;
    explorer.explore("read a.txt\nwrite a.txt theirs\nwrite d/e.txt new\nwrite z new", &[""]).await;
    let copy = PathBuf::from(explorer.reports().await[0].tries[0].folder.as_ref().unwrap());
    fs::remove_file(copy.join("b.txt")).unwrap();
    // Git does not see the folder that is in the way of the last file.
    fs::create_dir(explorer.project.join("z")).unwrap();
    let (before, leaf) = (explorer.git_state(), explorer.leaf());
    let error = explorer.keep(1).await.unwrap_err();
    assert!(error.message.contains("cannot change z"), "{error:?}");
    assert_eq!((explorer.git_state(), explorer.leaf()), (before, leaf));
    assert_eq!(explorer.file("a.txt"), "one\ntwo\nthree\nfour\nfive\n");
    assert!(!explorer.project.join("d").exists());
    assert_eq!(explorer.reports().await[0].unfinished_keep, None);
    let names = fs::read_dir(&explorer.project).unwrap().flatten().map(|entry| entry.file_name());
    assert!(!names.into_iter().any(|name| name.to_string_lossy().contains("osier")));
    fs::remove_dir(explorer.project.join("z")).unwrap();
    assert!(explorer.keep(1).await.unwrap().kept);
    assert_eq!(explorer.file("z"), "new");
}

#[tokio::test]
async fn a_keep_that_cannot_be_finished_stays_unfinished() {
    let explorer = Explorer::in_repository().await;
    explorer.explore("read a.txt", &["write c.txt first\nwrite d/e.txt deep", "write c.txt second"]).await;
    let kept = explorer.keep(1).await.unwrap();
    let folder = PathBuf::from(&explorer.engine.engine.list_explores()[0].folder);
    // The process died before it wrote the second file, and now there is a file where its folder must be.
    let added = |name: &str| {
        let blob = git(&explorer.project, &["hash-object", name]);
        json!({ "path": name, "before": null, "after": { "mode": "100644", "blob": blob.trim() } })
    };
    let record: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.join("explore.json")).unwrap()).unwrap();
    let journal = json!({ "try": 1, "tip": kept.leaf_id, "tree": record["kept"]["tree"],
        "changes": [added("c.txt"), added("d/e.txt")] });
    fs::write(folder.join("keep.json"), journal.to_string()).unwrap();
    fs::remove_dir_all(explorer.project.join("d")).unwrap();
    explorer.write("d", "in the way");
    let kept = explorer.keep(1).await.unwrap();
    assert_eq!((kept.kept, kept.conflicts[0].path.as_str()), (false, "d"), "{kept:?}");
    assert_eq!(explorer.reports().await[0].unfinished_keep, Some(1));
    assert!(explorer.keep(2).await.is_err());
    let remove = |force| explorer.send(ExploreCommand::Remove { explore: None, number: Some(2), force });
    let error = remove(false).await.unwrap_err();
    assert!(error.message.contains("--force"), "{error:?}");
    let saved = fs::read(folder.join("keep.json")).unwrap();
    remove(true).await.unwrap();
    assert_eq!(explorer.reports().await[0].unfinished_keep, None);
    assert!(!folder.join("2").exists() && folder.join("1").exists());
    assert_eq!(explorer.file("d"), "in the way");
    fs::write(folder.join("keep.json"), saved).unwrap();
    fs::remove_file(explorer.project.join("d")).unwrap();
    assert!(explorer.keep(1).await.unwrap().kept);
    assert_eq!((explorer.file("c.txt"), explorer.file("d/e.txt")), ("first".into(), "deep".into()));
}

#[tokio::test]
async fn a_try_that_an_older_version_kept_is_taken_back_too() {
    let explorer = Explorer::in_repository().await;
    explorer.explore("read a.txt", &["write c.txt first", "write d.txt second", "write e.txt third"]).await;
    let kept = explorer.keep(1).await.unwrap();
    let folder = PathBuf::from(&explorer.engine.engine.list_explores()[0].folder);
    let change_record = |change: &dyn Fn(&mut serde_json::Value)| {
        let path = folder.join("explore.json");
        let mut record = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        change(&mut record);
        fs::write(path, record.to_string()).unwrap();
    };
    change_record(&|record| record["kept"] = json!(1));
    // It also died before it had finished.
    let journal = json!({ "try": 1, "tip": kept.leaf_id, "changes": [] });
    fs::write(folder.join("keep.json"), journal.to_string()).unwrap();
    assert_eq!(explorer.engine.engine.list_explores()[0].unfinished_keep, Some(1));
    assert!(explorer.keep(1).await.unwrap().kept);
    let kept = explorer.keep(2).await.unwrap();
    assert_eq!((kept.kept, kept.instead_of), (true, Some(1)), "{kept:?}");
    assert!(!explorer.project.join("c.txt").exists());
    // Without its copy it cannot be taken back.
    change_record(&|record| record["kept"] = json!(2));
    fs::remove_dir_all(folder.join("2")).unwrap();
    let kept = explorer.keep(3).await.unwrap();
    assert_eq!((kept.kept, kept.instead_of), (true, None), "{kept:?}");
    assert_eq!((explorer.file("d.txt"), explorer.file("e.txt")), ("second".into(), "third".into()));
}

#[tokio::test]
async fn a_keep_that_cannot_begin_leaves_nothing_behind() {
    let explorer = Explorer::in_repository().await;
    explorer.explore("read a.txt\nwrite a.txt one\\ntwo\\nthree\\nfour\\nFIVE\\n", &[""]).await;
    let mut events = explorer.client.attach(None).await.unwrap().events;
    explorer.client.send(ClientCommand::prompt("hang")).await.unwrap();
    let is_start = |event: &ClientEvent| matches!(event, ClientEvent::TurnStarted);
    while !is_start(&events.next().await.unwrap()) {}
    let error = explorer.keep(1).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::SessionBusy, "{error:?}");
    assert_eq!(explorer.reports().await[0].unfinished_keep, None);
    explorer.client.send(ClientCommand::Cancel).await.unwrap();
    // What changed since then is merged, and not skipped.
    explorer.write("a.txt", "ONE\ntwo\nthree\nfour\nfive\n");
    let kept = explorer.keep(1).await.unwrap();
    assert!(kept.kept);
    assert_eq!(explorer.file("a.txt"), "ONE\ntwo\nthree\nfour\nFIVE\n");
}

/// Modes, links, names that are no text, submodules, a working directory below the top of the repository, and both kinds of objects.
#[tokio::test]
async fn files_of_all_kinds_are_kept_also_from_a_folder_of_the_project() {
    for format in ["sha1", "sha256"] {
        let engine = new_engine(None);
        let top = engine.folder.path().join("project");
        let cwd = top.join("below");
        fs::create_dir_all(&cwd).unwrap();
        git(&top, &["init", "--quiet", &format!("--object-format={format}")]);
        let module = top.join("module");
        fs::create_dir(&module).unwrap();
        git(&module, &["init", "--quiet", &format!("--object-format={format}")]);
        fs::write(module.join("m.txt"), "of the submodule\n").unwrap();
        git(&module, &["add", "."]);
        git(&module, &["commit", "--quiet", "-m", "first"]);
        fs::write(top.join("run.sh"), "echo\n").unwrap();
        fs::write(top.join("plain"), "plain\n").unwrap();
        symlink("plain", top.join("link")).unwrap();
        fs::write(cwd.join("a.txt"), "one\n").unwrap();
        git(&top, &["add", "."]);
        git(&top, &["commit", "--quiet", "-m", "first"]);
        let explorer = Explorer::open(engine, cwd.clone()).await;
        let report = explorer.explore("read a.txt\nwrite a.txt two", &[""]).await;
        let copy = PathBuf::from(report.tries[0].folder.as_ref().unwrap());
        assert_eq!(fs::read_to_string(copy.join("below/a.txt")).unwrap(), "two");
        let strange = OsStr::from_bytes(b"name \xff\n.txt");
        fs::write(copy.join(strange), "strange\n").unwrap();
        fs::set_permissions(copy.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::remove_file(copy.join("link")).unwrap();
        symlink("run.sh", copy.join("link")).unwrap();
        fs::remove_file(copy.join("plain")).unwrap();
        symlink("below/a.txt", copy.join("plain")).unwrap();
        let kept = explorer.keep(1).await.unwrap();
        assert_eq!((kept.kept, kept.files.len()), (true, 5), "{format}: {kept:?}");
        assert_eq!(fs::read_to_string(cwd.join("a.txt")).unwrap(), "two");
        assert_eq!(fs::read_to_string(top.join(strange)).unwrap(), "strange\n");
        assert_eq!(fs::metadata(top.join("run.sh")).unwrap().permissions().mode() & 0o100, 0o100);
        assert_eq!(fs::read_link(top.join("link")).unwrap(), PathBuf::from("run.sh"));
        assert_eq!(fs::read_link(top.join("plain")).unwrap(), PathBuf::from("below/a.txt"));
        assert_eq!(fs::read_to_string(module.join("m.txt")).unwrap(), "of the submodule\n");
    }
}

#[tokio::test]
async fn folders_that_became_files_and_the_longest_names_are_kept_and_taken_back() {
    let explorer = Explorer::in_repository().await;
    for (folder, file) in [("d", "a.txt"), ("d/deep", "b.txt"), ("e", "c.txt")] {
        fs::create_dir_all(explorer.project.join(folder)).unwrap();
        explorer.write(&format!("{folder}/{file}"), "old\n");
    }
    explorer.write("f", "a file\n");
    let report = explorer.explore("answer x", &["", ""]).await;
    let copy = PathBuf::from(report.tries[0].folder.as_ref().unwrap());
    for folder in ["d", "e"] {
        fs::remove_dir_all(copy.join(folder)).unwrap();
    }
    fs::write(copy.join("d"), "a file\n").unwrap();
    symlink("a.txt", copy.join("e")).unwrap();
    fs::remove_file(copy.join("f")).unwrap();
    fs::create_dir(copy.join("f")).unwrap();
    fs::write(copy.join("f/g.txt"), "new\n").unwrap();
    // The longest names that a file system allows.
    let [first, second] = ["1", "2"].map(|end| "n".repeat(254) + end);
    for name in [&first, &second] {
        fs::write(copy.join(name), name).unwrap();
    }
    let kept = explorer.keep(1).await.unwrap();
    assert!(kept.kept, "{kept:?}");
    assert_eq!((explorer.file(&first), explorer.file(&second)), (first.clone(), second.clone()));
    assert_eq!((explorer.file("d"), explorer.file("f/g.txt")), ("a file\n".to_owned(), "new\n".to_owned()));
    assert_eq!(fs::read_link(explorer.project.join("e")).unwrap(), PathBuf::from("a.txt"));
    // The other try changed nothing.
    assert_eq!(explorer.keep(2).await.unwrap().instead_of, Some(1));
    for (file, text) in
        [("d/a.txt", "old\n"), ("d/deep/b.txt", "old\n"), ("e/c.txt", "old\n"), ("f", "a file\n")]
    {
        assert_eq!(explorer.file(file), text);
    }
    assert!(!explorer.project.join(first).exists() && !explorer.project.join(second).exists());
}
