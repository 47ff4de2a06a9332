//! Color themes. A theme is a file of `token = "color"` lines. Unknown tokens and colors are reported, and tokens that a theme does
//! not set come from the built-in theme that it is based on.

mod colour;
mod detect;
mod pi;

pub use colour::{Colour, Depth};
pub use detect::{depth, is_light};
pub use pi::PI_TOKENS;

use crate::text::Style;

macro_rules! roles {
    ($($variant:ident $name:literal),* $(,)?) => {
        /// The purpose of a color. The names are the tokens in theme files.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
        pub enum Role { #[default] $($variant),* }

        impl Role {
            pub const ALL: &'static [Role] = &[$(Role::$variant),*];

            pub fn name(self) -> &'static str {
                match self { $(Role::$variant => $name),* }
            }

            pub fn named(name: &str) -> Option<Role> {
                Role::ALL.iter().copied().find(|role| role.name() == name)
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

/// The built-in themes by name.
const BUILTIN: [(&str, &str); 4] = [
    ("dark", include_str!("../themes/dark.toml")),
    ("light", include_str!("../themes/light.toml")),
    ("high-contrast", include_str!("../themes/high-contrast.toml")),
    ("solarized", include_str!("../themes/solarized.toml")),
];

impl Theme {
    pub fn dark() -> Theme {
        Theme::builtin("dark").expect("the theme is built in")
    }

    pub fn light() -> Theme {
        Theme::builtin("light").expect("the theme is built in")
    }

    pub fn builtin(name: &str) -> Option<Theme> {
        let plain = Theme { colours: vec![Colour::Default; Role::ALL.len()], depth: Depth::default() };
        let (_, text) = BUILTIN.iter().find(|(known, _)| *known == name)?;
        Some(plain.read(&toml::from_str(text).unwrap_or_default(), name).0)
    }

    pub fn builtin_names() -> impl Iterator<Item = &'static str> {
        BUILTIN.iter().map(|(name, _)| *name)
    }

    /// Parses a theme file; returns the theme and the problems found in the file.
    pub fn parse(text: &str) -> (Theme, Vec<String>) {
        let table: toml::Table = match toml::from_str(text) {
            Ok(table) => table,
            Err(error) => return (Theme::dark(), vec![format!("not TOML: {}", error.message())]),
        };
        let base = table.get("base").and_then(|base| base.as_str()).unwrap_or("dark");
        match Theme::builtin(base) {
            Some(theme) => theme.read(&table, base),
            None => {
                let (theme, mut problems) = Theme::dark().read(&table, "dark");
                let names = Theme::builtin_names().collect::<Vec<_>>().join(", ");
                problems.insert(0, format!("unknown base {base}; built-in themes: {names}"));
                (theme, problems)
            }
        }
    }

    pub fn with_depth(mut self, depth: Depth) -> Theme {
        self.depth = depth;
        self
    }

    /// Applies the colors of a file to this theme, which is the one named `base`. The tokens are at the top level, or in
    /// `colors` as in pi's themes; `vars` defines names for colors.
    fn read(mut self, table: &toml::Table, base: &str) -> (Theme, Vec<String>) {
        let inner = |key: &str| table.get(key).and_then(|inner| inner.as_table());
        let (vars, colors) = (inner("vars"), inner("colors"));
        let own =
            table.iter().filter(|(key, value)| !(NOT_TOKENS.contains(&key.as_str()) || value.is_table()));
        let mut named = vec![false; Role::ALL.len()];
        let mut problems = Vec::new();
        let mut tokens: Vec<_> = own.chain(colors.into_iter().flatten()).collect();
        // Osier's own tokens come first: they override pi's tokens, which may set several roles.
        tokens.sort_by_key(|(token, _)| (Role::named(token).is_none(), pi::position(token)));
        for (token, value) in tokens {
            let roles = match (Role::named(token), pi::position(token)) {
                (Some(role), _) => vec![role],
                (None, Some(at)) => PI_TOKENS[at].1.to_vec(),
                (None, None) => {
                    problems.push(format!("unknown token {token}; {}", nearest(token)));
                    continue;
                }
            };
            let Some(color) = colour_of(value, vars) else {
                problems.push(format!(
                    "{token}: {value} is not a color; use a name like cyan, 0 to 255, or #rrggbb"
                ));
                continue;
            };
            for role in roles {
                if !std::mem::replace(&mut named[role as usize], true) {
                    self.colours[role as usize] = color;
                }
            }
        }
        let missing = Role::ALL.iter().filter(|role| !named[**role as usize]).map(|role| role.name());
        let missing: Vec<&str> = missing.collect();
        if !missing.is_empty() {
            problems.push(format!("missing tokens, taken from {base}: {}", missing.join(", ")));
        }
        (self, problems)
    }

    /// The escape sequence that starts a style; empty for plain text.
    pub fn begin(&self, style: Style) -> String {
        let mut codes: Vec<String> = Vec::new();
        let flags = [(style.bold, "1"), (style.italic, "3"), (style.underline, "4"), (style.strike, "9")];
        codes.extend(flags.into_iter().filter(|(set, _)| *set).map(|(_, code)| code.to_owned()));
        let color = |role: Role| self.colours[role as usize];
        if style.on == Some(Role::SelectedBg) && !color(Role::SelectedBg).is_had_by(self.depth) {
            // With few colors, some text would have the same color as its background.
            codes.push("7".to_owned());
        } else {
            codes.extend(color(style.role).code(self.depth, false));
            codes.extend(style.on.and_then(|role| color(role).code(self.depth, true)));
        }
        if codes.is_empty() { String::new() } else { format!("\x1b[{}m", codes.join(";")) }
    }
}

/// Keys of a theme file that are not tokens.
const NOT_TOKENS: [&str; 3] = ["base", "name", "$schema"];

/// Parses a color, or looks up its name in `vars`.
fn colour_of(value: &toml::Value, vars: Option<&toml::Table>) -> Option<Colour> {
    let named =
        |name: &str| vars.and_then(|vars| vars.get(name)).filter(|value| value.as_str() != Some(name));
    match value {
        toml::Value::Integer(index) => u8::try_from(*index).ok().map(Colour::Indexed),
        toml::Value::String(text) => match named(text) {
            Some(value) => colour_of(value, None),
            None => Colour::parse(text),
        },
        _ => None,
    }
}

fn nearest(name: &str) -> String {
    let names = Role::ALL.iter().map(|role| role.name()).chain(PI_TOKENS.iter().map(|(name, _)| *name));
    let best = names.max_by(|a, b| strsim::jaro_winkler(a, name).total_cmp(&strsim::jaro_winkler(b, name)));
    best.map(|best| format!("did you mean {best}?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_theme_names_every_token_and_custom_messages_are_purple() {
        let mut seen = Vec::new();
        for (name, text) in BUILTIN {
            assert_eq!(Theme::parse(text).1, Vec::<String>::new(), "{name}");
            let theme = Theme::builtin(name).unwrap();
            let Colour::Rgb(r, g, b) = theme.colours[Role::CustomMessageBg as usize] else {
                panic!("{name}")
            };
            assert!(b > r && r > g, "{name}: {r} {g} {b} is not purple");
            assert!(!seen.contains(&theme), "{name}");
            seen.push(theme);
        }
    }

    #[test]
    fn problems_are_reported_and_defaults_are_used() {
        let text = "acent = \"red\"\nbad = \"reddish\"\nlabel = \"#ff0000\"\nlink = 300\ncode = \"\"\n";
        let (theme, mut problems) = Theme::parse(text);
        let missing = problems.pop().unwrap();
        problems.sort();
        assert_eq!(
            problems,
            [
                "bad: \"reddish\" is not a color; use a name like cyan, 0 to 255, or #rrggbb",
                "link: 300 is not a color; use a name like cyan, 0 to 255, or #rrggbb",
                "unknown token acent; did you mean accent?",
            ]
        );
        assert!(missing.starts_with("missing tokens, taken from dark: text, dim, accent,"), "{missing}");
        assert_eq!(theme.begin(Role::Bad.into()), Theme::dark().begin(Role::Bad.into()));
        assert_eq!(theme.begin(Role::Code.into()), "", "an empty text is the terminal's default color");
        assert_eq!(theme.with_depth(Depth::True).begin(Role::Label.into()), "\x1b[38;2;255;0;0m");
        let (theme, problems) = Theme::parse("base = \"light\"\naccent = \"red\"");
        assert!(problems[0].starts_with("missing tokens, taken from light: text"), "{problems:?}");
        assert_eq!(theme.begin(Role::Link.into()), Theme::light().begin(Role::Link.into()));
        assert_eq!(
            Theme::parse("base = \"lihgt\"").1[0],
            "unknown base lihgt; built-in themes: dark, light, high-contrast, solarized"
        );
        assert!(Theme::parse("text =").1[0].starts_with("not TOML: "));
    }

    #[test]
    fn a_theme_with_the_tokens_of_pi_is_complete() {
        let required = &PI_TOKENS[..51];
        assert_eq!(required.last().unwrap().0, "bashMode");
        let lines: String = required.iter().map(|(token, _)| format!("{token} = \"gray\"\n")).collect();
        let colors = lines.replacen("error = \"gray\"", "error = \"fire\"", 1);
        let text = format!("name = \"x\"\n[vars]\nfire = \"#ff0000\"\n[colors]\n{colors}");
        let (theme, problems) = Theme::parse(&text);
        assert_eq!(problems, Vec::<String>::new());
        assert_eq!(theme.colours[Role::Bad as usize], Colour::Rgb(255, 0, 0));
        assert_eq!(theme.colours[Role::BacktrackNote as usize], Colour::Indexed(8));
        let (theme, _) = Theme::parse("warning = \"red\"\nlabel = \"blue\"\nmuted = \"red\"\ndim = \"blue\"");
        assert_eq!(theme.colours[Role::Label as usize], Colour::Indexed(4), "Osier's own token wins");
        assert_eq!(theme.colours[Role::Dim as usize], Colour::Indexed(4));
        assert_eq!(theme.colours[Role::Warn as usize], Colour::Indexed(1));
    }

    #[test]
    fn without_colors_only_bold_and_selection_are_visible() {
        let theme = Theme::dark().with_depth(Depth::None);
        assert_eq!(theme.begin(Role::Bad.into()), "");
        assert_eq!(theme.begin(Style::from(Role::Bad).bold()), "\x1b[1m");
        assert_eq!(theme.begin(Style { on: Some(Role::SelectedBg), ..Style::default() }), "\x1b[7m");
    }

    #[test]
    fn with_sixteen_colors_every_word_of_a_selected_row_is_readable() {
        let selected = |role: Role| Style { on: Some(Role::SelectedBg), ..role.into() };
        for theme in Theme::builtin_names().filter_map(Theme::builtin) {
            let theme = theme.with_depth(Depth::Sixteen);
            let begun: Vec<String> = Role::ALL.iter().map(|role| theme.begin(selected(*role))).collect();
            assert!(begun.iter().all(|code| code == "\x1b[7m"), "{begun:?}");
        }
        let many = Theme::dark().with_depth(Depth::Many);
        assert_eq!(many.begin(selected(Role::Dim)), "\x1b[90;48;5;238m");
    }
}
