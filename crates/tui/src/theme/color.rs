//! A color, and its nearest equivalent on a terminal with fewer colors.

/// How many colors a terminal supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ColorDepth {
    None,
    #[default]
    Sixteen,
    Palette256,
    TrueColor,
}

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Color {
    /// The terminal's default color.
    Default,
    Indexed(u8),
    Rgb(u8, u8, u8),
}

const NAMES: [&str; 16] = [
    "black",
    "red",
    "green",
    "yellow",
    "blue",
    "magenta",
    "cyan",
    "white",
    "gray",
    "brightRed",
    "brightGreen",
    "brightYellow",
    "brightBlue",
    "brightMagenta",
    "brightCyan",
    "brightWhite",
];

/// The sixteen base colors as most terminals show them.
const BASE_COLORS: [(u8, u8, u8); 16] = [
    (0, 0, 0),
    (205, 0, 0),
    (0, 205, 0),
    (205, 205, 0),
    (0, 0, 238),
    (205, 0, 205),
    (0, 205, 205),
    (229, 229, 229),
    (127, 127, 127),
    (255, 0, 0),
    (0, 255, 0),
    (255, 255, 0),
    (92, 92, 255),
    (255, 0, 255),
    (0, 255, 255),
    (255, 255, 255),
];

impl Color {
    pub fn parse(text: &str) -> Option<Color> {
        if text == "default" || text.is_empty() {
            return Some(Color::Default);
        }
        if let Some(at) = NAMES.iter().position(|name| *name == text) {
            return Some(Color::Indexed(at as u8));
        }
        match text.strip_prefix('#') {
            Some(hex) if hex.len() == 6 && hex.is_ascii() => {
                let part = |from: usize| u8::from_str_radix(&hex[from..from + 2], 16).ok();
                Some(Color::Rgb(part(0)?, part(2)?, part(4)?))
            }
            _ => text.parse().ok().map(Color::Indexed),
        }
    }

    /// The escape code that selects the color; `None` for the terminal's default.
    pub(super) fn code(self, depth: ColorDepth, background: bool) -> Option<String> {
        let (low, high, many) = if background { (40, 100, 48) } else { (30, 90, 38) };
        match (depth, self) {
            (ColorDepth::None, _) | (_, Color::Default) => None,
            (_, Color::Indexed(index @ 0..8)) => Some(format!("{}", low + u32::from(index))),
            (_, Color::Indexed(index @ 8..16)) => Some(format!("{}", high + u32::from(index) - 8)),
            (ColorDepth::Sixteen, color) => {
                Color::Indexed(nearest_base_color(color.rgb())).code(ColorDepth::Palette256, background)
            }
            (_, Color::Indexed(index)) => Some(format!("{many};5;{index}")),
            (ColorDepth::Palette256, Color::Rgb(r, g, b)) => {
                Some(format!("{many};5;{}", nearest_in_cube(r, g, b)))
            }
            (ColorDepth::TrueColor, Color::Rgb(r, g, b)) => Some(format!("{many};2;{r};{g};{b}")),
        }
    }

    /// Whether a terminal shows exactly this color.
    pub(super) fn is_supported_by(self, depth: ColorDepth) -> bool {
        match self {
            Color::Default | Color::Indexed(0..16) => depth != ColorDepth::None,
            _ => matches!(depth, ColorDepth::Palette256 | ColorDepth::TrueColor),
        }
    }

    /// Whether a terminal shows a color with a hue as one: the palette of 256 has no dark colors with little saturation.
    pub(super) fn keeps_hue(self, depth: ColorDepth) -> bool {
        let (r, g, b) = self.rgb();
        let has_hue = r.max(g).max(b) - r.min(g).min(b) >= MIN_HUE;
        let is_gray = matches!(self, Color::Rgb(..)) && nearest_in_cube(r, g, b) >= FIRST_GRAY;
        !(has_hue && is_gray && depth == ColorDepth::Palette256)
    }

    /// The nearest of the 256 colors.
    #[cfg(test)]
    pub(super) fn nearest_indexed(self) -> Color {
        match self {
            Color::Rgb(r, g, b) => Color::Indexed(nearest_in_cube(r, g, b)),
            color => color,
        }
    }

    pub(super) fn rgb(self) -> (u8, u8, u8) {
        match self {
            Color::Default => (255, 255, 255),
            Color::Rgb(r, g, b) => (r, g, b),
            Color::Indexed(index @ 0..16) => BASE_COLORS[usize::from(index)],
            Color::Indexed(index @ 16..232) => {
                let index = index - 16;
                let level = |part: u8| if part == 0 { 0 } else { 55 + 40 * part };
                (level(index / 36), level(index / 6 % 6), level(index % 6))
            }
            Color::Indexed(index) => {
                let gray = 8 + 10 * (index - 232);
                (gray, gray, gray)
            }
        }
    }
}

/// The first gray of the 256 colors.
const FIRST_GRAY: u8 = 232;
/// A color whose parts differ by less is gray to the eye.
const MIN_HUE: u8 = 12;

/// The nearest of the 216 colors of the cube, or the nearest gray.
fn nearest_in_cube(r: u8, g: u8, b: u8) -> u8 {
    let (most, least) = (r.max(g).max(b), r.min(g).min(b));
    // The cube has no dark colors with little saturation.
    let is_gray = most - least < if most < 80 { 24 } else { 8 };
    if is_gray && (4..=243).contains(&least) {
        let middle = least + (most - least) / 2;
        return FIRST_GRAY + ((middle - 3) / 10).min(23);
    }
    // The levels of the cube are 0, 95, 135, 175, 215 and 255.
    let level = |part: u8| match part {
        ..48 => 0,
        48..115 => 1,
        part => (part - 35) / 40,
    };
    16 + 36 * level(r) + 6 * level(g) + level(b)
}

fn nearest_base_color((r, g, b): (u8, u8, u8)) -> u8 {
    let far = |(x, y, z): (u8, u8, u8)| {
        let part = |a: u8, b: u8| (i32::from(a) - i32::from(b)).pow(2);
        part(r, x) + part(g, y) + part(b, z)
    };
    (0..16).min_by_key(|at| far(BASE_COLORS[usize::from(*at)])).unwrap_or(7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_color_becomes_the_nearest_one_that_the_terminal_supports() {
        let red = Color::parse("#e01010").unwrap();
        assert_eq!(red.code(ColorDepth::TrueColor, false).unwrap(), "38;2;224;16;16");
        assert_eq!(red.code(ColorDepth::Palette256, true).unwrap(), "48;5;160");
        assert_eq!(red.code(ColorDepth::Sixteen, false).unwrap(), "31");
        let many = |text: &str| Color::parse(text).unwrap().code(ColorDepth::Palette256, true).unwrap();
        assert_eq!(many("#3a2a50"), "48;5;53", "purple stays purple");
        assert_eq!(many("#303030"), "48;5;236");
        assert_eq!(Color::parse("238").unwrap().code(ColorDepth::Sixteen, true).unwrap(), "100");
        assert_eq!(Color::parse("brightCyan").unwrap().code(ColorDepth::Sixteen, false).unwrap(), "96");
        assert_eq!(red.code(ColorDepth::None, false), None);
        assert_eq!(Color::parse("#12345"), None);
        assert_eq!(Color::parse("#ééé"), None);
    }
}
