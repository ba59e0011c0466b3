//! Names and uids that the server makes up, from the seed.

use crate::server::ApiServer;

impl ApiServer {
    /// SplitMix64.
    pub(crate) fn random(&mut self) -> u64 {
        self.rng = self.rng.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.rng;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A version 4 UUID.
    pub(crate) fn uid(&mut self) -> String {
        let (a, b) = (self.random(), self.random());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            a >> 32,
            (a >> 16) & 0xffff,
            a & 0xfff,
            0x8000 | ((b >> 48) & 0x3fff),
            b & 0xffff_ffff_ffff
        )
    }

    /// A name from `generateName` (apiserver `pkg/storage/names/generate.go`).
    pub(crate) fn generate_name(&mut self, prefix: &str) -> String {
        const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        let mut end = prefix.len().min(58);
        while !prefix.is_char_boundary(end) {
            end -= 1;
        }
        let mut name = prefix[..end].to_owned();
        if self.faults.collide_names() {
            name.push_str("bbbbb");
            return name;
        }
        for _ in 0..5 {
            let i = usize::try_from(self.random() % ALPHABET.len() as u64).unwrap_or(0);
            name.push(char::from(ALPHABET[i]));
        }
        name
    }
}
