//! Checks the settings, the trust in the project, and the default model.

use std::os::unix::fs::PermissionsExt;

use osier_engine::ModelPreferences;

use super::DoctorCheck;
use crate::home::Home;
use osier_settings::table::SettingAccess;
use osier_settings::themes;
use osier_settings::trust::TrustStatus;
use osier_settings::{LoadedSettings, Project};

const AREA: &str = "settings";

pub(super) fn checks(home: &Home, loaded: &LoadedSettings) -> Vec<DoctorCheck> {
    let mut checks: Vec<DoctorCheck> = loaded
        .problems
        .iter()
        .map(|problem| match problem.is_fatal {
            true => DoctorCheck::fail(
                AREA,
                home.format_problem(problem),
                "fix this line; until then most commands do not work here",
            ),
            false => {
                DoctorCheck::warn(AREA, home.format_problem(problem), "fix or remove it; it has no effect")
            }
        })
        .collect();
    let registry = home.registry();
    checks.extend(registry.problems().iter().map(|problem| {
        DoctorCheck::fail(
            AREA,
            problem.clone(),
            format!("fix it in {}", home.display_path(&home.config_file())),
        )
    }));
    checks.extend(themes::load(home).problems.into_iter().map(|problem| {
        DoctorCheck::warn(
            AREA,
            problem,
            "fix the theme, or choose another one with `osier config set theme NAME`",
        )
    }));
    if checks.is_empty() {
        checks.push(DoctorCheck::ok(AREA, settings_files(home)));
    }
    checks.extend(check_permissions(home, loaded));
    checks.extend(check_trust(home));
    checks.push(check_model(home));
    checks
}

fn settings_files(home: &Home) -> String {
    let project = home.project.as_ref().map(Project::config_file);
    let files: Vec<String> = [Some(home.config_file()), project]
        .into_iter()
        .flatten()
        .filter(|file| file.is_file())
        .map(|file| home.display_path(&file))
        .collect();
    if files.is_empty() { "no files; using the defaults".to_owned() } else { files.join(", ") }
}

/// Warns if other users can read a settings file that contains secrets, such as HTTP headers.
fn check_permissions(home: &Home, loaded: &LoadedSettings) -> Option<DoctorCheck> {
    let file = home.config_file();
    let has_secret = loaded
        .settings
        .layers
        .settings()
        .iter()
        .any(|set| set.key.access == SettingAccess::Secret && set.file == file);
    let mode = std::fs::metadata(&file).ok()?.permissions().mode();
    (has_secret && mode & 0o077 != 0).then(|| {
        let display_path = home.display_path(&file);
        DoctorCheck::warn(
            AREA,
            format!("{display_path} contains secrets and is readable by other users"),
            format!("chmod 600 {display_path}"),
        )
    })
}

fn check_trust(home: &Home) -> Option<DoctorCheck> {
    const AREA: &str = "trust";
    if let Some(objection) = home.ignore_reason() {
        return Some(DoctorCheck::warn(
            AREA,
            format!("{objection}; its settings are ignored"),
            "make sure that only you can change it",
        ));
    }
    let request = home.trust_request.as_ref()?;
    let root = home.display_path(&request.root);
    Some(match request.status {
        TrustStatus::Trusted => DoctorCheck::ok(AREA, format!("{root} is trusted")),
        TrustStatus::Refused => DoctorCheck::ok(AREA, format!("{root} is not trusted (your decision)")),
        TrustStatus::Changed => DoctorCheck::warn(
            AREA,
            format!("{root} has changed what it requests since you decided"),
            "run `osier trust` to review it",
        ),
        TrustStatus::Unknown => DoctorCheck::warn(
            AREA,
            format!("{root} is not trusted; what it requests is ignored"),
            "run `osier trust` to review it",
        ),
    })
}

fn check_model(home: &Home) -> DoctorCheck {
    const AREA: &str = "model";
    let (registry, environment) = (home.registry(), home.environment());
    let choice = match home.model_catalog().select(ModelPreferences::default()) {
        Ok(choice) => choice,
        Err(error) => return DoctorCheck::fail(AREA, error.to_string(), "change `model` in the settings"),
    };
    let name = choice.model.full_name();
    match registry.check_configured(&choice.model, &environment) {
        Err(missing) => DoctorCheck::fail(AREA, format!("cannot use {name}"), missing),
        Ok(()) if choice.model.provider == "offline" => DoctorCheck::warn(
            AREA,
            format!("{name}: built in, follows simple requests only"),
            "set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or add a server; see `osier models --all`",
        ),
        Ok(()) => DoctorCheck::ok(AREA, name),
    }
}
