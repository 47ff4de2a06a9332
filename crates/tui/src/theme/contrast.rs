//! Computes the contrast of the built-in themes `dark` and `light`, as WCAG 2 defines it.

use super::*;

/// The backgrounds of terminals that the themes are made for.
const DARK_BACKGROUNDS: [Color; 3] =
    [Color::Rgb(0, 0, 0), Color::Rgb(0x1e, 0x1e, 0x1e), Color::Rgb(0x28, 0x2c, 0x34)];
const LIGHT_BACKGROUNDS: [Color; 2] = [Color::Rgb(0xff, 0xff, 0xff), Color::Rgb(0xfa, 0xfa, 0xfa)];
/// The text colors of such terminals.
const DARK_TEXT: Color = Color::Rgb(0xcc, 0xcc, 0xcc);
const LIGHT_TEXT: Color = Color::Rgb(0x33, 0x33, 0x33);

/// The minimum for text, and for lines.
const TEXT_CONTRAST: f64 = 4.5;
const LINE_CONTRAST: f64 = 2.5;

/// Code on a changed line of a diff.
const CODE: [ColorRole; 7] = [
    ColorRole::Text,
    ColorRole::Keyword,
    ColorRole::Literal,
    ColorRole::Comment,
    ColorRole::Function,
    ColorRole::Type,
    ColorRole::Property,
];

/// What Markdown draws, except code.
const MARKDOWN: [ColorRole; 9] = [
    ColorRole::Text,
    ColorRole::Dim,
    ColorRole::Accent,
    ColorRole::Border,
    ColorRole::Heading,
    ColorRole::Code,
    ColorRole::Link,
    ColorRole::Quote,
    ColorRole::Added,
];

/// What stands on the backgrounds of a theme.
const ON_BACKGROUNDS: &[(ColorRole, &[ColorRole])] = &[
    (ColorRole::UserBg, &[ColorRole::Text, ColorRole::User, ColorRole::Dim]),
    (
        ColorRole::SelectedBg,
        &[
            ColorRole::Text,
            ColorRole::Dim,
            ColorRole::Accent,
            ColorRole::Active,
            ColorRole::Label,
            ColorRole::User,
            ColorRole::Warn,
            ColorRole::Bad,
        ],
    ),
    (ColorRole::AddedBg, &[ColorRole::Added, ColorRole::Dim]),
    (ColorRole::AddedBg, &CODE),
    (ColorRole::AddedWordBg, &[ColorRole::Added]),
    (ColorRole::RemovedBg, &[ColorRole::Removed, ColorRole::Dim]),
    (ColorRole::RemovedBg, &CODE),
    (ColorRole::RemovedWordBg, &[ColorRole::Removed]),
    (
        ColorRole::CustomMessageBg,
        &[ColorRole::CustomMessageText, ColorRole::CustomMessageLabel, ColorRole::Removed],
    ),
    (ColorRole::CustomMessageBg, &MARKDOWN),
    (ColorRole::CustomMessageBg, &CODE),
];

fn luminance(color: Color) -> f64 {
    let (r, g, b) = color.rgb();
    let linear = |part: u8| {
        let part = f64::from(part) / 255.0;
        if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
}

fn contrast(a: Color, b: Color) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

fn is_background(role: ColorRole) -> bool {
    role.name().ends_with("Bg")
}

/// Every pair of colors that a theme shows, with the contrast it needs.
fn pairs(theme: &Theme, backgrounds: &[Color], text: Color) -> Vec<(String, Color, Color, f64)> {
    let shown = |role: ColorRole| match theme.colors[role as usize] {
        Color::Default => text,
        color => color,
    };
    let mut pairs = Vec::new();
    let needed = |role| if role == ColorRole::Border { LINE_CONTRAST } else { TEXT_CONTRAST };
    for role in ColorRole::ALL.iter().copied().filter(|role| !is_background(*role)) {
        pairs.extend(backgrounds.iter().map(|on| (role.name().to_owned(), shown(role), *on, needed(role))));
    }
    for (background, roles) in ON_BACKGROUNDS {
        pairs.extend(roles.iter().map(|role| {
            let name = format!("{} on {}", role.name(), background.name());
            (name, shown(*role), shown(*background), needed(*role))
        }));
    }
    pairs
}

#[test]
fn text_of_the_built_in_themes_has_enough_contrast() {
    let themes = [
        (Theme::dark(), &DARK_BACKGROUNDS[..], DARK_TEXT),
        (Theme::light(), &LIGHT_BACKGROUNDS[..], LIGHT_TEXT),
    ];
    let mut problems = Vec::new();
    for (theme, backgrounds, text) in themes {
        for (name, color, on, needed) in pairs(&theme, backgrounds, text) {
            // With 256 colors, both are the nearest ones of the palette.
            for (color, on) in [(color, on), (color.nearest_indexed(), on.nearest_indexed())] {
                let found = contrast(color, on);
                if found < needed {
                    problems.push(format!("{name}: {color:?} on {on:?} has {found:.2}, needs {needed}"));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_background_is_checked() {
    for role in ColorRole::ALL.iter().filter(|role| is_background(**role)) {
        assert!(ON_BACKGROUNDS.iter().any(|(checked, _)| checked == role), "{}", role.name());
    }
}
