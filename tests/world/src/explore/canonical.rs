//! What makes two states one: a text of all that decides what can happen, with names in place of what only tells things apart.
//!
//! The text has in it what the server holds, what the controller holds (its `Debug` shows the queue, the syncs under way and the reflectors; expectations
//! and the guard are added), what is under way, and what the server would tell a watch that begins where a cache has come to. Two states with the same
//! text have the same futures, but for names, because
//!
//! * **versions** are compared by the controller in two ways only. The version of an object is compared for equality, with another version of the same
//!   object: it is named by its place among those of that object that the text mentions, each of which is in the text with what the object was then. The
//!   version of a cache is compared with what was written: in its place stands how many of the changes that the cache has yet to see it takes to get
//!   there.
//! * **names and uids** decide only by their order, and are replaced by their rank. The server of a scene counts them up, so that they have the order
//!   in which their objects were made.
//! * **moments of creation** decide by their order, and are replaced by their rank. That the controller compares ages by their power of two is left out:
//!   in the few seconds that a scene lasts it makes no other difference than their order.
//! * **calls** are known by what they ask for.
//! * **reflectors** are not in the text: what one does follows from its connection, which is, and where it has none from its cache, and whether
//!   the history reaches back to it.
//!
//! Left out is what decides *when* something is done, as the exploration tries every time: moments, of which is kept whether they are past (a timer
//! that is overdue runs out with whatever comes next), whether a timer runs out soon, and the order of timers; the state of random numbers, back-offs and how often something has failed; and measures. So a state stands for all
//! states that differ in these. What this hides are bounds that only many failures in a row reach (20 watches that end at once, say), of which
//! small worlds have too few. Left out, too, is what the checks remember of the way here: each way is checked as far as the state it joins.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};

use sanskube::key::Key;
use sanskube::machine::{Answer, Part};
use sanskube::manager::Manager;
use sanskube::object::{Object, ReplicaSetKind};
use sanskube::uid::Uid;
use serde_json::Value;

use super::plain::{Plain, plain};
use super::scene::Scene;
use super::tokens::{Token, rank, replace, tokens};
use crate::check::version_of;
use crate::client::{Client, ClientId};
use crate::member::Member;
use crate::world::Delivery;

/// How far the caches of a controller have come, and the versions of what they have yet to see.
#[derive(Default)]
struct Place {
    caches: [u64; 2],
    ahead: [Vec<u64>; 2],
}

impl Place {
    /// How many changes of pods (0) or sets (1) it takes to come to a version.
    fn distance(&self, cache: usize, version: u64) -> usize {
        self.ahead[cache].iter().filter(|ahead| **ahead <= version).count()
    }

    fn name(&self, version: u64) -> String {
        if self.caches.contains(&version) {
            return "here".to_owned();
        }
        format!("+{}+{}", self.distance(0, version), self.distance(1, version))
    }
}

impl Scene {
    /// A number that is the same for states that are one. Two states that are not one have the same with a chance of 2⁻¹²⁸.
    pub fn fingerprint(&self) -> u128 {
        self.digest(true)
    }

    /// The same but for the order of timers: what stays the same while keys fail again and again, and nothing else happens.
    pub(super) fn fingerprint_of_work(&self) -> u128 {
        self.digest(false)
    }

    fn digest(&self, timers_in_order: bool) -> u128 {
        let text = rank(&self.text(timers_in_order));
        let half = |salt: u8| {
            let mut hasher = DefaultHasher::new();
            (salt, &text).hash(&mut hasher);
            u128::from(hasher.finish())
        };
        half(0) << 64 | half(1)
    }

