//! A driver for stable Rust: a corpus, and inputs that derive from it by a seed.

use std::fs;
use std::path::{Path, PathBuf};

use sanskube::rand::SplitMix64;

/// Where the corpus of a target is.
pub fn corpus_folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target)
}

/// The corpus of a target, by rising file name.
///
/// # Panics
/// If it cannot be read.
pub fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = corpus_folder(target);
    let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let paths = entries.map(|entry| entry.expect("a folder's entry can be read").path());
    let read = |path: PathBuf| {
        let name = path.file_name().expect("a file has a name").to_string_lossy().into_owned();
        (name, fs::read(&path).expect("a file of the corpus can be read"))
    };
    let mut files: Vec<_> = paths.map(read).collect();
    files.sort();
    files
}

/// An endless series of inputs: each is one of a corpus, changed in a few places. The same seed gives the same series.
#[derive(Debug)]
pub struct Mutations {
    corpus: Vec<Vec<u8>>,
    random: SplitMix64,
}

/// What stands in the places where bounds are.
const EDGES: [&[u8]; 12] = [
    b"0",
    b"-1",
    b"9223372036854775807",
    b"18446744073709551616",
    b"null",
    b"\"\"",
    b"{}",
    b"[",
    b"\\u0000",
    b"\xff\xff\xff\xff",
    b"\0\0\0\0",
    b"\r\n",
];

impl Mutations {
    /// Inputs that derive from this corpus, which may be empty.
    pub const fn new(corpus: Vec<Vec<u8>>, seed: u64) -> Self {
        Self { corpus, random: SplitMix64::new(seed) }
    }

    /// The next input.
    pub fn next_input(&mut self) -> Vec<u8> {
        let mut input = self.example();
        for _ in 0..1 << self.below(5) {
            self.change(&mut input);
        }
        input
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.random.next_u64() % bound as u64) as usize
    }

    fn noise(&mut self, most: usize) -> Vec<u8> {
        (0..self.below(most)).map(|_| self.random.next_u64() as u8).collect()
    }

    fn example(&mut self) -> Vec<u8> {
        if self.corpus.is_empty() || self.below(10) == 0 {
            return self.noise(300);
        }
        let nth = self.below(self.corpus.len());
        self.corpus[nth].clone()
    }

    fn range(&mut self, input: &[u8]) -> core::ops::Range<usize> {
        let start = self.below(input.len() + 1);
        let most = 1 << self.below(10);
        let length = self.below((input.len() - start).min(most) + 1);
        start..start + length
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let range = self.range(input);
        match self.below(8) {
            0 | 1 => {
                for byte in &mut input[range.start..range.end.min(range.start + 4)] {
                    *byte = self.random.next_u64() as u8;
                }
            }
            2 => drop(input.drain(range)),
            3 => {
                let again = input[range.clone()].to_vec();
                input.splice(range.start..range.start, again);
            }
            4 => {
                let edge = EDGES[self.below(EDGES.len())];
                input.splice(range, edge.iter().copied());
            }
            5 => {
                let noise = self.noise(20);
                input.splice(range.start..range.start, noise);
            }
            6 => {
                let other = self.example();
                let part = self.range(&other);
                input.splice(range, other[part].iter().copied());
            }
            _ => {
                if let Some(byte) = input.get_mut(range.start) {
                    *byte ^= 1 << self.below(8);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_inputs_and_most_of_them_are_new() {
        let series = |seed| {
            let mut mutations = Mutations::new(vec![b"{\"a\":1}".to_vec(), b"[1,2,3]".to_vec()], seed);
            (0..500).map(|_| mutations.next_input()).collect::<Vec<_>>()
        };
        assert_eq!(series(1), series(1));
        let mut inputs = series(1);
        inputs.extend(series(2));
        inputs.sort();
        inputs.dedup();
        assert!(inputs.len() > 800, "{}", inputs.len());
    }
}
