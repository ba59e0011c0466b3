//! The search: breadth first, each state once, so that what fails is found in as few steps as it takes.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Bounds;
use super::choice::Choice;
use super::graph::{Graph, State};
use super::scene::Scene;
use crate::check::Violation;

/// What was explored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explored {
    /// States, each of them once.
    pub states: usize,
    /// Steps from a state to another.
    pub steps: u64,
    /// How many choices the state that is farthest off is from the first one.
    pub depth: u32,
    /// Ends: states in which nothing happens any more without users and faults. In all of them the cluster is as it should be.
    pub ends: usize,
    /// States that were not gone on from, because they are as deep as was asked for.
    pub left: usize,
}

/// Something that does not hold, and how it comes about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What does not hold.
    pub violation: Violation,
    /// What happened, from the beginning.
    pub path: Vec<String>,
}

/// One of the choices of a state, and how many timers run out with it.
type Taken = (u16, Option<u16>);

/// How a state was found: from which, and by which of its choices.
type Parent = Option<(State, Taken)>;

/// Explores a world. `progress` is told after each level of depth.
///
/// A state is not kept but found again: by taking the same choices from the beginning.
///
/// # Errors
/// Something does not hold.
pub fn explore(bounds: &Bounds, mut progress: impl FnMut(&Explored)) -> Result<Explored, Box<Failure>> {
    let fail = |path: Vec<Taken>, violation| Box::new(Failure { violation, path: tell(bounds, &path) });
    let scene = guarded(|| Scene::new(bounds)).map_err(|violation| fail(Vec::new(), violation))?;
    let mut parents: Vec<Parent> = vec![None];
    let mut counts = vec![scene.choices().len() as u16];
    let mut known = HashMap::from([(scene.fingerprint(), 0)]);
    let mut graph = Graph::default();
    let mut explored = Explored { states: 1, left: 1, ..Explored::default() };
    let mut level: Vec<State> = vec![0];
    while !level.is_empty() && explored.depth < bounds.depth {
        let mut next = Vec::new();
        for state in level {
            let path = path_to(&parents, state);
            let mut choices: Vec<(Choice, State)> = Vec::new();
            for nth in 0..counts[state as usize] {
                let taken = guarded(|| step(bounds, &path, nth));
                let Step { choice, rounds, found, count, is_end } =
                    taken.map_err(|violation| fail([&*path, &[(nth, None)]].concat(), violation))?;
                explored.steps += 1;
                let to = match known.entry(found) {
                    Entry::Occupied(entry) => *entry.get(),
                    Entry::Vacant(entry) => {
                        let to = parents.len() as State;
                        parents.push(Some((state, (nth, Some(rounds)))));
                        counts.push(count);
                        next.push(to);
                        explored.states += 1;
                        explored.ends += usize::from(is_end);
                        *entry.insert(to)
                    }
                };
                choices.push((choice, to));
            }
            graph.add(state, &choices);
        }
        level = next;
        explored.depth += u32::from(!level.is_empty());
        explored.left = level.len();
        progress(&explored);
    }
    let hot = graph.find_hot_loop().map(|states| (states, "it goes round while no time goes by"));
    if let Some((states, what)) = hot.or_else(|| graph.find_endless().map(|states| (states, "it goes round for ever")))
    {
        let violation =
            Violation::new("the cluster comes to rest", format_args!("{what}, by the last {}", states.len()));
        let path = path_to(&parents, states[0]).into_iter().chain(graph.choices(&states).map(|nth| (nth, None)));
        return Err(fail(path.collect(), violation));
    }
    Ok(explored)
}

/// Where a choice leads.
struct Step {
    choice: Choice,
    /// How many timers ran out.
    rounds: u16,
    found: u128,
    /// How many choices there are.
    count: u16,
    is_end: bool,
}

/// Takes one of the choices at the end of a path.
fn step(bounds: &Bounds, path: &[Taken], nth: u16) -> Result<Step, Violation> {
    let mut scene = replay(bounds, path)?;
    let choice = scene.choices().swap_remove(usize::from(nth));
    let rounds = scene.take(&choice, None)?;
    let choices = scene.choices();
    let is_end = !choices.first().is_some_and(Choice::is_forced);
    match scene.why_unsettled().filter(|_| is_end) {
        Some(why) => Err(Violation::new("the cluster becomes as it should be", why)),
        None => Ok(Step { choice, rounds, found: scene.fingerprint(), count: choices.len() as u16, is_end }),
    }
}

fn path_to(parents: &[Parent], mut state: State) -> Vec<Taken> {
    let mut path = Vec::new();
    while let Some((parent, taken)) = parents[state as usize] {
        path.push(taken);
        state = parent;
    }
    path.reverse();
    path
}

fn replay(bounds: &Bounds, path: &[Taken]) -> Result<Scene, Violation> {
    let mut scene = Scene::new(bounds)?;
    for (nth, rounds) in path {
        let choice = scene.choices().swap_remove(usize::from(*nth));
        scene.take(&choice, *rounds)?;
    }
    Ok(scene)
}

/// What happens on a path, in words.
fn tell(bounds: &Bounds, path: &[Taken]) -> Vec<String> {
    let mut told = Vec::new();
    // It ends in what does not hold.
    let _ = guarded(|| {
        let mut scene = Scene::new(bounds)?;
        for (nth, rounds) in path {
            let choice = scene.choices().swap_remove(usize::from(*nth));
            told.push(scene.describe(&choice));
            scene.take(&choice, *rounds)?;
        }
        Ok(())
    });
    told
}

/// Does something; a panic is wrong, too.
fn guarded<T>(what: impl FnOnce() -> Result<T, Violation>) -> Result<T, Violation> {
    catch_unwind(AssertUnwindSafe(what)).unwrap_or_else(|panic| Err(Violation::of_panic(&*panic)))
}
