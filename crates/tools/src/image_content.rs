//! Images for the model: sent unchanged if providers accept them, otherwise scaled down until they do.

use std::io::Cursor;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader};

use crate::context::ToolLimits;
use crate::outcome::ResultBlock;
use crate::size;

/// An image as it is sent to the model.
#[derive(Debug)]
pub(crate) struct EncodedImage {
    pub(crate) content: ResultBlock,
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// Width and height of the original, if it was scaled down.
    pub(crate) original: Option<(u32, u32)>,
}

/// The image format of a file with these first bytes, if providers accept it.
pub(crate) fn supported_format(start: &[u8]) -> Option<ImageFormat> {
    let accepted = [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP];
    image::guess_format(start).ok().filter(|format| accepted.contains(format))
}

/// Prepares an image for the model. The error says why it cannot be sent.
pub(crate) fn encode_for_model(
    bytes: &[u8],
    format: ImageFormat,
    limits: &ToolLimits,
) -> Result<EncodedImage, String> {
    let broken = |error: image::ImageError| match error {
        image::ImageError::Limits(_) => {
            format!("it is too large: decoding it would take more than {}", size::bytes(MAX_DECODED_BYTES))
        }
        error => format!("it cannot be decoded: {error}"),
    };
    // Decoded even if it is sent unchanged: a provider that rejects the image would reject every later request as well.
    let image = decode(bytes, format).map_err(broken)?;
    let (width, height) = (image.width(), image.height());
    if width.max(height) <= limits.image_side && encoded_len(bytes.len()) <= limits.image_bytes {
        let content = image_block(bytes, format);
        return Ok(EncodedImage { content, width, height, original: None });
    }
    let (content, image) = scale_down(image, limits).ok_or("it cannot be made small enough")?;
    Ok(EncodedImage {
        content,
        width: image.width(),
        height: image.height(),
        original: Some((width, height)),
    })
}

/// The most memory for a decoded image: 8000 × 4000 pixels with four bytes each. Scaling it down takes as much again.
const MAX_DECODED_BYTES: u64 = 128 << 20;

/// Limits memory, because a small file may claim to decode to gigabytes.
fn image_reader(bytes: &[u8], format: ImageFormat) -> ImageReader<Cursor<&[u8]>> {
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut limits = image::Limits::default();
    limits.max_alloc = Some(MAX_DECODED_BYTES);
    reader.limits(limits);
    reader
}

fn decode(bytes: &[u8], format: ImageFormat) -> image::ImageResult<DynamicImage> {
    let mut decoder = image_reader(bytes, format).into_decoder()?;
    if decoder.total_bytes() > MAX_DECODED_BYTES {
        let kind = image::error::LimitErrorKind::InsufficientMemory;
        return Err(image::ImageError::Limits(image::error::LimitError::from_kind(kind)));
    }
    let orientation = decoder.orientation()?;
    let mut image = DynamicImage::from_decoder(decoder)?;
    image.apply_orientation(orientation);
    Ok(image)
}

/// Reduces the size to the limit, then the quality, then the size again.
fn scale_down(image: DynamicImage, limits: &ToolLimits) -> Option<(ResultBlock, DynamicImage)> {
    let mut side = limits.image_side.min(image.width().max(image.height()));
    while side >= 16 {
        let image = match image.width().max(image.height()) > side {
            true => image.resize(side, side, FilterType::CatmullRom),
            false => image.clone(),
        };
        if let Some(content) = encode(&image, limits.image_bytes) {
            return Some((content, image));
        }
        side = side * 3 / 4;
    }
    None
}

fn encode(image: &DynamicImage, most: usize) -> Option<ResultBlock> {
    let mut png = Vec::new();
    let fits = |bytes: &Vec<u8>| !bytes.is_empty() && encoded_len(bytes.len()) <= most;
    if image.write_to(&mut Cursor::new(&mut png), ImageFormat::Png).is_ok() && fits(&png) {
        return Some(image_block(&png, ImageFormat::Png));
    }
    if image.color().has_alpha() {
        return None;
    }
    [85, 70, 50].into_iter().find_map(|quality| {
        let mut jpeg = Vec::new();
        image.to_rgb8().write_with_encoder(JpegEncoder::new_with_quality(&mut jpeg, quality)).ok()?;
        fits(&jpeg).then(|| image_block(&jpeg, ImageFormat::Jpeg))
    })
}

