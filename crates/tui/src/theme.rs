//! Color themes. A theme is a file of `token = "color"` lines. Unknown tokens and colors are reported, and tokens that a theme does
//! not set come from the built-in theme that it is based on.

mod color;
#[cfg(test)]
mod contrast;
mod detect;
mod pi;

pub use color::{Color, ColorDepth};
pub use detect::{detect_color_depth, detect_light_background};
pub use pi::PI_TOKENS;
pub(crate) use pi::token_role;

use crate::text::Style;

macro_rules! roles {
    ($($variant:ident $name:literal),* $(,)?) => {
        /// The purpose of a color. The names are the tokens in theme files.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
        pub enum ColorRole { #[default] $($variant),* }

        impl ColorRole {
            pub const ALL: &'static [ColorRole] = &[$(ColorRole::$variant),*];

            pub fn name(self) -> &'static str {
                match self { $(ColorRole::$variant => $name),* }
            }

            pub fn from_name(name: &str) -> Option<ColorRole> {
                ColorRole::ALL.iter().copied().find(|role| role.name() == name)
            }
        }
    };
}

roles! {
    Text "text", Dim "dim", Accent "accent", Border "border", Good "good", Bad "bad", Warn "warn",
    User "user", UserBg "userBg", Thinking "thinking", Heading "heading", Code "code", Link "link", Quote "quote",
    Keyword "keyword", Literal "literal", Comment "comment", Function "function", Type "type",
    Property "property",
    Added "added", AddedBg "addedBg", AddedWordBg "addedWordBg",
    Removed "removed", RemovedBg "removedBg", RemovedWordBg "removedWordBg",
    Label "label", Active "active", SelectedBg "selectedBg",
    CustomMessageBg "customMessageBg", CustomMessageText "customMessageText", CustomMessageLabel "customMessageLabel",
    Backtrack "backtrack", BacktrackInfo "backtrackInfo", BacktrackUserMessage "backtrackUserMessage",
    BacktrackNote "backtrackNote",
}

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Theme {
    colors: Vec<Color>,
    /// Colors for terminals with sixteen colors; `None`: the nearest of the sixteen.
    sixteen: Vec<Option<Color>>,
    pub color_depth: ColorDepth,
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
        let count = ColorRole::ALL.len();
        let plain = Theme {
            colors: vec![Color::Default; count],
            sixteen: vec![None; count],
            color_depth: ColorDepth::default(),
        };
        let (_, text) = BUILTIN.iter().find(|(known, _)| *known == name)?;
        Some(plain.apply_table(&toml::from_str(text).unwrap_or_default(), name).0)
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
            Some(theme) => theme.apply_table(&table, base),
            None => {
                let (theme, mut problems) = Theme::dark().apply_table(&table, "dark");
                let names = Theme::builtin_names().collect::<Vec<_>>().join(", ");
                problems.insert(0, format!("unknown base {base}; built-in themes: {names}"));
                (theme, problems)
            }
        }
    }

    pub fn with_color_depth(mut self, depth: ColorDepth) -> Theme {
        self.color_depth = depth;
        self
    }

    /// Applies the colors of a file to this theme, which is the one named `base`. The tokens are at the top level, or in
    /// `colors` as in pi's themes; `vars` defines names for colors.
    fn apply_table(mut self, table: &toml::Table, base: &str) -> (Theme, Vec<String>) {
        let inner = |key: &str| table.get(key).and_then(|inner| inner.as_table());
        let (vars, colors) = (inner("vars"), inner("colors"));
        let own =
            table.iter().filter(|(key, value)| !(NOT_TOKENS.contains(&key.as_str()) || value.is_table()));
        let mut named = vec![false; ColorRole::ALL.len()];
        let mut problems = Vec::new();
        let mut tokens: Vec<_> = own.chain(colors.into_iter().flatten()).collect();
        // Osier's own tokens come first: they override pi's tokens, which may set several roles.
        tokens.sort_by_key(|(token, _)| (ColorRole::from_name(token).is_none(), pi::token_position(token)));
        for (token, value) in tokens {
            let roles = match (ColorRole::from_name(token), pi::token_position(token)) {
                (Some(role), _) => vec![role],
                (None, Some(at)) => PI_TOKENS[at].1.to_vec(),
                (None, None) => {
                    problems.push(format!("unknown token {token}; {}", suggest_token(token)));
                    continue;
                }
            };
            let Some(color) = parse_color(value, vars) else {
                problems.push(format!(
                    "{token}: {value} is not a color; use a name like cyan, 0 to 255, or #rrggbb"
                ));
                continue;
            };
            for role in roles {
                if !std::mem::replace(&mut named[role as usize], true) {
                    self.colors[role as usize] = color;
                    self.sixteen[role as usize] = None;
                }
            }
        }
        for (token, value) in inner("sixteen").into_iter().flatten() {
            match (ColorRole::from_name(token), parse_color(value, vars)) {
                (Some(role), Some(color)) => self.sixteen[role as usize] = Some(color),
                (Some(_), None) => problems.push(format!("sixteen.{token}: {value} is not a color")),
                (None, _) => {
                    problems.push(format!("unknown token sixteen.{token}; {}", suggest_token(token)));
                }
            }
        }
        let missing = ColorRole::ALL.iter().filter(|role| !named[**role as usize]).map(|role| role.name());
        let missing: Vec<&str> = missing.collect();
        if !missing.is_empty() {
            problems.push(format!("missing tokens, taken from {base}: {}", missing.join(", ")));
        }
        (self, problems)
    }

    fn color(&self, role: ColorRole) -> Color {
        let few = self.sixteen[role as usize].filter(|_| self.color_depth == ColorDepth::Sixteen);
        few.unwrap_or(self.colors[role as usize])
    }

    /// Whether a background looks as it should. That of a changed line must not become gray.
    fn shows_background(&self, role: ColorRole) -> bool {
        let is_change = matches!(role, ColorRole::AddedBg | ColorRole::RemovedBg);
        let color = self.color(role);
        color.is_supported_by(self.color_depth) && (!is_change || color.keeps_hue(self.color_depth))
    }

    /// Whether a selected row is inverted, because the terminal cannot show its background. Its rest cannot be filled then.
    pub(crate) fn inverts_selection(&self) -> bool {
        self.color_depth == ColorDepth::Sixteen && !self.shows_background(ColorRole::SelectedBg)
    }

    /// The escape sequence that fills the rest of a row with a background; empty if the terminal cannot show it.
    pub fn fill(&self, role: ColorRole) -> String {
        let is_shown = self.shows_background(role);
        let code = self.color(role).code(self.color_depth, true).filter(|_| is_shown);
        code.map(|code| format!("\x1b[{code}m\x1b[K\x1b[0m")).unwrap_or_default()
    }

    /// The escape sequence that starts a style; empty for plain text.
    pub fn style_start(&self, style: Style) -> String {
        let mut codes: Vec<String> = Vec::new();
        let flags = [
            (style.bold, "1"),
            (style.italic, "3"),
            (style.underline, "4"),
            (style.inverse, "7"),
            (style.strike, "9"),
        ];
        codes.extend(flags.into_iter().filter(|(set, _)| *set).map(|(_, code)| code.to_owned()));
        // With few colors, some text would have the same color as its background.
        let background = style.background.filter(|role| self.shows_background(*role));
        if style.background == Some(ColorRole::SelectedBg) && background.is_none() {
            codes.push("7".to_owned());
        } else {
            // Code on a changed line keeps the color of the change where the background cannot show it.
            let role = match (style.background, background) {
                (Some(ColorRole::AddedBg | ColorRole::AddedWordBg), None) => ColorRole::Added,
                (Some(ColorRole::RemovedBg | ColorRole::RemovedWordBg), None) => ColorRole::Removed,
                _ => style.role,
            };
            let foreground = style.own_color.unwrap_or_else(|| self.color(role));
            codes.extend(foreground.code(self.color_depth, false));
            let background = style.own_background.or_else(|| background.map(|role| self.color(role)));
            codes.extend(background.and_then(|color| color.code(self.color_depth, true)));
        }
        if codes.is_empty() { String::new() } else { format!("\x1b[{}m", codes.join(";")) }
    }
}

