//! Colours by name. A theme is a file of `name = "colour"` lines; what it does not name, or names wrongly, is reported and
//! falls back to the built-in dark theme.

mod colour;
mod detect;

pub use colour::{Colour, Depth};
pub use detect::{depth, is_light};

use crate::text::Style;

macro_rules! roles {
    ($($variant:ident $name:literal),* $(,)?) => {
        /// What a colour is for. The names are those of theme files.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
        pub enum Role { #[default] $($variant),* }

        impl Role {
            pub const ALL: &'static [Role] = &[$(Role::$variant),*];

            pub fn name(self) -> &'static str {
                match self { $(Role::$variant => $name),* }
            }
        }
    };
}

roles! {
    Text "text", Dim "dim", Accent "accent", Border "border", Good "good", Bad "bad", Warn "warn",
    User "user", Thinking "thinking", Heading "heading", Code "code", Link "link", Quote "quote",
    Keyword "keyword", Literal "literal", Comment "comment", Added "added", Removed "removed",
    Label "label", Active "active", SelectedBg "selectedBg",
    CustomMessageBg "customMessageBg", CustomMessageText "customMessageText", CustomMessageLabel "customMessageLabel",
    Backtrack "backtrack", BacktrackInfo "backtrackInfo", BacktrackUserMessage "backtrackUserMessage",
    BacktrackNote "backtrackNote",
}

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Theme {
    colours: Vec<Colour>,
    pub depth: Depth,
}

impl Theme {
    pub fn dark() -> Theme {
        Theme { colours: vec![Colour::Default; Role::ALL.len()], depth: Depth::default() }
            .read(include_str!("../themes/dark.toml"))
            .0
    }

    pub fn light() -> Theme {
        Theme::dark().read(include_str!("../themes/light.toml")).0
    }

    /// A theme of the user's, over the dark one, and what is wrong with it.
    pub fn parse(text: &str) -> (Theme, Vec<String>) {
        Theme::dark().read(text)
    }

    pub fn with_depth(mut self, depth: Depth) -> Theme {
        self.depth = depth;
        self
    }

    fn read(mut self, text: &str) -> (Theme, Vec<String>) {
        let mut problems = Vec::new();
        let mut named = Vec::new();
        let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
        for (at, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
            let (name, value) = line.split_once('=').unwrap_or((line, ""));
            let (name, value) = (name.trim(), value.trim().trim_matches('"'));
            let Some(role) = Role::ALL.iter().position(|role| role.name() == name) else {
                problems.push(format!("line {at}: there is no colour {name}; {}", nearest(name)));
                continue;
            };
            named.push(role);
            match Colour::parse(value) {
                Some(colour) => self.colours[role] = colour,
                None => problems.push(format!(
                    "line {at}: {value} is no colour; write a name like `cyan`, a number to 255, or `#rrggbb`"
                )),
            }
        }
        let missing = Role::ALL.iter().enumerate().filter(|(role, _)| !named.contains(role));
        let missing: Vec<&str> = missing.map(|(_, role)| role.name()).collect();
        if !missing.is_empty() {
            problems.push(format!("not named, so the dark theme's are used: {}", missing.join(", ")));
        }
        (self, problems)
    }

    /// The bytes that switch a style on; empty if it is plain.
    pub fn begin(&self, style: Style) -> String {
        let mut codes: Vec<String> = Vec::new();
        let flags = [(style.bold, "1"), (style.italic, "3"), (style.underline, "4"), (style.strike, "9")];
        codes.extend(flags.into_iter().filter(|(set, _)| *set).map(|(_, code)| code.to_owned()));
        let colour = |role: Role| self.colours[role as usize];
        if style.on == Some(Role::SelectedBg) && !colour(Role::SelectedBg).is_had_by(self.depth) {
            // With few colours, some of the letters would have that of the ground.
            codes.push("7".to_owned());
        } else {
            codes.extend(colour(style.role).code(self.depth, false));
            codes.extend(style.on.and_then(|role| colour(role).code(self.depth, true)));
        }
        if codes.is_empty() { String::new() } else { format!("\x1b[{}m", codes.join(";")) }
    }
}

fn nearest(name: &str) -> String {
    let names = Role::ALL.iter().map(|role| role.name());
    let best = names.max_by(|a, b| strsim::jaro_winkler(a, name).total_cmp(&strsim::jaro_winkler(b, name)));
    best.map(|best| format!("did you mean {best}?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_built_in_themes_name_every_colour() {
        let plain = Theme { colours: vec![Colour::Default; Role::ALL.len()], depth: Depth::True };
        for text in [include_str!("../themes/dark.toml"), include_str!("../themes/light.toml")] {
            assert_eq!(plain.clone().read(text).1, Vec::<String>::new());
        }
        assert_ne!(Theme::dark(), Theme::light());
    }

    #[test]
    fn what_is_wrong_is_told_and_falls_back() {
        let (theme, problems) = Theme::parse("acent = \"red\"\nbad = \"reddish\"\nlabel = \"#ff0000\"\n");
        assert_eq!(problems[0], "line 1: there is no colour acent; did you mean accent?");
        assert!(problems[1].starts_with("line 2: reddish is no colour"), "{problems:?}");
        assert!(
            problems[2].starts_with("not named, so the dark theme's are used: text, dim"),
            "{problems:?}"
        );
        assert_eq!(theme.begin(Role::Bad.into()), Theme::dark().begin(Role::Bad.into()));
        assert_eq!(theme.with_depth(Depth::True).begin(Role::Label.into()), "\x1b[38;2;255;0;0m");
    }

    #[test]
    fn without_colours_only_weight_and_selection_are_seen() {
        let theme = Theme::dark().with_depth(Depth::None);
        assert_eq!(theme.begin(Role::Bad.into()), "");
        assert_eq!(theme.begin(Style::from(Role::Bad).bold()), "\x1b[1m");
        assert_eq!(theme.begin(Style { on: Some(Role::SelectedBg), ..Style::default() }), "\x1b[7m");
    }

    #[test]
    fn with_sixteen_colours_every_word_of_a_selected_row_can_be_read() {
        let selected = |role: Role| Style { on: Some(Role::SelectedBg), ..role.into() };
        for theme in [Theme::dark(), Theme::light()] {
            let theme = theme.with_depth(Depth::Sixteen);
            let begun: Vec<String> = Role::ALL.iter().map(|role| theme.begin(selected(*role))).collect();
            assert!(begun.iter().all(|code| code == "\x1b[7m"), "{begun:?}");
        }
        let many = Theme::dark().with_depth(Depth::Many);
        assert_eq!(many.begin(selected(Role::Dim)), "\x1b[90;48;5;238m");
    }
}
