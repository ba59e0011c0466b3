use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use super::*;
use crate::delta::{Deletion, DeltaFifo, InOrderFifo, Queue};
use crate::error::{Refused, UserFunction};
use crate::key::Key;
use crate::object::Object;
use crate::resource_version::ResourceVersion;
use crate::store::Store;
use crate::testing::{Random, Thing, thing};
use crate::time::Now;

mod protobuf;

const NO_RESYNC: Duration = Duration::ZERO;

fn queues() -> [Queue<Thing>; 3] {
    [
        Queue::DeltaFifo(DeltaFifo::new(None, None)),
        Queue::InOrder(InOrderFifo::new(None, None)),
        Queue::InOrder(InOrderFifo::new(None, None).with_atomic_lists().with_bookmarks()),
    ]
}

/// A cache of each kind.
fn caches(resync: Duration, backlog_limit: usize) -> impl Iterator<Item = Cache<Thing>> {
    queues().into_iter().map(move |queue| Cache::new(queue, Store::new(), resync, backlog_limit))
}

fn join(cache: &mut Cache<Thing>) -> HandlerId {
    cache.add_handler(Now::default(), HandlerOptions::default())
}

fn replace(cache: &mut Cache<Thing>, list: &[Thing], version: &str) {
    cache.replace(list.to_vec(), ResourceVersion::new(version)).unwrap();
}

/// All that a handler has not taken, each as a line.
fn told(cache: &mut Cache<Thing>, handler: HandlerId) -> Vec<String> {
    let line = |(key, change): (Key, Change<Thing>)| {
        let at = |object: &Thing| alloc::format!("{}@{}", object.uid, object.version);
        match change {
            Change::Add { object, initial: true } => alloc::format!("{key} initial {}", at(&object)),
            Change::Add { object, .. } => alloc::format!("{key} add {}", at(&object)),
            Change::Update { old, new } => alloc::format!("{key} update {} {}", at(&old), at(&new)),
            Change::Delete(Deletion::Observed(object)) => alloc::format!("{key} delete {}", at(&object)),
            Change::Delete(Deletion::Missed(tombstone)) => {
                alloc::format!("{key} missed {}", tombstone.object.map_or(String::new(), |object| at(&object)))
            }
        }
    };
    core::iter::from_fn(|| cache.poll_change(handler)).map(line).collect()
}

/// D-04
#[test]
fn a_relist_tells_a_handler_without_resync_what_changed_and_nothing_else() {
    for mut cache in caches(NO_RESYNC, 100) {
        let handler = join(&mut cache);
        replace(&mut cache, &[thing("n/x", 5, &[]), thing("n/y", 6, &[])], "7");
        told(&mut cache, handler);
        replace(&mut cache, &[thing("n/x", 9, &[]), thing("n/y", 6, &[])], "10");
        assert_eq!(told(&mut cache, handler), ["n/x update 1@5 1@9"]);
        replace(&mut cache, &[thing("n/x", 9, &[]), thing("n/y", 6, &[])], "11");
        assert_eq!(told(&mut cache, handler), [""; 0]);
    }
}

/// D-05
#[test]
fn an_object_created_anew_is_a_deletion_and_an_addition() {
    for mut cache in caches(NO_RESYNC, 100) {
        let handler = join(&mut cache);
        cache.add(thing("n/x", 5, &[])).unwrap();
        replace(&mut cache, &[Thing { uid: 2, ..thing("n/x", 30, &[]) }], "31");
        assert_eq!(told(&mut cache, handler), ["n/x add 1@5", "n/x missed 1@5", "n/x add 2@30"]);
        cache.update(Thing { uid: 3, ..thing("n/x", 40, &[]) }).unwrap();
        assert_eq!(told(&mut cache, handler), ["n/x missed 2@30", "n/x add 3@40"]);
        cache.delete(Thing { uid: 4, ..thing("n/x", 50, &[]) }).unwrap();
        assert_eq!(told(&mut cache, handler), ["n/x missed 3@40"]);
        assert!(cache.store().is_empty());
    }
}

