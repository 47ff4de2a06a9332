//! Draws the cells of a terminal screen as a PNG, with fonts of Debian: DejaVu Sans Mono, Noto CJK and Noto Color Emoji.

use std::path::Path;

use ab_glyph::{Font, FontVec, GlyphId, PxScale, ScaleFont, point};
use anyhow::{Context, Result};
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ImageEncoder, Rgb, RgbImage, RgbaImage, imageops};

/// The size of a cell in pixels.
const CELL: (u32, u32) = (10, 20);
/// Blank pixels around the screen.
const MARGIN: u32 = 10;

/// The heights of the fonts, such that their characters fill one cell and two cells.
const MONO_HEIGHT: f32 = 19.3;
const CJK_HEIGHT: f32 = 26.0;

/// Characters before this one take one cell.
const FIRST_CJK: char = '\u{2e80}';

const MONO: &str = "/usr/share/fonts/truetype/dejavu/DejaVuSansMono";
const SYMBOLS: &str = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf";
const CJK: &str = "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc";
const EMOJI: &str = "/usr/share/fonts/truetype/noto/NotoColorEmoji.ttf";
const PACKAGES: &str = "fonts-dejavu-core, fonts-noto-cjk and fonts-noto-color-emoji";

/// The colors of a terminal.
#[derive(Debug, Clone, Copy)]
pub(super) struct Palette {
    foreground: u32,
    background: u32,
    sixteen: [u32; 16],
}

pub(super) const DARK: Palette = Palette {
    foreground: 0xd8dee9,
    background: 0x16181d,
    sixteen: [
        0x000000, 0xcd3131, 0x0dbc79, 0xe5e510, 0x2472c8, 0xbc3fbc, 0x11a8cd, 0xe5e5e5, 0x808080, 0xf14c4c,
        0x23d18b, 0xf5f543, 0x3b8eea, 0xd670d6, 0x29b8db, 0xffffff,
    ],
};

pub(super) const LIGHT: Palette = Palette {
    foreground: 0x24292f,
    background: 0xffffff,
    sixteen: [
        0x000000, 0xcd3131, 0x107c10, 0x949800, 0x0451a5, 0xbc05bc, 0x0598bc, 0x555555, 0x666666, 0xcd3131,
        0x14ce14, 0xb5ba00, 0x0451a5, 0xbc05bc, 0x0598bc, 0xa5a5a5,
    ],
};

impl Palette {
    fn rgb(&self, color: vt100::Color, default: u32) -> [u8; 3] {
        match color {
            vt100::Color::Default => bytes(default),
            vt100::Color::Rgb(r, g, b) => [r, g, b],
            vt100::Color::Idx(index @ 0..16) => bytes(self.sixteen[usize::from(index)]),
            vt100::Color::Idx(index @ 16..232) => {
                let level = |part: u8| if part == 0 { 0 } else { 55 + 40 * part };
                let index = index - 16;
                [level(index / 36), level(index / 6 % 6), level(index % 6)]
            }
            vt100::Color::Idx(index) => [8 + 10 * (index - 232); 3],
        }
    }
}

fn bytes(color: u32) -> [u8; 3] {
    let [_, r, g, b] = color.to_be_bytes();
    [r, g, b]
}

/// The fonts, loaded once for all pictures.
pub(super) struct Fonts {
    /// Regular, bold, oblique, bold and oblique.
    mono: [FontVec; 4],
    /// Signs that the monospaced font does not have, such as those of the spinner.
    symbols: FontVec,
    cjk: FontVec,
    emoji: FontVec,
}

impl Fonts {
    pub(super) fn load() -> Result<Fonts> {
        let load = |file: &str| -> Result<FontVec> {
            let data =
                std::fs::read(file).with_context(|| format!("cannot read {file}; install {PACKAGES}"))?;
            FontVec::try_from_vec_and_index(data, 0).with_context(|| format!("{file} is not a font"))
        };
        let mono = |style: &str| load(&format!("{MONO}{style}.ttf"));
        Ok(Fonts {
            mono: [mono("")?, mono("-Bold")?, mono("-Oblique")?, mono("-BoldOblique")?],
            symbols: load(SYMBOLS)?,
            cjk: load(CJK)?,
            emoji: load(EMOJI)?,
        })
    }

