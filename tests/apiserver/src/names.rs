//! Names and uids that the server makes up, from the seed.

use crate::server::ApiServer;

const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// The suffix of the name number `nth`; up to some millions the order is that of the numbers.
fn in_order(nth: u64) -> String {
    let mut digits = ALPHABET.to_vec();
    digits.sort_unstable();
    let base = digits.len() as u64;
    let digit = |place: u32| digits[usize::try_from(nth / base.pow(place) % base).unwrap_or(0)];
    (0..5).rev().map(|place| char::from(digit(place))).collect()
}

impl ApiServer {
    /// SplitMix64.
    pub(crate) fn random(&mut self) -> u64 {
        self.rng = self.rng.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.rng;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The next number.
    fn next(&mut self) -> u64 {
        self.rng = self.rng.wrapping_add(1);
        self.rng
    }

    /// A version 4 UUID.
    pub(crate) fn uid(&mut self) -> String {
        if self.config.names_in_order {
            return format!("00000000-0000-4000-8000-{:012x}", self.next() & 0xffff_ffff_ffff);
        }
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
        let mut end = prefix.len().min(58);
        while !prefix.is_char_boundary(end) {
            end -= 1;
        }
        let mut name = prefix[..end].to_owned();
        if self.faults.collide_names() {
            name.push_str("bbbbb");
            return name;
        }
        if self.config.names_in_order {
            name.push_str(&in_order(self.next()));
            return name;
        }
        for _ in 0..5 {
            let i = usize::try_from(self.random() % ALPHABET.len() as u64).unwrap_or(0);
            name.push(char::from(ALPHABET[i]));
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::in_order;

    #[test]
    fn names_in_order_are_in_the_order_of_their_numbers() {
        let names: Vec<String> = (0..2000).map(in_order).collect();
        assert!(names.is_sorted() && names.iter().all(|name| name.len() == 5), "{names:?}");
        assert_eq!((&*names[0], &*names[27]), ("22222", "22242"));
    }
}
