//! SplitMix64 by Steele, Lea and Flood, a pseudorandom generator with a reproducible seed.

/// The generator. Every seed is valid.
pub(crate) struct SplitMix64(pub(crate) u64);

impl SplitMix64 {
    /// Returns the next number of the sequence; equal seeds give equal sequences.
    pub(crate) fn next_number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
