//! Pseudo-random numbers for file contents and places: the same on every host for a seed, and incompressible, so that no layer below
//! can cheat by compression or deduplication. Not for secrets.

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014), with the constants of Vigna's version.
#[derive(Debug, Clone)]
pub struct Noise(u64);

impl Noise {
    /// A stream for a seed.
    pub fn new(seed: u64) -> Self {
        Noise(seed)
    }

    /// A stream for a seed and a name, so that files of one tree differ.
    pub fn named(name: &str) -> Self {
        // FNV-1a, 64 bits (RFC 9923).
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        Noise(hash)
    }

    /// The next 64 bits.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is not 0. The bias of this multiplication (Lemire 2019) is below 2^-40 for any file there is.
    pub fn below(&mut self, bound: u64) -> u64 {
        u64::try_from((u128::from(self.draw()) * u128::from(bound)) >> 64).expect("the high half of a product fits")
    }

    /// Fills a buffer.
    pub fn fill(&mut self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(8) {
            let bytes = self.draw().to_le_bytes();
            chunk.copy_from_slice(&bytes[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_sequence() {
        // First outputs of Vigna's splitmix64.c for the seed 1234567.
        let mut noise = Noise::new(1_234_567);
        assert_eq!([noise.draw(), noise.draw()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    #[test]
    fn bounded_and_different_by_name() {
        let mut noise = Noise::named("a");
        assert!((0..1000).all(|_| noise.below(7) < 7));
        let (mut a, mut b) = ([0; 13], [0; 13]);
        Noise::named("a").fill(&mut a);
        Noise::named("b").fill(&mut b);
        assert_ne!(a, b);
    }
}