#[test]
fn an_object_created_anew_is_an_update_for_those_who_want_it_as_client_go_has_it() {
    for mut cache in caches(NO_RESYNC, 100).map(|cache| cache.with_recreated(Recreated::Update)) {
        let handler = join(&mut cache);
        cache.add(thing("n/x", 5, &[])).unwrap();
        replace(&mut cache, &[Thing { uid: 2, ..thing("n/x", 30, &[]) }], "31");
        assert_eq!(told(&mut cache, handler), ["n/x add 1@5", "n/x update 1@5 2@30"]);
    }
}

/// D-07, D-08
#[test]
fn what_a_relist_lacks_leaves_the_indexes_and_is_told_with_its_last_known_state() {
    for mut cache in caches(NO_RESYNC, 100) {
        let by_tag = Box::new(|thing: &Thing, value: &mut dyn FnMut(&str)| {
            thing.tags.iter().for_each(|tag| value(tag));
            Ok(())
        });
        cache.store_mut().add_index("tags", by_tag).unwrap();
        let handler = join(&mut cache);
        replace(&mut cache, &[thing("n/x", 5, &["node-1"])], "6");
        assert_eq!(cache.store().by_index("tags", "node-1").unwrap().len(), 1);
        told(&mut cache, handler);
        replace(&mut cache, &[], "9");
        assert!(cache.store().get("n/x").is_none());
        assert_eq!(cache.store().by_index("tags", "node-1").unwrap().len(), 0);
        let (_, change) = cache.poll_change(handler).unwrap();
        let Change::Delete(deletion) = change else { panic!("{change:?}") };
        assert!(deletion.is_final_state_unknown());
        assert_eq!(deletion.object().unwrap().tags, ["node-1"]);
    }
}

/// D-10
#[test]
fn a_handler_is_synced_when_it_has_dealt_with_the_first_list() {
    for mut cache in caches(NO_RESYNC, 100) {
        let (quick, slow) = (join(&mut cache), join(&mut cache));
        assert!(!cache.handler_has_synced(quick));
        replace(&mut cache, &[thing("n/x", 1, &[]), thing("n/y", 2, &[])], "3");
        assert!(cache.has_synced());
        assert!(!cache.handler_has_synced(quick));
        assert_eq!(told(&mut cache, quick), ["n/x initial 1@1", "n/y initial 1@2"]);
        cache.poll_change(slow).unwrap();
        cache.poll_change(slow).unwrap();
        assert_eq!(cache.backlog(slow), 0);
        // It has taken the last one, but nobody knows that it is done with it.
        assert!(!cache.handler_has_synced(slow));
        assert!(cache.handler_has_synced(quick));
        assert!(cache.poll_change(slow).is_none());
        assert!(cache.handler_has_synced(slow));
        let late = join(&mut cache);
        assert!(!cache.handler_has_synced(late));
        told(&mut cache, late);
        assert!(cache.handler_has_synced(late));
        assert!(cache.remove_handler(late));
        assert!(!cache.remove_handler(late));
        assert!(!cache.handler_has_synced(late));
    }
}

#[test]
fn a_handler_of_an_empty_collection_is_synced_at_once() {
    for mut cache in caches(NO_RESYNC, 100) {
        let handler = join(&mut cache);
        replace(&mut cache, &[], "3");
        assert!(cache.handler_has_synced(handler));
    }
}

/// D-14
#[test]
fn the_backlog_of_a_handler_that_takes_nothing_is_bounded_by_the_number_of_objects() {
    for mut cache in caches(NO_RESYNC, 16) {
        let (stuck, quick) = (join(&mut cache), join(&mut cache));
        for version in 0..100_000 {
            cache.update(thing(&alloc::format!("n/{}", version % 10), version, &[])).unwrap();
            assert_eq!(told(&mut cache, quick).len(), 1);
        }
        assert!(cache.backlog(stuck) <= 16 + 10, "{}", cache.backlog(stuck));
        let told = told(&mut cache, stuck);
        assert!(told.contains(&"n/0 add 1@0".into()));
        assert!(told.last().unwrap().starts_with("n/"));
    }
}