/// Keys of a theme file that are not tokens.
const NOT_TOKENS: [&str; 3] = ["base", "name", "$schema"];

/// Parses a color, or looks up its name in `vars`.
fn parse_color(value: &toml::Value, vars: Option<&toml::Table>) -> Option<Color> {
    let named =
        |name: &str| vars.and_then(|vars| vars.get(name)).filter(|value| value.as_str() != Some(name));
    match value {
        toml::Value::Integer(index) => u8::try_from(*index).ok().map(Color::Indexed),
        toml::Value::String(text) => match named(text) {
            Some(value) => parse_color(value, None),
            None => Color::parse(text),
        },
        _ => None,
    }
}

fn suggest_token(name: &str) -> String {
    let names = ColorRole::ALL.iter().map(|role| role.name()).chain(PI_TOKENS.iter().map(|(name, _)| *name));
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
            let Color::Rgb(r, g, b) = theme.colors[ColorRole::CustomMessageBg as usize] else {
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
        assert_eq!(
            theme.style_start(ColorRole::Bad.into()),
            Theme::dark().style_start(ColorRole::Bad.into())
        );
        assert_eq!(
            theme.style_start(ColorRole::Code.into()),
            "",
            "an empty text is the terminal's default color"
        );
        assert_eq!(
            theme.with_color_depth(ColorDepth::TrueColor).style_start(ColorRole::Label.into()),
            "\x1b[38;2;255;0;0m"
        );
        let (theme, problems) = Theme::parse("base = \"light\"\naccent = \"red\"");
        assert!(problems[0].starts_with("missing tokens, taken from light: text"), "{problems:?}");
        assert_eq!(
            theme.style_start(ColorRole::Link.into()),
            Theme::light().style_start(ColorRole::Link.into())
        );
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
        assert_eq!(theme.colors[ColorRole::Bad as usize], Color::Rgb(255, 0, 0));
        assert_eq!(theme.colors[ColorRole::BacktrackNote as usize], Color::Indexed(8));
        let (theme, _) = Theme::parse("warning = \"red\"\nlabel = \"blue\"\nmuted = \"red\"\ndim = \"blue\"");
        assert_eq!(theme.colors[ColorRole::Label as usize], Color::Indexed(4), "Osier's own token wins");
        assert_eq!(theme.colors[ColorRole::Dim as usize], Color::Indexed(4));
        assert_eq!(theme.colors[ColorRole::Warn as usize], Color::Indexed(1));
    }

    #[test]
    fn without_colors_only_bold_and_selection_are_visible() {
        let theme = Theme::dark().with_color_depth(ColorDepth::None);
        assert_eq!(theme.style_start(ColorRole::Bad.into()), "");
        assert_eq!(theme.style_start(Style::from(ColorRole::Bad).bold()), "\x1b[1m");
        assert_eq!(
            theme.style_start(Style { background: Some(ColorRole::SelectedBg), ..Style::default() }),
            "\x1b[7m"
        );
    }

    #[test]
    fn a_changed_line_has_a_background_of_its_color_or_text_of_its_color() {
        let keyword = |theme: &Theme, background| {
            theme.style_start(Style { background: Some(background), ..ColorRole::Keyword.into() })
        };
        let many = Theme::dark().with_color_depth(ColorDepth::Palette256);
        assert_eq!(keyword(&many, ColorRole::AddedBg), many.style_start(ColorRole::Added.into()));
        assert_eq!(many.fill(ColorRole::RemovedBg), "", "the palette has no such dark red");
        let light = Theme::light().with_color_depth(ColorDepth::Palette256);
        assert_eq!(keyword(&light, ColorRole::AddedBg), "\x1b[38;5;91;48;5;194m");
        let all = Theme::dark().with_color_depth(ColorDepth::TrueColor);
        assert_eq!(all.fill(ColorRole::RemovedBg), "\x1b[48;2;45;26;28m\x1b[K\x1b[0m");
    }

    #[test]
    fn with_sixteen_colors_every_word_of_a_selected_row_is_readable() {
        let selected = |role: ColorRole| Style { background: Some(ColorRole::SelectedBg), ..role.into() };
        for theme in Theme::builtin_names().filter_map(Theme::builtin) {
            let theme = theme.with_color_depth(ColorDepth::Sixteen);
            let begun: Vec<String> =
                ColorRole::ALL.iter().map(|role| theme.style_start(selected(*role))).collect();
            assert!(begun.iter().all(|code| code == "\x1b[7m"), "{begun:?}");
        }
        let many = Theme::dark().with_color_depth(ColorDepth::Palette256);
        assert_eq!(many.style_start(selected(ColorRole::Dim)), "\x1b[38;5;248;48;5;236m");
    }
}