    /// All that matters, with the names and uids of this very state.
    fn text(&self, timers_in_order: bool) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "{} {} {}", self.users, self.faults.len(), self.server_deadline().is_some());
        for (key, pod) in self.check.pods.all() {
            let _ = writeln!(text, "{key} {pod:?}");
        }
        for (key, set) in self.check.sets.all() {
            let _ = writeln!(text, "{key} {set:?}");
        }
        for (id, client) in &self.world.clients {
            if let Some(manager) = client.machine.manager() {
                self.add_manager((*id, client), manager, timers_in_order, &mut text);
            }
        }
        self.add_under_way(&mut text);
        self.name_versions(text)
    }

    fn add_manager(
        &self,
        (id, client): (ClientId, &Client<Member>),
        manager: &Manager,
        timers_in_order: bool,
        text: &mut String,
    ) {
        let (pods, sets) = (manager.pods(), manager.sets(ReplicaSetKind::ReplicaSet));
        let caches = [version_of(pods), sets.map_or(0, version_of)];
        let mut place = Place { caches, ..Place::default() };
        let ahead = [self.check.pods.changes_after(caches[0]), self.check.sets.changes_after(caches[1])];
        for (cache, changes) in ahead.iter().enumerate() {
            // What a watch that begins here is told, or that it is told nothing.
            let _ = writeln!(text, "{cache} {}", self.expired[cache] > caches[cache]);
            for (version, key, is) in changes {
                place.ahead[cache].push(*version);
                let _ = writeln!(text, "{key}@{version} {is}");
            }
        }
        let calls = calls(client);
        let how = Plain { now: client.clock.show(self.world.now()).instant.as_nanos(), timers_in_order };
        let told = plain(&format!("{manager:?}"), how, |call| calls.iter().position(|(_, of)| of.0 == call));
        text.push_str(&replace(&told, |before, token| match token {
            Token::Version(version) if !is_of_object(before) => Some(place.name(version)),
            _ => None,
        }));
        let _ = writeln!(text, "\ntimer {}", self.timers().any(|other| other == id));
        let mut held: Vec<_> = pods.iter().map(|pod| format!("{pod:?}")).collect();
        held.sort_unstable();
        held.extend(sets.into_iter().flat_map(|sets| sets.iter()).map(|set| format!("{set:?} {}", set.uid())));
        let _ = writeln!(text, "{held:?}");
        let Some(controller) = manager.controller(ReplicaSetKind::ReplicaSet) else { return };
        // What was expected and has been seen changes nothing any more.
        let known: BTreeSet<String> = self.check.sets.known(|set| set.metadata.uid.clone());
        for uid in known.into_iter().map(|uid| Uid::new(&uid)) {
            let record = controller.expectations().get(&uid);
            let Some(record) = record.filter(|record| record.creations > 0 || record.deletions > 0) else { continue };
            let told = replace(&plain(&format!("{record:?}"), how, |_| None), |_, token| match token {
                Token::Version(version) => Some(format!("+{}", place.distance(0, version))),
                _ => None,
            });
            let _ = writeln!(text, "{uid} {told}");
        }
        let keys: BTreeSet<&str> = self.check.sets.keys().collect();
        for record in keys.into_iter().filter_map(|key| controller.guard().get(&Key::explicit(key))) {
            let distance = |cache, written: &Option<sanskube::resource_version::ResourceVersion>| {
                let written = written.as_ref().and_then(|version| version.to_string().parse().ok());
                written.map_or(0, |version| place.distance(cache, version))
            };
            let _ = writeln!(text, "{} {} {}", record.uid, distance(0, &record.pods), distance(1, &record.sets));
        }
        calls.iter().for_each(|(what, _)| text.push_str(what));
    }

    fn add_under_way(&self, text: &mut String) {
        let mut under_way: BTreeMap<_, String> = BTreeMap::new();
        for delivery in self.world.under_way.values() {
            let (client, call, what) = match delivery {
                Delivery::Answer(client, answer) => (*client, answer.call, part(answer)),
                Delivery::Request(client, call) => {
                    let body = String::from_utf8_lossy(&call.request.body);
                    (*client, call.id, format!("{:?} {body}", call.request))
                }
            };
            // Those of controllers that have gone come last, in their order.
            let of = self.world.clients.get(&client);
            let nth = of.and_then(|of| calls(of).iter().position(|(_, other)| *other == call));
            let place = nth.map_or((1, call.0), |nth| (0, nth as u64));
            let _ = writeln!(under_way.entry((client, place)).or_insert_with(|| format!("#{nth:?} ")), "{what}");
        }
        under_way.values().for_each(|what| text.push_str(what));
    }

    /// Names the versions of objects, and adds what each object was at those that are mentioned.
    fn name_versions(&self, mut text: String) -> String {
        let version = |token| if let Token::Version(version) = token { Some(version) } else { None };
        let mentioned: BTreeSet<u64> = tokens(&text).filter_map(|(_, _, token)| version(token)).collect();
        let mut of_objects: BTreeMap<String, Vec<(u64, String)>> = BTreeMap::new();
        for version in mentioned {
            let pod = self.check.pods.changed_at(version).map(|(key, pod)| (key, format!("{pod:?}")));
            let set = || self.check.sets.changed_at(version).map(|(key, set)| (key, format!("{set:?}")));
            if let Some((key, what)) = pod.or_else(set) {
                of_objects.entry(key.to_owned()).or_default().push((version, what));
            }
        }
        let mut names = BTreeMap::new();
        for (key, states) in &of_objects {
            for (nth, (version, what)) in states.iter().enumerate() {
                names.insert(*version, nth);
                let _ = writeln!(text, "{key}@{version}: {what}");
            }
        }
        replace(&text, |_, token| match token {
            Token::Version(version) => Some(names.get(&version).map_or_else(|| "?".into(), |nth| format!("v{nth}"))),
            _ => None,
        })
    }
}

/// The calls of a controller in an order that does not depend on when they were made, each with what it asks for.
fn calls(client: &Client<Member>) -> Vec<(String, sanskube::request::CallId)> {
    let mut calls: Vec<_> = client
        .lines
        .iter()
        .map(|(id, line)| {
            let path = if line.watch { line.request.path.split('?').next() } else { Some(&*line.request.path) };
            (format!("{} {path:?} {}\n", line.request.method.as_str(), line.watch), *id)
        })
        .collect();
    calls.sort_unstable();
    calls
}

/// Whether what comes after a text is the version of the object that it names.
fn is_of_object(before: &str) -> bool {
    before.ends_with('@')
}

/// A part of an answer: of objects the name and the version, which stands for what the object then was.
fn part(answer: &Answer) -> String {
    let Part::Body(bytes) = &answer.part else { return format!("{:?}", answer.part) };
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let told = lines.map(|line| {
        let value: Value = serde_json::from_slice(line).unwrap_or_default();
        let kind = value["type"].as_str().unwrap_or_default();
        let object = if kind.is_empty() { &value } else { &value["object"] };
        let metadata = &object["metadata"];
        format!("{kind} {} {}@{} {}", object["kind"], metadata["name"], metadata["resourceVersion"], object["reason"])
    });
    told.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_named_by_how_far_a_cache_has_to_go() {
        let place = Place { caches: [1003, 1005], ahead: [vec![1006, 1009], vec![1007]] };
        let names = [1003, 1004, 1006, 1008, 1009].map(|version| place.name(version));
        assert_eq!(names, ["here", "+0+0", "+1+0", "+1+1", "+2+1"]);
    }
}