#[test]
fn objects_that_come_and_go_while_a_handler_takes_nothing_leave_nothing_in_its_backlog() {
    for mut cache in caches(NO_RESYNC, 16) {
        let stuck = join(&mut cache);
        for version in 0..10_000 {
            let object = thing(&alloc::format!("n/{version}"), version, &[]);
            cache.add(object.clone()).unwrap();
            cache.delete(object.clone()).unwrap();
            cache.delete(object).unwrap();
        }
        assert!(cache.backlog(stuck) <= 16, "{}", cache.backlog(stuck));
    }
}

#[test]
fn a_filtered_handler_is_told_of_the_end_of_what_it_was_told_of() {
    for mut cache in caches(NO_RESYNC, 100) {
        let filter: Filter<Thing> = Box::new(|thing| !thing.tags.is_empty());
        let options = HandlerOptions { filter: Some(filter), ..HandlerOptions::default() };
        let handler = cache.add_handler(Now::default(), options);
        cache.add(thing("n/x", 1, &[])).unwrap();
        cache.update(thing("n/x", 2, &["a"])).unwrap();
        cache.update(thing("n/x", 3, &["b"])).unwrap();
        cache.update(thing("n/x", 4, &[])).unwrap();
        cache.update(thing("n/x", 5, &["a"])).unwrap();
        // The final state does not pass, but the handler knows of the object.
        cache.delete(thing("n/x", 6, &[])).unwrap();
        let told = told(&mut cache, handler);
        assert_eq!(told, ["n/x add 1@2", "n/x update 1@2 1@3", "n/x delete 1@3", "n/x add 1@5", "n/x delete 1@6"]);
    }
}

#[test]
fn each_handler_is_resynced_at_its_own_pace() {
    for mut cache in caches(Duration::from_secs(10), 100) {
        let at = |seconds| Now::default().after(Duration::from_secs(seconds));
        let every = |seconds| HandlerOptions { resync: Some(Duration::from_secs(seconds)), filter: None };
        let never = cache.add_handler(at(0), every(0));
        let often = cache.add_handler(at(0), HandlerOptions::default());
        let rarely = cache.add_handler(at(0), every(25));
        assert_eq!(cache.start(), Duration::from_secs(10));
        replace(&mut cache, &[thing("n/x", 1, &[])], "2");
        for handler in [never, often, rarely] {
            told(&mut cache, handler);
        }
        let again = ["n/x update 1@1 1@1"];
        for (seconds, handlers) in [(5, &[][..]), (10, &[often]), (20, &[often]), (30, &[often, rarely])] {
            assert_eq!(cache.should_resync(at(seconds)), !handlers.is_empty());
            if !handlers.is_empty() {
                cache.resync().unwrap();
            }
            for handler in [never, often, rarely] {
                let want = if handlers.contains(&handler) { &again[..] } else { &[] };
                assert_eq!(told(&mut cache, handler), want, "after {seconds} s");
            }
        }
        let late = cache.add_handler(at(31), every(1));
        assert_eq!(cache.resync_period(late), Duration::from_secs(10));
    }
}

#[test]
fn a_transformer_sees_each_object_before_it_is_stored() {
    let trim = || -> Option<Transform<Thing>> {
        Some(Box::new(|mut thing: Thing| {
            if thing.tags.iter().any(|tag| tag == "bad") {
                return Err(Refused::new(UserFunction::Transform, "bad"));
            }
            thing.tags.clear();
            Ok(thing)
        }))
    };
    for queue in [
        Queue::DeltaFifo(DeltaFifo::new(None, trim())),
        Queue::InOrder(InOrderFifo::new(None, trim()).with_atomic_lists()),
    ] {
        let mut cache = Cache::new(queue, Store::new(), NO_RESYNC, 10);
        cache.add(thing("n/x", 1, &["a"])).unwrap();
        replace(&mut cache, &[thing("n/x", 2, &["a"]), thing("n/y", 3, &["b"])], "4");
        assert!(cache.store().iter().all(|thing| thing.tags.is_empty()));
        assert!(cache.update(thing("n/y", 5, &["bad"])).is_err());
        assert_eq!(cache.store().get("n/y").unwrap().version, 3);
    }
}

/// A handler that takes changes when it likes, and what it makes of them.
struct Lagging {
    id: HandlerId,
    filtered: bool,
    view: BTreeMap<String, Arc<Thing>>,
}

