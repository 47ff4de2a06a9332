//! Checks the settings, the trust in the project, and the default model.

use std::os::unix::fs::PermissionsExt;

use super::Check;
use crate::home::Home;
use crate::settings::choice::{Wanted, choose};
use crate::settings::table::Reach;
use crate::settings::{Loaded, Project};
use crate::themes;
use crate::trust::Standing;

const AREA: &str = "settings";

pub(super) fn checks(home: &Home, loaded: &Loaded) -> Vec<Check> {
    let mut checks: Vec<Check> = loaded
        .problems
        .iter()
        .map(|problem| match problem.is_fatal {
            true => Check::fail(
                AREA,
                home.format_problem(problem),
                "fix this line; until then most commands do not work here",
            ),
            false => Check::warn(AREA, home.format_problem(problem), "fix or remove it; it has no effect"),
        })
        .collect();
    let registry = home.registry();
    checks.extend(registry.problems().iter().map(|problem| {
        Check::fail(AREA, problem.clone(), format!("fix it in {}", home.display_path(&home.config_file())))
    }));
    checks.extend(themes::load(home).problems.into_iter().map(|problem| {
        Check::warn(AREA, problem, "fix the theme, or choose another one with `osier config set theme NAME`")
    }));
    if checks.is_empty() {
        checks.push(Check::ok(AREA, files(home)));
    }
    checks.extend(readable_by_others(home, loaded));
    checks.extend(trust(home));
    checks.push(model(home));
    checks
}

fn files(home: &Home) -> String {
    let project = home.project.as_ref().map(Project::config);
    let files: Vec<String> = [Some(home.config_file()), project]
        .into_iter()
        .flatten()
        .filter(|file| file.is_file())
        .map(|file| home.display_path(&file))
        .collect();
    if files.is_empty() { "no files; using the defaults".to_owned() } else { files.join(", ") }
}

/// Warns if other users can read a settings file that contains secrets, such as HTTP headers.
fn readable_by_others(home: &Home, loaded: &Loaded) -> Option<Check> {
    let file = home.config_file();
    let has_secret =
        loaded.settings.layers.sets().iter().any(|set| set.key.reach == Reach::Secret && set.file == file);
    let mode = std::fs::metadata(&file).ok()?.permissions().mode();
    (has_secret && mode & 0o077 != 0).then(|| {
        let shown = home.display_path(&file);
        Check::warn(
            AREA,
            format!("{shown} contains secrets and is readable by other users"),
            format!("chmod 600 {shown}"),
        )
    })
}

fn trust(home: &Home) -> Option<Check> {
    const AREA: &str = "trust";
    if let Some(objection) = home.objection() {
        return Some(Check::warn(
            AREA,
            format!("{objection}; its settings are ignored"),
            "make sure that only you can change it",
        ));
    }
    let asked = home.trust_request.as_ref()?;
    let root = home.display_path(&asked.root);
    Some(match asked.standing {
        Standing::Trusted => Check::ok(AREA, format!("{root} is trusted")),
        Standing::Refused => Check::ok(AREA, format!("{root} is not trusted (your decision)")),
        Standing::Changed => Check::warn(
            AREA,
            format!("{root} has changed what it requests since you decided"),
            "run `osier trust` to review it",
        ),
        Standing::Unknown => Check::warn(
            AREA,
            format!("{root} is not trusted; what it requests is ignored"),
            "run `osier trust` to review it",
        ),
    })
}

fn model(home: &Home) -> Check {
    const AREA: &str = "model";
    let (registry, surroundings) = (home.registry(), home.environment());
    let choice = match choose(Wanted::default(), &home.settings, &registry, &surroundings) {
        Ok(choice) => choice,
        Err(error) => return Check::fail(AREA, error.to_string(), "change `model` in the settings"),
    };
    let name = choice.model.full_name();
    match registry.check_configured(&choice.model, &surroundings) {
        Err(missing) => Check::fail(AREA, format!("cannot use {name}"), missing),
        Ok(()) if choice.model.provider == "offline" => Check::warn(
            AREA,
            format!("{name}: built in, follows simple requests only"),
            "set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or add a server; see `osier models --all`",
        ),
        Ok(()) => Check::ok(AREA, name),
    }
}
