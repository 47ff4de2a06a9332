//! Skills: folders with a `SKILL.md` that describes how to do a special task. The system prompt lists their
//! names, descriptions and paths, and the model reads the file when a task needs it. `/skill:name` sends a
//! skill directly.

use std::path::{Path, PathBuf};

use crate::frontmatter::Page;
use crate::textfile::{self, Problem};

const FILE: &str = "SKILL.md";

/// How deep to search below a skill folder.
const DEPTH: usize = 3;

/// How many folders to search. More than this means a symlink points somewhere else.
const FOLDERS: usize = 1000;

/// The maximum size of the list in the prompt, and of one description.
const LIST: usize = 16 << 10;
const DESCRIPTION: usize = 1024;

/// A skill that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    pub description: String,
    /// The path of its `SKILL.md`.
    pub path: PathBuf,
    /// Only the user can invoke this skill; the system prompt does not list it.
    pub by_user_only: bool,
    body: String,
}

/// Finds the skills in these folders, sorted by name. Later folders take precedence.
pub fn find(folders: &[PathBuf]) -> (Vec<Skill>, Vec<Problem>) {
    let (mut skills, mut problems): (Vec<Skill>, Vec<Problem>) = Default::default();
    let mut looked_into = 0;
    for file in folders.iter().flat_map(|folder| files(folder, DEPTH, &mut looked_into)) {
        match Skill::read(&file) {
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

/// Every `SKILL.md` below a folder. Does not search hidden folders or below a skill, and stops after too many
/// folders.
fn files(folder: &Path, depth: usize, looked_into: &mut usize) -> Vec<PathBuf> {
    *looked_into += 1;
    if *looked_into > FOLDERS {
        return Vec::new();
    }
    let hidden = |path: &Path| {
        path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.') || name == "node_modules")
    };
    let folders = textfile::entries(folder).into_iter().filter(|path| path.is_dir() && !hidden(path));
    let found = folders.flat_map(|folder| {
        let file = folder.join(FILE);
        match file.is_file() {
            true => vec![file],
            false if depth > 1 => files(&folder, depth - 1, looked_into),
            false => Vec::new(),
        }
    });
    found.collect()
}

impl Skill {
    fn read(path: &Path) -> Result<(Skill, Option<Problem>), Problem> {
        let problem = |what: &str| Problem { path: path.to_owned(), what: what.to_owned() };
        let text = textfile::read(path)?;
        let page = Page::read(&text);
        let folder = path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let Some(description) = page.text("description") else {
            return Err(problem(page.problem.as_deref().unwrap_or("the front matter has no `description`")));
        };
        let skill = Skill {
            name: one_line(
                page.text("name").map_or_else(|| folder.unwrap_or_default(), str::to_owned).as_str(),
            ),
            description: one_line(description),
            path: path.to_owned(),
            by_user_only: page.text("disable-model-invocation") == Some("true"),
            body: page.body.trim().to_owned(),
        };
        Ok((skill, page.problem.as_deref().map(problem)))
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
pub fn section(skills: &[Skill]) -> Option<String> {
    let mut text = "# Skills\n\nEach of these files tells how to do something special. When a task fits a description, read \
                    the file first and follow it; paths in it start at its folder.\n"
        .to_owned();
    let listed: Vec<&Skill> = skills.iter().filter(|skill| !skill.by_user_only).collect();
    for (number, skill) in listed.iter().enumerate() {
        let line = format!("\n- {}: {} ({})", skill.name, cut(&skill.description), skill.path.display());
        if text.len() + line.len() > LIST {
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

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(DESCRIPTION)]
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
        let (skills, problems) = find(&[root.path().join("user"), root.path().join("project")]);
        let names: Vec<&str> = skills.iter().map(|skill| &*skill.name).collect();
        assert_eq!(names, ["pdf", "secret", "sql"]);
        expect![[r#"
            # Skills

            Each of these files tells how to do something special. When a task fits a description, read the file first and follow it; paths in it start at its folder.

            - pdf: Reads PDF files. (/project/pdf/SKILL.md)
            - sql: Asks databases. (/user/group/sql/SKILL.md)"#]]
        .assert_eq(&without_root(&root, &section(&skills).unwrap()));
        assert_eq!(
            without_root(&root, &problems[0].to_string()),
            "/user/mute/SKILL.md: the front matter has no `description`"
        );
        assert_eq!((problems.len(), section(&[])), (1, None));
    }

    #[test]
    fn expanding_a_skill_includes_its_whole_body() {
        let root = folder(&[("pdf/SKILL.md", "---\ndescription: d\n---\n\nUse `pdftotext`.\n")]);
        let skills = find(&[root.path().to_owned()]).0;
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
            by_user_only: false,
            body: String::new(),
        };
        let text = section(&(0..100).map(skill).collect::<Vec<_>>()).unwrap();
        assert!(
            text.len() < LIST + 100 && text.ends_with("85 more are not listed."),
            "{}",
            &text[text.len() - 40..]
        );
    }
}