    /// Draws the screen. `text` replaces the content of cells, by row and column.
    pub(super) fn draw(
        &self,
        screen: &vt100::Screen,
        palette: &Palette,
        text: &dyn Fn(u16, u16) -> Option<String>,
    ) -> RgbImage {
        let (rows, columns) = screen.size();
        let size = (u32::from(columns) * CELL.0 + 2 * MARGIN, u32::from(rows) * CELL.1 + 2 * MARGIN);
        let mut picture = RgbImage::from_pixel(size.0, size.1, Rgb(bytes(palette.background)));
        // Backgrounds first: a wide character covers the cell after it.
        for pass in [Pass::Background, Pass::Text] {
            for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
                let Some(cell) = screen.cell(row, column) else { continue };
                let origin = (MARGIN + u32::from(column) * CELL.0, MARGIN + u32::from(row) * CELL.1);
                let mut colors = (
                    palette.rgb(cell.fgcolor(), palette.foreground),
                    palette.rgb(cell.bgcolor(), palette.background),
                );
                if cell.inverse() {
                    std::mem::swap(&mut colors.0, &mut colors.1);
                }
                match pass {
                    Pass::Background => fill(&mut picture, origin, CELL, colors.1),
                    Pass::Text => {
                        let content = text(row, column).unwrap_or_else(|| cell.contents().to_owned());
                        let style = usize::from(cell.bold()) + 2 * usize::from(cell.italic());
                        self.draw_text(&mut picture, origin, &content, style, colors.0);
                        if cell.underline() {
                            fill(&mut picture, (origin.0, origin.1 + CELL.1 - 3), (CELL.0, 1), colors.0);
                        }
                    }
                }
            }
        }
        if !screen.hide_cursor() {
            let (row, column) = screen.cursor_position();
            let origin = (MARGIN + u32::from(column) * CELL.0, MARGIN + u32::from(row) * CELL.1);
            fill(&mut picture, origin, (2, CELL.1), bytes(palette.foreground));
        }
        picture
    }

    fn draw_text(
        &self,
        picture: &mut RgbImage,
        origin: (u32, u32),
        text: &str,
        style: usize,
        color: [u8; 3],
    ) {
        let Some(ch) = text.chars().next().filter(|ch| *ch != ' ') else { return };
        if let Some(arms) = round_corner(ch) {
            return draw_round_corner(picture, origin, arms, color);
        }
        if let Some(lines) = box_lines(ch) {
            return draw_box(picture, origin, lines, color);
        }
        if let Some(dots) = braille_dots(ch) {
            return draw_braille(picture, origin, dots, color);
        }
        let mono = &self.mono[style];
        if mono.glyph_id(ch) != GlyphId(0) {
            draw_glyph(picture, mono, ch, origin, (CELL.0, MONO_HEIGHT), color);
        } else if ch < FIRST_CJK && self.symbols.glyph_id(ch) != GlyphId(0) {
            draw_glyph(picture, &self.symbols, ch, origin, (CELL.0, MONO_HEIGHT), color);
        } else if self.emoji.glyph_id(ch) != GlyphId(0) {
            self.draw_emoji(picture, ch, origin);
        } else {
            draw_glyph(picture, &self.cjk, ch, origin, (2 * CELL.0, CJK_HEIGHT), color);
        }
    }

    fn draw_emoji(&self, picture: &mut RgbImage, ch: char, origin: (u32, u32)) {
        let Some(strike) = self.emoji.glyph_raster_image2(self.emoji.glyph_id(ch), u16::MAX) else { return };
        let Ok(bitmap) = image::load_from_memory(strike.data) else { return };
        let side = 2 * CELL.0 - 2;
        let small: RgbaImage =
            imageops::resize(&bitmap.to_rgba8(), side, side, imageops::FilterType::Triangle);
        for (x, y, pixel) in small.enumerate_pixels() {
            let [r, g, b, alpha] = pixel.0;
            blend(picture, origin.0 + 1 + x, origin.1 + 1 + y, [r, g, b], f32::from(alpha) / 255.0);
        }
    }
}

/// The dots of a Braille character, one bit each. The spinner consists of them, and the fonts lack them.
fn braille_dots(ch: char) -> Option<u32> {
    u32::from(ch).checked_sub(0x2800).filter(|dots| *dots < 0x100)
}

fn draw_braille(picture: &mut RgbImage, origin: (u32, u32), dots: u32, color: [u8; 3]) {
    // Columns and rows of the dots, by bit.
    const PLACES: [(u32, u32); 8] = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3)];
    for (bit, (column, row)) in PLACES.into_iter().enumerate() {
        if dots & (1 << bit) != 0 {
            fill(picture, (origin.0 + 2 + 4 * column, origin.1 + 3 + 4 * row), (2, 2), color);
        }
    }
}

enum Pass {
    Background,
    Text,
}

fn fill(picture: &mut RgbImage, (x, y): (u32, u32), (width, height): (u32, u32), color: [u8; 3]) {
    for (x, y) in (y..y + height).flat_map(|y| (x..x + width).map(move |x| (x, y))) {
        if let Some(pixel) = picture.get_pixel_mut_checked(x, y) {
            *pixel = Rgb(color);
        }
    }
}

