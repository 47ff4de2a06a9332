//! Texts with damage that looks random, the same in every run: what a reader may get from a broken or hostile program.

/// See the module documentation.
#[derive(Debug)]
pub struct DamagedTexts(u64);

impl DamagedTexts {
    /// `seed` must not be 0.
    pub fn new(seed: u64) -> DamagedTexts {
        DamagedTexts(seed)
    }

    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or_default() % below.max(1)
    }

    /// One of the texts with some bytes replaced, removed or repeated.
    pub fn damage_one_of(&mut self, texts: &[impl AsRef<str>]) -> Vec<u8> {
        let at = self.next(texts.len());
        self.damage(texts[at].as_ref())
    }

    fn damage(&mut self, text: &str) -> Vec<u8> {
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..=self.next(4) {
            let at = self.next(bytes.len());
            match self.next(4) {
                0 => bytes.truncate(at),
                1 => bytes[at] = self.next(256).to_le_bytes()[0],
                2 => drop(bytes.remove(at)),
                _ => bytes.extend_from_within(at..),
            }
            if bytes.is_empty() {
                break;
            }
        }
        bytes
    }
}
