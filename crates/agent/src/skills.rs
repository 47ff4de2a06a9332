//! Skills: folders with a `SKILL.md` that describes how to do a special task. The system prompt lists their
//! names, descriptions and paths, and the model reads the file when a task needs it. `/skill:name` sends a
//! skill directly.

use std::path::{Path, PathBuf};

use crate::frontmatter::MarkdownFile;
use crate::prompt_library::{FileCheck, PromptFolder};
use crate::text_file::{self, FileProblem};

const SKILL_FILE: &str = "SKILL.md";

/// How deep to search below a skill folder.
const MAX_DEPTH: usize = 3;

/// How many folders to search. More than this means a symlink points somewhere else.
const MAX_FOLDERS: usize = 1000;

/// The maximum size of the list in the prompt, and of one description.
const MAX_LIST_BYTES: usize = 16 << 10;
const MAX_DESCRIPTION_BYTES: usize = 1024;

/// A skill that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    pub description: String,
    /// The path of its `SKILL.md`.
    pub path: PathBuf,
    /// Only the user can invoke this skill; the system prompt does not list it.
    pub user_only: bool,
    body: String,
}

/// Finds the skills in these folders, sorted by name. Later folders take precedence.
pub fn find_skills(folders: &[PromptFolder]) -> (Vec<Skill>, Vec<FileProblem>) {
    let (mut skills, mut problems): (Vec<Skill>, Vec<FileProblem>) = Default::default();
    let mut looked_into = 0;
    let mut list = |folder: &PromptFolder| skill_files(&folder.path, MAX_DEPTH, &mut looked_into);
    let files = folders.iter().flat_map(|folder| list(folder).into_iter().map(move |file| (folder, file)));
    for (folder, file) in files {
        match Skill::read(&file, folder.check.as_ref()) {
            Ok((skill, problem)) => {
                problems.extend(problem);
                skills.retain(|known| known.name != skill.name);
                skills.push(skill);
            }
            Err(problem) => problems.push(problem),
        }
    }
    skills.sort_by(|a, b| a.name.cmp(&b.name));
    (skills, problems)
}

/// Every `SKILL.md` in or below a folder, or the file itself. Does not search hidden folders or below a skill, and stops after too
/// many folders.
fn skill_files(folder: &Path, depth: usize, looked_into: &mut usize) -> Vec<PathBuf> {
    let own = folder.join(SKILL_FILE);
    match (folder.is_file(), own.is_file()) {
        (true, _) => return vec![folder.to_owned()],
        (_, true) => return vec![own],
        _ => {}
    }
    if depth == 0 {
        return Vec::new();
    }
    *looked_into += 1;
    if *looked_into > MAX_FOLDERS {
        return Vec::new();
    }
    let hidden = |path: &Path| {
        path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.') || name == "node_modules")
    };
    let folders = text_file::list_folder(folder).into_iter().filter(|path| path.is_dir() && !hidden(path));
    folders.flat_map(|folder| skill_files(&folder, depth - 1, looked_into)).collect()
}

impl Skill {
    /// A skill as the system prompt lists it.
    pub fn listed(name: String, description: String, path: PathBuf, user_only: bool) -> Skill {
        Skill { name, description, path, user_only, body: String::new() }
    }

    fn read(path: &Path, check: Option<&FileCheck>) -> Result<(Skill, Option<FileProblem>), FileProblem> {
        let problem = |what: &str| FileProblem { path: path.to_owned(), message: what.to_owned() };
        let text = text_file::read_text(path, check)?;
        let file = MarkdownFile::parse(&text);
        let folder = path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let Some(description) = file.field("description") else {
            return Err(problem(file.problem.as_deref().unwrap_or("the front matter has no `description`")));
        };
        let skill = Skill {
            name: one_line(
                file.field("name").map_or_else(|| folder.unwrap_or_default(), str::to_owned).as_str(),
            ),
            description: one_line(description),
            path: path.to_owned(),
            user_only: file.field("disable-model-invocation") == Some("true"),
            body: file.body.trim().to_owned(),
        };
        Ok((skill, file.problem.as_deref().map(problem)))
    }