fn blend(picture: &mut RgbImage, x: u32, y: u32, color: [u8; 3], coverage: f32) {
    let Some(pixel) = picture.get_pixel_mut_checked(x, y) else { return };
    for (old, new) in pixel.0.iter_mut().zip(color) {
        *old =
            (f32::from(*old) + (f32::from(new) - f32::from(*old)) * coverage.clamp(0.0, 1.0)).round() as u8;
    }
}

/// Draws a character centered in its cell or cells.
fn draw_glyph(
    picture: &mut RgbImage,
    font: &FontVec,
    ch: char,
    origin: (u32, u32),
    (width, size): (u32, f32),
    color: [u8; 3],
) {
    let scaled = font.as_scaled(PxScale::from(size));
    let advance = scaled.h_advance(font.glyph_id(ch));
    let left = origin.0 as f32 + (width as f32 - advance) / 2.0;
    let height = scaled.ascent() - scaled.descent();
    let base = origin.1 as f32 + (CELL.1 as f32 - height) / 2.0 + scaled.ascent();
    let glyph = font.glyph_id(ch).with_scale_and_position(scaled.scale(), point(left, base));
    let Some(outline) = font.outline_glyph(glyph) else { return };
    let bounds = outline.px_bounds();
    outline.draw(|x, y, coverage| {
        let (x, y) = (bounds.min.x + x as f32, bounds.min.y + y as f32);
        if x >= 0.0 && y >= 0.0 {
            blend(picture, x as u32, y as u32, color, coverage);
        }
    });
}

/// The arms of a line character: left, right, up, down. Fonts leave gaps between the cells.
fn box_lines(ch: char) -> Option<[bool; 4]> {
    let arms = match ch {
        '─' => "lr",
        '│' => "ud",
        '┌' => "rd",
        '┐' => "ld",
        '└' => "ru",
        '┘' => "lu",
        '├' => "rud",
        '┤' => "lud",
        '┬' => "lrd",
        '┴' => "lru",
        '┼' => "lrud",
        _ => return None,
    };
    Some(['l', 'r', 'u', 'd'].map(|arm| arms.contains(arm)))
}

fn draw_box(picture: &mut RgbImage, (x, y): (u32, u32), [left, right, up, down]: [bool; 4], color: [u8; 3]) {
    let (middle, center) = (x + CELL.0 / 2, y + CELL.1 / 2);
    let arms = [
        (left, (x, center), (CELL.0 / 2 + 1, 1)),
        (right, (middle, center), (CELL.0 / 2, 1)),
        (up, (middle, y), (1, CELL.1 / 2 + 1)),
        (down, (middle, center), (1, CELL.1 / 2)),
    ];
    for (_, from, size) in arms.into_iter().filter(|(is_drawn, ..)| *is_drawn) {
        fill(picture, from, size, color);
    }
}

/// The directions of the arms of a round corner: 1 for right or down, -1 for left or up.
fn round_corner(ch: char) -> Option<(f32, f32)> {
    match ch {
        '╭' => Some((1.0, 1.0)),
        '╮' => Some((-1.0, 1.0)),
        '╰' => Some((1.0, -1.0)),
        '╯' => Some((-1.0, -1.0)),
        _ => None,
    }
}

/// Draws a quarter of a circle whose ends meet the lines of the cells beside and above or below it.
fn draw_round_corner(picture: &mut RgbImage, (x, y): (u32, u32), (across, down): (f32, f32), color: [u8; 3]) {
    let (middle, center) = (x + CELL.0 / 2, y + CELL.1 / 2);
    let radius = CELL.0 as f32 / 2.0;
    let (round_x, round_y) = (middle as f32 + across * radius, center as f32 + down * radius);
    for (px, py) in (y..y + CELL.1).flat_map(|py| (x..x + CELL.0).map(move |px| (px, py))) {
        let (dx, dy) = (px as f32 - round_x, py as f32 - round_y);
        // Outside the quarter only the straight rest of the vertical arm is drawn.
        if dx * across <= 0.0 && dy * down <= 0.0 {
            blend(picture, px, py, color, 1.0 - (dx.hypot(dy) - radius).abs());
        } else if px == middle && dy * down > 0.0 {
            blend(picture, px, py, color, 1.0);
        }
    }
}

/// Writes a picture, as small as PNG gets.
pub(super) fn write(picture: &RgbImage, file: &Path) -> Result<()> {
    let out = std::io::BufWriter::new(std::fs::File::create(file)?);
    let encoder = PngEncoder::new_with_quality(out, CompressionType::Best, FilterType::NoFilter);
    encoder.write_image(picture, picture.width(), picture.height(), image::ExtendedColorType::Rgb8)?;
    Ok(())
}
