//! Signatures of texts: a small set of the trigrams of a text. It tells, without the text, that a word is not in it.
//!
//! A trigram is any three consecutive bytes, so that a signature works for every language and for parts of words.

/// The number of different trigrams.
const TRIGRAMS: usize = 1 << 24;

/// The size of a signature in bits, per trigram that it contains. About one word in `4^(length - 2)` seems to be in the
/// text although it is not.
const BITS_PER_TRIGRAM: usize = 4;
const MIN_BITS: usize = 256;

/// Builds the signatures of texts, one after another. Reuse it: it has a large table.
#[derive(Debug)]
pub struct SignatureBuilder {
    /// One bit per trigram.
    seen: Vec<u64>,
    trigrams: Vec<u32>,
}

impl Default for SignatureBuilder {
    fn default() -> SignatureBuilder {
        SignatureBuilder { seen: vec![0; TRIGRAMS / 64], trigrams: Vec::new() }
    }
}

impl SignatureBuilder {
    /// Adds a part of the text. No word is found across two parts.
    pub fn add(&mut self, text: &str) {
        for trigram in trigrams(text) {
            let (word, bit) = (trigram as usize / 64, 1 << (trigram % 64));
            if self.seen[word] & bit == 0 {
                self.seen[word] |= bit;
                self.trigrams.push(trigram);
            }
        }
    }

    /// Returns the signature of the added text, and starts the next one.
    pub fn finish(&mut self) -> Vec<u8> {
        let bits = (self.trigrams.len() * BITS_PER_TRIGRAM).next_power_of_two().max(MIN_BITS);
        let mut signature = vec![0; bits / 8];
        for trigram in self.trigrams.drain(..) {
            self.seen[trigram as usize / 64] = 0;
            let bit = bit_of(trigram, bits);
            signature[bit / 8] |= 1 << (bit % 8);
        }
        signature
    }
}

/// Whether the text may contain `word`. Never false if it does. A word of less than three bytes may be in any text.
pub fn may_contain(signature: &[u8], word: &str) -> bool {
    let bits = signature.len() * 8;
    if bits < MIN_BITS || !bits.is_power_of_two() {
        return true;
    }
    trigrams(word).all(|trigram| {
        let bit = bit_of(trigram, bits);
        signature[bit / 8] & 1 << (bit % 8) != 0
    })
}

fn trigrams(text: &str) -> impl Iterator<Item = u32> {
    text.as_bytes().windows(3).map(|bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]))
}

fn bit_of(trigram: u32, bits: usize) -> usize {
    (trigram.wrapping_mul(0x9E37_79B1) >> (32 - bits.trailing_zeros())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn signature(parts: &[&str]) -> Vec<u8> {
        let mut builder = SignatureBuilder::default();
        builder.add("the text before");
        builder.finish();
        parts.iter().for_each(|part| builder.add(part));
        builder.finish()
    }

    #[test]
    fn a_signature_excludes_most_words_that_are_not_in_the_text() {
        let of = signature(&["the parser reads each line", "光标分页"]);
        for word in ["parser", "arse", "光", "标分", "e", ""] {
            assert!(may_contain(&of, word), "{word}");
        }
        for word in ["cursor", "before", "鼠标"] {
            assert!(!may_contain(&of, word), "{word}");
        }
        assert!(may_contain(b"damaged", "cursor"), "a signature of a wrong size excludes nothing");
    }

    proptest! {
        #[test]
        fn every_part_of_a_text_may_be_in_it(text in any::<String>(), other in any::<String>(), cut in any::<(usize, usize)>()) {
            let of = signature(&[&text, &other]);
            let chars: Vec<char> = text.chars().collect();
            let from = cut.0 % (chars.len() + 1);
            let word: String = chars[from..].iter().take(cut.1 % 9).collect();
            prop_assert!(may_contain(&of, &word));
        }
    }
}
