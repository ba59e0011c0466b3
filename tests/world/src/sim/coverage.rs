//! Coverage: which faults met which states of a controller.

use std::collections::BTreeMap;
use std::fmt;

use sanskube::request::Method;

use crate::client::ClientId;
use crate::member::Member;
use crate::world::World;

/// The states of who takes part, as a fault may meet them.
const STATES: [&str; 10] =
    ["gone", "observer", "asleep", "no leader", "listing", "claiming", "creating", "deleting", "writing", "idle"];

/// How often each kind of fault met each state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage(BTreeMap<&'static str, [u64; STATES.len()]>);

impl Coverage {
    /// Notes that a fault strikes one who takes part, as it is now; or nobody, as no controller runs.
    pub(crate) fn note(&mut self, kind: &'static str, world: &World<Member>, id: Option<ClientId>) {
        let state = state_of(world, id);
        if let Some(place) = STATES.iter().position(|name| *name == state) {
            self.0.entry(kind).or_default()[place] += 1;
        }
    }

    /// Adds what another run covered.
    pub fn add(&mut self, other: &Self) {
        for (kind, counts) in &other.0 {
            let sums = self.0.entry(kind).or_default();
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
    }

    /// The kinds of faults that have struck.
    pub fn kinds(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().copied()
    }

    /// The states of a controller that were met by any fault.
    pub fn states(&self) -> impl Iterator<Item = &'static str> {
        let met = |place: &usize| self.0.values().any(|counts| counts[*place] > 0);
        (0..STATES.len()).filter(met).map(|place| STATES[place])
    }
}

fn state_of(world: &World<Member>, id: Option<ClientId>) -> &'static str {
    let Some((id, member)) = id.and_then(|id| Some((id, world.machine(id)?))) else { return "gone" };
    if world.is_stopped(id) {
        return "gone";
    }
    let Some(manager) = member.manager() else { return "observer" };
    if world.is_suspended(id) {
        return "asleep";
    }
    if !manager.has_synced() {
        return if world.lines(id).any(|(_, line)| line.request.path.contains("?")) { "listing" } else { "no leader" };
    }
    let states = world.lines(id).filter_map(|(_, line)| {
        let path = line.request.path.as_str();
        match line.request.method {
            Method::Post if path.ends_with("/pods") => Some("creating"),
            Method::Delete => Some("deleting"),
            Method::Patch if path.contains("/pods/") => Some("claiming"),
            Method::Get if path.contains("/namespaces/") && !path.contains("/leases") => Some("claiming"),
            Method::Put if path.ends_with("/status") => Some("writing"),
            _ => None,
        }
    });
    states.min_by_key(|state| STATES.iter().position(|name| name == state)).unwrap_or("idle")
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<26}", "fault \\ controller")?;
        STATES.iter().try_for_each(|state| write!(f, "{state:>11}"))?;
        for (kind, counts) in &self.0 {
            write!(f, "\n{kind:<26}")?;
            counts.iter().try_for_each(|count| write!(f, "{count:>11}"))?;
        }
        Ok(())
    }
}
