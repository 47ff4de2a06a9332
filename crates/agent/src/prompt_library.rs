//! Templates and skills by name: `/name` expands to a template, `/skill:name` to a skill. Files are read when
//! they are used, so edits take effect at once. The caller provides the folders.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::AgentError;
use crate::skills::{self, Skill};
use crate::templates::{self, Template};
use crate::text_file::FileProblem;

/// The folders of templates and skills. Later folders take precedence.
#[derive(Debug, Clone, Default)]
pub struct PromptLibrary {
    pub template_folders: Vec<PromptFolder>,
    pub skill_folders: Vec<PromptFolder>,
}

/// Whether a file may be read, by its path without links. The error says why not.
pub type FileCheck = Arc<dyn Fn(&Path) -> Result<(), String> + Send + Sync>;

/// A folder of templates or skills, or a single file.
#[derive(Clone)]
pub struct PromptFolder {
    pub path: PathBuf,
    /// Decides about each file when it is read. Without it, links lead anywhere.
    pub check: Option<FileCheck>,
}

impl fmt::Debug for PromptFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PromptFolder { path, check } = self;
        f.debug_struct("PromptFolder").field("path", path).field("is_checked", &check.is_some()).finish()
    }
}

/// A folder of the user, who decides where its links lead.
impl From<PathBuf> for PromptFolder {
    fn from(path: PathBuf) -> PromptFolder {
        PromptFolder { path, check: None }
    }
}

impl PromptLibrary {
    /// All templates and skills, for lists and completion, and the problems found in their files.
    pub fn find_all(&self) -> (Vec<Template>, Vec<Skill>, Vec<FileProblem>) {
        let (templates, mut problems) = self.find_templates();
        let (skills, more) = skills::find_skills(&self.skill_folders);
        problems.extend(more);
        (templates, skills, problems)
    }

    /// The built-in templates and those of the folders, which take precedence.
    fn find_templates(&self) -> (Vec<Template>, Vec<FileProblem>) {
        let (mut found, problems) = templates::find_templates(&self.template_folders);
        let builtin = templates::builtin().into_iter();
        let builtin = builtin.filter(|builtin| found.iter().all(|template| template.name != builtin.name));
        found.extend(builtin.collect::<Vec<_>>());
        (found, problems)
    }

    /// Expands `/name` or `/skill:name`. `None` if the text is neither a template nor a skill.
    pub fn expand(&self, typed: &str) -> Result<Option<String>, AgentError> {
        let Some(command) = typed.trim_start().strip_prefix('/') else { return Ok(None) };
        let end = command.find(char::is_whitespace).unwrap_or(command.len());
        let (name, rest) = command.split_at(end);
        if let Some(name) = name.strip_prefix("skill:") {
            let skill =
                skills::find_skills(&self.skill_folders).0.into_iter().find(|skill| skill.name == name);
            let skill = skill.ok_or_else(|| AgentError::UnknownSkill { name: name.to_owned() })?;
            return Ok(Some(skill.expand(rest)));
        }
        let template = self.find_templates().0.into_iter().find(|template| template.name == name);
        Ok(template.map(|template| template.expand(rest)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slash_names_expand_to_templates_and_skills() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        std::fs::create_dir_all(at("skills/pdf")).unwrap();
        std::fs::create_dir_all(at("prompts")).unwrap();
        std::fs::write(at("skills/pdf/SKILL.md"), "---\ndescription: d\n---\nbody").unwrap();
        std::fs::write(at("prompts/fix.md"), "Fix $1.").unwrap();
        let prompts = PromptLibrary {
            template_folders: vec![at("prompts").into()],
            skill_folders: vec![at("skills").into()],
        };
        let expand = |typed: &str| prompts.expand(typed).unwrap();
        assert_eq!(expand("/fix a.rs").as_deref(), Some("Fix a.rs."));
        assert_eq!(expand("/fix\nb.rs").as_deref(), Some("Fix b.rs."));
        assert!(expand("/skill:pdf x").unwrap().ends_with("</skill>\n\nx"));
        assert!(expand("/init briefly").unwrap().ends_with("briefly"), "/init is built in");
        std::fs::write(at("prompts/init.md"), "My own.").unwrap();
        assert_eq!(expand("/init").as_deref(), Some("My own."));
        for plain in ["fix a.rs", "/other", "/../prompts/fix", "", "/"] {
            assert_eq!(expand(plain), None, "{plain}");
        }
        let error = prompts.expand("/skill:none").unwrap_err();
        assert_eq!(
            error.to_string(),
            "no skill named none; to add one, create a folder with a SKILL.md that has a description"
        );
    }
}
