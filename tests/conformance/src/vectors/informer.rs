//! `informer.jsonl`: the informer on a scripted server: requests out, changes out.
//!
//! Each case is replayed twice: as client-go does it, and as this project does by default.

mod player;
mod rules;

use sanskube::informer::Recreated;
use sanskube::reflector::Recovery;
use serde_json::{Value, json};

use super::Check;
use super::recorded::op;
use super::recovery::{Client, REPORTED, lead_elsewhere};
use super::script::{self, NO_VERSION, has_no_version};
use player::Script;

/// Where there are two ways to choose from: client-go's, and the default.
#[derive(Clone, Copy, Debug)]
struct Ways {
    recovery: Recovery,
    recreated: Recreated,
}

const CLIENT_GO: Ways = Ways { recovery: Recovery::ClientGo, recreated: Recreated::Update };
const DEFAULT: Ways = Ways { recovery: Recovery::Prudent, recreated: Recreated::DeleteAndAdd };

pub(super) fn replay(case: &Value, check: &mut Check) {
    for ways in [CLIENT_GO, DEFAULT] {
        replay_with(ways, case, check);
    }
}

fn replay_with(ways: Ways, case: &Value, check: &mut Check) {
    let (mut case, transformed_once) = rules::transformed_once(case);
    if transformed_once {
        check.apply_rule(rules::TRANSFORMED_ONCE);
    }
    let (mut script, mut at) = (Script::at(&case, 0, ways), 0);
    while let Some((place, name, op, want)) = op(&case, at) {
        let place = format!("{place}, with {:?} and {:?}", ways.recovery, ways.recreated);
        let before = script.shown();
        if !script.apply(name, op) {
            return check.fail(format!("{place}: nothing here does that"));
        }
        let mut got = script.take(name == "stop");
        if has_no_version(op) {
            check.apply_rule(NO_VERSION);
            let mut want = before;
            want["errors"] = json!([{"class": "other", "phase": "list"}]);
            check.same(&place, &want, &got);
            script::give_version(&mut case, at);
            script = Script::at(&case, at, ways);
            continue;
        }
        let mut want = want.clone();
        let applied = script.apply_rules(&mut want, &mut got);
        let mut recovered = Vec::new();
        if ways.recovery == Recovery::Prudent {
            recovered = script.recoveries.apply(script.client(), op, &mut want, &got);
            if rules::resync_while_resuming(&script, &mut want, &got) && !lead_elsewhere(&recovered) {
                recovered.push(REPORTED);
            }
        }
        check.same(&place, &want, &got);
        at += 1;
        if lead_elsewhere(&recovered) {
            script = Script::at(&case, at, ways);
        } else {
            script.follow(op, &got);
        }
        applied.into_iter().chain(recovered).for_each(|rule| check.apply_rule(rule));
    }
}

impl Script {
    /// An informer that is where client-go is after so many operations, and goes on in these ways.
    fn at(case: &Value, count: usize, ways: Ways) -> Self {
        let mut script = Self::new(case, ways.recreated);
        for at in 0..count {
            let (_, name, op, want) = op(case, at).expect("it was done before");
            script.apply(name, op);
            let mut got = script.take(name == "stop");
            script.apply_rules(&mut want.clone(), &mut got);
            script.follow(op, &got);
        }
        script.recovery = ways.recovery;
        if let Some(informer) = &mut script.informer {
            informer.set_recovery(ways.recovery);
        }
        script
    }

    /// Applies the rules of the informer itself to what is wanted, and makes the two comparable.
    fn apply_rules(&mut self, want: &mut Value, got: &mut Value) -> Vec<&'static str> {
        let mut rules = core::mem::take(&mut self.rules);
        let applied = rules.apply(self, want, got);
        self.rules = rules;
        want.as_object_mut().expect("a map").remove("unordered");
        // Told for one kind of queue alone.
        if want.get("store_rv").is_none() {
            got["store_rv"] = Value::Null;
        }
        applied
    }

    fn client(&self) -> Client<'_> {
        // What a resync tells the handlers is looked at apart.
        Client {
            failed: self.last_error.as_ref(),
            as_client_go: self.as_client_go,
            page: 500,
            resync: 0,
            before: self.before,
            now: self.now.instant,
        }
    }

    fn follow(&mut self, op: &Value, got: &Value) {
        let mut recoveries = core::mem::take(&mut self.recoveries);
        recoveries.follow(self.client(), op, got);
        self.recoveries = recoveries;
    }
}

#[cfg(test)]
mod tests;