impl Lagging {
    fn wants(&self, thing: &Thing) -> bool {
        !self.filtered || thing.tags.iter().any(|tag| tag == "a")
    }

    /// Takes up to `most` changes; each must follow from what it knows.
    fn take(&mut self, cache: &mut Cache<Thing>, most: u64) {
        for _ in 0..most {
            let Some((key, change)) = cache.poll_change(self.id) else { return };
            let key = key.to_string();
            match change {
                Change::Add { object, .. } => {
                    assert!(self.wants(&object));
                    assert!(self.view.insert(key, object).is_none(), "added twice");
                }
                Change::Update { old, new } => {
                    assert!(self.wants(&new));
                    assert_eq!(old.uid, new.uid);
                    assert_eq!(self.view.insert(key, new), Some(old), "an update that skips a state");
                }
                Change::Delete(deletion) => {
                    let known = self.view.remove(&key);
                    if deletion.is_final_state_unknown() {
                        // Where changes were merged the last known state may be newer than what the handler saw.
                        let (last, known) =
                            (deletion.object().unwrap(), known.expect("only what is known goes missing"));
                        assert!(last.uid == known.uid && last.version >= known.version);
                    }
                }
            }
        }
    }
}

#[test]
fn whatever_a_handler_takes_and_whenever_it_joins_it_sees_neither_gap_nor_duplicate() {
    for seed in 0..90 {
        let mut random = Random::new(seed);
        let limit = [0, 4, 1000][(seed / 3 % 3) as usize];
        let mut cache = caches(NO_RESYNC, limit).nth((seed % 3) as usize).unwrap();
        let mut handlers: Vec<Lagging> = Vec::new();
        for step in 1..300 {
            let mut object = random.thing(step);
            object.uid = random.below(2);
            match random.below(20) {
                0..5 => cache.add(object).unwrap(),
                5..9 => cache.update(object).unwrap(),
                9..12 => cache.delete(object).unwrap(),
                12 => {
                    let mut list = BTreeMap::new();
                    for _ in 0..random.below(10) {
                        let object = random.thing(step);
                        list.insert(object.key().to_string(), object);
                    }
                    replace(&mut cache, &list.into_values().collect::<Vec<_>>(), "1");
                }
                13 => {
                    let unchanged: Vec<Thing> = cache.store().iter().map(|thing| (**thing).clone()).collect();
                    replace(&mut cache, &unchanged, "1");
                }
                14 if handlers.len() < 6 => {
                    let filtered = random.below(2) == 0;
                    let filter: Option<Filter<Thing>> =
                        filtered.then(|| Box::new(|thing: &Thing| thing.tags.iter().any(|tag| tag == "a")) as _);
                    let id = cache.add_handler(Now::default(), HandlerOptions { filter, resync: None });
                    handlers.push(Lagging { id, filtered, view: BTreeMap::new() });
                }
                15 if handlers.len() > 3 => {
                    let leaving = handlers.remove(random.below(4) as usize);
                    assert!(cache.remove_handler(leaving.id));
                }
                _ if !handlers.is_empty() => {
                    let which = random.below(handlers.len() as u64) as usize;
                    handlers[which].take(&mut cache, [1, 2, 100][random.below(3) as usize]);
                }
                _ => {}
            }
            for handler in &mut handlers {
                let backlog = cache.backlog(handler.id);
                assert!(limit == 1000 || backlog <= limit + 2 * 12, "seed {seed} step {step}: {backlog}");
                if random.below(40) == 0 {
                    handler.take(&mut cache, u64::MAX);
                    assert_eq!(cache.backlog(handler.id), 0);
                }
                if cache.backlog(handler.id) == 0 {
                    let stored = cache.store().keys().map(ToString::to_string).zip(cache.store().iter().cloned());
                    let stored: BTreeMap<_, _> = stored.filter(|(_, thing)| handler.wants(thing)).collect();
                    assert_eq!(handler.view, stored, "seed {seed} step {step}");
                    if handler.view.is_empty() || random.below(2) == 0 {
                        cache.poll_change(handler.id);
                        assert_eq!(cache.handler_has_synced(handler.id), cache.has_synced());
                    }
                }
            }
        }
    }
}
