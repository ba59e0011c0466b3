//! No handler loses an event: what it was told, put together, is what the cache holds.

use sanskube::limits::Limits;

use super::Violation;
use crate::client::ClientId;
use crate::member::{Observer, View, same};

const RULE: &str = "what a handler was told is what the cache holds";

/// Compares what the handlers of an observer believe with its cache. A handler that has not taken everything yet may be behind, but not by more
/// than its bound.
pub(crate) fn check(client: ClientId, observer: &Observer, limits: &Limits) -> Result<(), Violation> {
    let store = observer.informer().store();
    let (slow, backlog) = observer.slow();
    let up_to_date = |view: &View| {
        view.pods.len() == store.len()
            && view.pods.iter().all(|(key, pod)| store.get(key.as_str()).is_some_and(|held| same(held, pod)))
    };
    let wrong = |who: &str, what: &dyn std::fmt::Display| {
        Err(Violation::new(RULE, format_args!("the {who} handler of {client:?}: {what}")))
    };
    for (who, view) in [("prompt", observer.prompt()), ("slow", slow)] {
        if let Some(nonsense) = &view.nonsense {
            return wrong(who, nonsense);
        }
    }
    if !up_to_date(observer.prompt()) {
        return wrong("prompt", &"it believes in other pods than are stored");
    }
    if backlog == 0 && !up_to_date(slow) {
        return wrong("slow", &"it was told everything and believes in other pods than are stored");
    }
    // Past the limit, changes of one object are merged: one of each that is, and of each that it believes in.
    let bound = limits.handler_backlog + store.len() + slow.pods.len();
    if backlog > bound {
        return wrong("slow", &format_args!("{backlog} changes wait, where {bound} are allowed"));
    }
    Ok(())
}
