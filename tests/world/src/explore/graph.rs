//! The graph of states, and what must hold of it as a whole.
//!
//! Without users and faults everything comes to an end, whatever the order; and where one thing always comes before another, the clock being
//! last, it ends as it should. States that are an end are looked at when they are found; here it is shown that there is always an end.

use super::choice::Choice;

/// A state, by when it was found.
pub(super) type State = u32;

/// Where the choices of each state lead.
#[derive(Debug, Default)]
pub(super) struct Graph {
    /// For each state what happens without users and faults, and where that leads: of those that were gone on from.
    edges: Vec<Option<Vec<Edge>>>,
}

#[derive(Clone, Copy, Debug)]
struct Edge {
    to: State,
    /// Whether time goes by: a timer runs out, or the garbage collector comes.
    waits: bool,
}

impl Graph {
    /// Notes where the choices of a state lead, in their order.
    pub(super) fn add(&mut self, from: State, choices: &[(Choice, State)]) {
        let forced = choices.iter().filter(|(choice, _)| choice.is_forced());
        let edges =
            forced.map(|(choice, to)| Edge { to: *to, waits: matches!(choice, Choice::Server | Choice::Wake(_)) });
        let from = from as usize;
        if self.edges.len() <= from {
            self.edges.resize(from + 1, None);
        }
        self.edges[from] = Some(edges.collect());
    }

    /// States through which the world can go round while no time goes by, and without a user or a fault.
    pub(super) fn find_hot_loop(&self) -> Option<Vec<State>> {
        self.find_loop(|edges| edges.iter().filter(|edge| !edge.waits).map(|edge| edge.to).collect())
    }

    /// States through which the world goes round if what can happen without a timer always happens first.
    pub(super) fn find_endless(&self) -> Option<Vec<State>> {
        self.find_loop(|edges| edges.first().map(|edge| edge.to).into_iter().collect())
    }

    /// Which choices lead round a loop.
    pub(super) fn choices(&self, round: &[State]) -> impl Iterator<Item = u16> {
        let next = round.iter().cycle().skip(1);
        round.iter().zip(next).filter_map(|(from, to)| {
            let edges = self.edges.get(*from as usize)?.as_ref()?;
            // What happens without users and faults are the first choices.
            edges.iter().position(|edge| edge.to == *to).and_then(|nth| u16::try_from(nth).ok())
        })
    }

    /// A loop of some of the edges.
    fn find_loop(&self, follow: impl Fn(&[Edge]) -> Vec<State>) -> Option<Vec<State>> {
        let next = |state: State| {
            let edges = self.edges.get(state as usize).and_then(Option::as_ref);
            edges.map_or_else(Vec::new, |edges| follow(edges))
        };
        let mut marks = vec![Mark::New; self.edges.len()];
        for start in 0..self.edges.len() as State {
            if marks[start as usize] != Mark::New {
                continue;
            }
            marks[start as usize] = Mark::Open;
            let mut path = vec![(start, next(start))];
            while let Some((state, left)) = path.last_mut() {
                let Some(to) = left.pop() else {
                    marks[*state as usize] = Mark::Done;
                    path.pop();
                    continue;
                };
                match marks.get(to as usize) {
                    Some(Mark::Open) => {
                        let states = path.iter().map(|(state, _)| *state);
                        return Some(states.skip_while(|state| *state != to).collect());
                    }
                    Some(Mark::New) => {
                        marks[to as usize] = Mark::Open;
                        path.push((to, next(to)));
                    }
                    // Not gone on from.
                    Some(Mark::Done) | None => {}
                }
            }
        }
        None
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Done,
    New,
    Open,
}

#[cfg(test)]
mod tests {
    use sanskube::request::CallId;

    use super::*;
    use crate::client::ClientId;

    #[test]
    fn a_loop_is_hot_if_no_time_goes_by_and_endless_if_nothing_else_can_happen() {
        let (arrival, wake) = (Choice::Answer(ClientId(0), CallId(0)), Choice::Wake(ClientId(0)));
        let mut graph = Graph::default();
        graph.add(0, &[(arrival.clone(), 1), (wake.clone(), 0)]);
        assert_eq!((graph.find_hot_loop(), graph.find_endless()), (None, None));
        graph.add(1, &[(wake, 0)]);
        assert_eq!((graph.find_hot_loop(), graph.find_endless()), (None, Some(vec![0, 1])));
        graph.add(1, &[(arrival, 0)]);
        assert_eq!(graph.find_hot_loop(), Some(vec![0, 1]));
        assert_eq!(graph.choices(&[0, 1]).collect::<Vec<_>>(), [0, 0]);
    }
}
