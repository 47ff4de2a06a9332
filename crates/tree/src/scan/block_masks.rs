//! Finds the bytes that mean something in a JSON string, for a whole block at once.

use wide::u8x32;

/// The number of bytes compared at once. Most keys, ids and words of a log are shorter.
pub(super) const BLOCK: usize = 32;

/// Bit masks of the bytes of a block that mean something in a string.
pub(super) struct BlockMasks {
    pub(super) quotes: u32,
    pub(super) backslashes: u32,
    pub(super) controls: u32,
    /// The letter of the escape that most texts have: `\n`.
    pub(super) line_feeds: u32,
}

impl BlockMasks {
    #[inline]
    pub(super) fn new(block: [u8; BLOCK]) -> BlockMasks {
        let text = u8x32::new(block);
        let mask = |byte| text.simd_eq(u8x32::splat(byte)).to_bitmask();
        BlockMasks {
            quotes: mask(b'"'),
            backslashes: mask(b'\\'),
            controls: text.min(u8x32::splat(0x1f)).simd_eq(text).to_bitmask(),
            line_feeds: mask(b'n'),
        }
    }

    /// The bytes that follow the backslash of an escape. `is_inside` says whether the first byte does, and then whether the
    /// first byte of the next block does. Needs no branch: in a run of backslashes, every second one is escaped, and a carry
    /// walks along the runs that start at an odd place.
    #[inline]
    pub(super) fn escaped(&self, is_inside: &mut bool) -> u32 {
        const EVEN: u32 = 0x5555_5555;
        let inside = u32::from(*is_inside);
        let backslashes = self.backslashes & !inside;
        let behind = backslashes << 1 | inside;
        let odd_starts = backslashes & !EVEN & !behind;
        let (sum, overflows) = odd_starts.overflowing_add(backslashes);
        *is_inside = overflows;
        (EVEN ^ sum << 1) & behind
    }
}
