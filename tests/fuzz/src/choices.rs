//! Decisions, drawn from bytes.

/// Turns the bytes of an input into decisions. Once they are used up, every decision is the first one.
///
/// One byte decides one thing wherever that is enough, so that a fuzzer that changes a byte changes a decision.
#[derive(Clone, Debug)]
pub(crate) struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    /// The decisions that these bytes stand for.
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The next byte; zero where there is none.
    pub(crate) fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    /// A number below `bound`, which is not zero.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let bytes = if bound <= 256 { 1 } else { 3 };
        (0..bytes).fold(0, |number, _| number << 8 | usize::from(self.byte())) % bound
    }

    /// Whether something of so many per cent happens.
    pub(crate) fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of the things, of which there is at least one.
    pub(crate) fn pick<'t, T>(&mut self, things: &'t [T]) -> &'t T {
        &things[self.below(things.len())]
    }

    /// The next bytes as they are, at most so many.
    pub(crate) fn take(&mut self, most: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(most.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// All that is left, as it is.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        self.take(usize::MAX)
    }

    /// Whether everything is decided.
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Cuts bytes into pieces whose lengths `choices` decide.
pub(crate) fn pieces<'b>(bytes: &'b [u8], choices: &mut Choices<'_>) -> Vec<&'b [u8]> {
    let mut rest = bytes;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let length = match choices.byte() {
            0 => rest.len(),
            length @ 1..=200 => usize::from(length),
            length => usize::from(length - 200) * 100,
        };
        let (piece, after) = rest.split_at(length.min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// What a reader finds in pieces, which it uses up unless it fails, and how it failed.
pub(crate) fn read_pieces<E>(
    pieces: &[&[u8]],
    mut next: impl FnMut(&mut &[u8]) -> Result<Option<Vec<u8>>, E>,
) -> (Vec<Vec<u8>>, Result<(), E>) {
    let mut found = Vec::new();
    for piece in pieces {
        let mut piece = *piece;
        loop {
            match next(&mut piece) {
                Ok(Some(one)) => found.push(one),
                Ok(None) => break,
                Err(e) => return (found, Err(e)),
            }
        }
        assert!(piece.is_empty(), "a piece is used up");
    }
    (found, Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_is_a_decision_and_none_is_the_first_one() {
        let mut choices = Choices::new(&[5, 99, 1, 0, 0, b'a', b'b']);
        assert_eq!((choices.below(4), choices.percent(50), choices.below(1 << 20)), (1, false, 1 << 16));
        assert_eq!((choices.take(1), choices.is_empty(), choices.rest()), (&b"a"[..], false, &b"b"[..]));
        assert_eq!((choices.is_empty(), choices.byte(), *choices.pick(&['x', 'y'])), (true, 0, 'x'));
    }

    #[test]
    fn pieces_are_the_whole() {
        let bytes: Vec<u8> = (0..=255).collect();
        let cut = pieces(&bytes, &mut Choices::new(&[1, 7, 201]));
        assert_eq!(cut.iter().map(|piece| piece.len()).collect::<Vec<_>>(), [1, 7, 100, 148]);
        assert_eq!(cut.concat(), bytes);
    }
}
