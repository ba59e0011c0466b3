//! Gathering a short answer.

use alloc::vec::Vec;

use super::{Failure, Head, Outcome, Response};

/// Gathers the pieces of one short answer, up to a bound.
#[derive(Debug)]
pub struct Collector {
    bound: usize,
    head: Option<Head>,
    body: Vec<u8>,
    too_large: bool,
}

impl Collector {
    /// Gathers up to `bound` bytes of body ([`Limits::answer_bytes`](crate::limits::Limits::answer_bytes)).
    pub fn new(bound: usize) -> Self {
        Self { bound, head: None, body: Vec::new(), too_large: false }
    }

    /// Takes the head. Of several the last one counts.
    pub fn handle_head(&mut self, head: Head) {
        self.head = Some(head);
    }

    /// Takes a piece of the body. Work and memory are bounded by its length; past the bound it is dropped.
    pub fn handle_body(&mut self, bytes: &[u8]) {
        if self.too_large || bytes.len() > self.bound - self.body.len() {
            self.too_large = true;
            self.body = Vec::new();
        } else {
            self.body.extend_from_slice(bytes);
        }
    }

    /// The outcome, once the answer has ended well. An end without a head counts as a lost connection.
    pub fn finish(self) -> Outcome {
        match self.head {
            None => Outcome::Failed(Failure::Cut),
            Some(_) if self.too_large => Outcome::Failed(Failure::TooLarge),
            Some(head) => Outcome::Response(Response { head, body: self.body }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OK: Head = Head::new(200);

    #[test]
    fn pieces_become_one_answer() {
        let mut answer = Collector::new(4);
        answer.handle_head(OK);
        answer.handle_body(b"ab");
        answer.handle_body(b"cd");
        assert_eq!(answer.finish(), Outcome::Response(Response { head: OK, body: b"abcd".to_vec() }));
    }

    #[test]
    fn an_answer_past_the_bound_is_dropped_and_stays_dropped() {
        let mut answer = Collector::new(3);
        answer.handle_head(OK);
        for piece in [&b"abcd"[..], b"e", b""] {
            answer.handle_body(piece);
        }
        assert_eq!(answer.finish(), Outcome::Failed(Failure::TooLarge));
    }

    #[test]
    fn an_end_without_a_head_is_a_lost_connection() {
        assert_eq!(Collector::new(3).finish(), Outcome::Failed(Failure::Cut));
    }
}