    /// The skill as text for the model, followed by the arguments that the user typed.
    pub fn expand(&self, typed: &str) -> String {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let head = format!("<skill name=\"{}\" location=\"{}\">", self.name, self.path.display());
        let skill = format!("{head}\nPaths in it start at {}.\n\n{}\n</skill>", folder.display(), self.body);
        if typed.trim().is_empty() { skill } else { format!("{skill}\n\n{}", typed.trim()) }
    }
}

/// The prompt section that lists skills; `None` if there are none.
pub fn skills_section(skills: &[Skill]) -> Option<String> {
    let mut text = "# Skills\n\nEach of these files tells how to do something special. When a task fits a description, read \
                    the file first and follow it; paths in it start at its folder.\n"
        .to_owned();
    let listed: Vec<&Skill> = skills.iter().filter(|skill| !skill.user_only).collect();
    for (number, skill) in listed.iter().enumerate() {
        let line = format!(
            "\n- {}: {} ({})",
            skill.name,
            truncate_description(&skill.description),
            skill.path.display()
        );
        if text.len() + line.len() > MAX_LIST_BYTES {
            text += &format!("\n\n{} more are not listed.", listed.len() - number);
            break;
        }
        text += &line;
    }
    (!listed.is_empty()).then_some(text)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn truncate_description(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_DESCRIPTION_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path = root.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        root
    }

    fn without_root(root: &tempfile::TempDir, text: &str) -> String {
        text.replace(&*root.path().to_string_lossy(), "")
    }

    #[test]
    fn skills_are_sorted_and_later_folders_take_precedence() {
        let root = folder(&[
            ("user/pdf/SKILL.md", "---\nname: pdf\ndescription: Old.\n---\nx"),
            ("user/group/sql/SKILL.md", "---\ndescription: Asks\n  databases.\n---\nx"),
            ("user/secret/SKILL.md", "---\ndescription: Mine.\ndisable-model-invocation: true\n---\nx"),
            ("user/.git/x/SKILL.md", "---\ndescription: Hidden.\n---\n"),
            ("user/mute/SKILL.md", "Just text."),
            ("project/pdf/SKILL.md", "---\nname: pdf\ndescription: Reads PDF files.\n---\nUse `pdftotext`."),
            ("project/pdf/deep/SKILL.md", "---\ndescription: Part of pdf.\n---\n"),
        ]);
        let (skills, problems) =
            find_skills(&["user", "project"].map(|name| PromptFolder::from(root.path().join(name))));
        let names: Vec<&str> = skills.iter().map(|skill| &*skill.name).collect();
        assert_eq!(names, ["pdf", "secret", "sql"]);
        expect![[r#"
            # Skills

            Each of these files tells how to do something special. When a task fits a description, read the file first and follow it; paths in it start at its folder.

            - pdf: Reads PDF files. (/project/pdf/SKILL.md)
            - sql: Asks databases. (/user/group/sql/SKILL.md)"#]]
        .assert_eq(&without_root(&root, &skills_section(&skills).unwrap()));
        assert_eq!(
            without_root(&root, &problems[0].to_string()),
            "/user/mute/SKILL.md: the front matter has no `description`"
        );
        assert_eq!((problems.len(), skills_section(&[])), (1, None));
    }

    #[test]
    fn expanding_a_skill_includes_its_whole_body() {
        let root = folder(&[("pdf/SKILL.md", "---\ndescription: d\n---\n\nUse `pdftotext`.\n")]);
        let skills = find_skills(&[root.path().to_owned().into()]).0;
        expect![[r#"
            <skill name="pdf" location="/pdf/SKILL.md">
            Paths in it start at /pdf.

            Use `pdftotext`.
            </skill>

            read a.pdf"#]]
        .assert_eq(&without_root(&root, &skills[0].expand(" read a.pdf")));
    }

    #[test]
    fn long_list_is_truncated_with_a_count() {
        let skill = |n: usize| Skill {
            name: format!("s{n}"),
            description: "é".repeat(5000),
            path: PathBuf::from("/s"),
            user_only: false,
            body: String::new(),
        };
        let text = skills_section(&(0..100).map(skill).collect::<Vec<_>>()).unwrap();
        assert!(
            text.len() < MAX_LIST_BYTES + 100 && text.ends_with("85 more are not listed."),
            "{}",
            &text[text.len() - 40..]
        );
    }
}