fn encoded_len(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}

fn image_block(bytes: &[u8], format: ImageFormat) -> ResultBlock {
    ResultBlock::Image { data: STANDARD.encode(bytes), mime_type: format.to_mime_type().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::{Rgb, RgbImage};

    fn noise(width: u32, height: u32) -> DynamicImage {
        let mut state = 1u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        DynamicImage::ImageRgb8(RgbImage::from_fn(width, height, |_, _| Rgb([next(), next(), next()])))
    }

    fn file(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
        let mut bytes = Vec::new();
        image.write_to(&mut Cursor::new(&mut bytes), format).unwrap();
        bytes
    }

    fn sent(content: &ResultBlock) -> (Vec<u8>, &str) {
        match content {
            ResultBlock::Image { data, mime_type } => (STANDARD.decode(data).unwrap(), mime_type),
            ResultBlock::Text { text } => panic!("not an image: {text}"),
        }
    }

    #[test]
    fn image_within_the_limits_is_sent_unchanged() {
        for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP] {
            let bytes = file(&noise(8, 4), format);
            assert_eq!(supported_format(&bytes), Some(format));
            let picture = encode_for_model(&bytes, format, &ToolLimits::default()).unwrap();
            assert_eq!(sent(&picture.content), (bytes, format.to_mime_type()));
            assert_eq!((picture.width, picture.height, picture.original), (8, 4, None));
        }
    }

    #[test]
    fn large_image_is_scaled_down_proportionally() {
        let limits = ToolLimits { image_side: 100, ..ToolLimits::default() };
        let picture =
            encode_for_model(&file(&noise(400, 200), ImageFormat::Png), ImageFormat::Png, &limits).unwrap();
        assert_eq!((picture.width, picture.height, picture.original), (100, 50, Some((400, 200))));
        let (bytes, _) = sent(&picture.content);
        let again = image::load_from_memory(&bytes).unwrap();
        assert_eq!((again.width(), again.height()), (100, 50));
    }

    #[test]
    fn image_with_too_many_bytes_loses_quality_then_size() {
        let bytes = file(&noise(200, 200), ImageFormat::Png);
        let jpeg = ToolLimits { image_bytes: 60_000, ..ToolLimits::default() };
        let first = encode_for_model(&bytes, ImageFormat::Png, &jpeg).unwrap();
        assert_eq!((sent(&first.content).1, first.width), ("image/jpeg", 200));
        let tiny = ToolLimits { image_bytes: 4_000, ..ToolLimits::default() };
        let second = encode_for_model(&bytes, ImageFormat::Png, &tiny).unwrap();
        assert!(second.width < 200 && encoded_len(sent(&second.content).0.len()) <= 4_000);
    }

    #[test]
    fn broken_image_is_an_error() {
        let mut bytes = file(&noise(64, 64), ImageFormat::Png);
        bytes.truncate(bytes.len() / 2);
        let error = encode_for_model(&bytes, ImageFormat::Png, &ToolLimits::default()).unwrap_err();
        assert!(error.starts_with("it cannot be decoded"), "{error}");
    }

    #[test]
    fn decompression_bomb_is_refused_before_decoding() {
        let mut png = Vec::new();
        let black = image::GrayImage::new(16_000, 9_000);
        DynamicImage::ImageLuma8(black).write_to(&mut Cursor::new(&mut png), ImageFormat::Png).unwrap();
        assert!(png.len() < 1 << 20, "{}", png.len());
        let refused = encode_for_model(&png, ImageFormat::Png, &ToolLimits::default()).unwrap_err();
        assert_eq!(refused, "it is too large: decoding it would take more than 128.0 MB");
    }
}
