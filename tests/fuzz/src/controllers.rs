//! Controllers of the user's own, against servers of every kind.

use std::collections::BTreeMap;
use std::time::Duration;

use sanskube::controller::{Controller, ControllerId, Controllers, WatchId, Watched, When, Work};
use sanskube::error::Misuse;
use sanskube::key::Key;
use sanskube::machine::{Input, Machine, Output};
use sanskube::object::{Pod, ReplicaSet, Resource};
use sanskube::recorder::{Event, EventType, ObjectReference};
use sanskube::reflector::Config;
use sanskube::request::Encoding;
use sanskube::resource_version::ResourceVersion;
use sanskube::time::Now;

use crate::choices::Choices;
use crate::machines::{PODS, limits, pods};
use crate::script::Script;

/// Whatever a server and a user do, no key is with a controller twice at once, and once the server is sane each key was looked at after it changed last.
pub fn controllers(input: &[u8]) {
    let outputs = [(); 2].map(|()| run(input));
    assert!(outputs[0] == outputs[1], "the same script gives the same run");
}

/// A controller, what it is busy with, and as of which version it has looked at what.
struct Member {
    id: ControllerId,
    concurrency: usize,
    busy: Vec<Work>,
    seen: BTreeMap<Key, Option<ResourceVersion>>,
}

impl Member {
    fn new(id: ControllerId, concurrency: usize) -> Self {
        Self { id, concurrency, busy: Vec::new(), seen: BTreeMap::new() }
    }
}

/// The machine, and controllers that take a key as soon as there is one: one of sets and one of pods.
struct Team {
    machine: Controllers,
    sets: WatchId<ReplicaSet>,
    pods: WatchId<Pod>,
    members: [Member; 2],
}

impl Machine for Team {
    fn handle_input(&mut self, now: Now, input: Input<'_>) -> Result<(), Misuse> {
        self.machine.handle_input(now, input)
    }

    fn poll_output(&mut self, now: Now) -> Output {
        loop {
            let output = self.machine.poll_output(now);
            if !matches!(output, Output::Wait { .. }) || !self.take(now) {
                return output;
            }
        }
    }
}

impl Team {
    /// Takes all keys that are to be had, and notes what is in the cache then. Whether there were some.
    fn take(&mut self, now: Now) -> bool {
        let mut any = false;
        while let Some(work) = self.machine.poll_key(now) {
            let nth = self.members.iter().position(|member| member.id == work.controller);
            let nth = nth.expect("it has joined and not left");
            let seen = if nth == 0 { self.version(self.sets, &work.key) } else { self.version(self.pods, &work.key) };
            let member = &mut self.members[nth];
            assert!(!member.busy.contains(&work) && member.busy.len() < member.concurrency);
            member.seen.insert(work.key.clone(), seen);
            member.busy.push(work);
            any = true;
        }
        any
    }

    /// The version of an object in the cache.
    fn version<T: Watched>(&self, watch: WatchId<T>, key: &Key) -> Option<ResourceVersion> {
        let store = self.machine.store(watch).expect("it is watched");
        store.get(key.as_str()).map(|object| object.resource_version())
    }

    /// Ends one of the reconciliations, if there is one.
    fn finish(&mut self, now: Now, nth: usize, place: usize, result: Result<When, &str>) -> bool {
        let busy = &mut self.members[nth].busy;
        if place >= busy.len() {
            return false;
        }
        let work = busy.remove(place);
        assert!(self.machine.handle_result(now, &work, result), "it was handed out");
        assert!(!self.machine.handle_result(now, &work, result), "it was not handed out again");
        true
    }

    fn finish_all(&mut self, now: Now, nth: usize) {
        while self.finish(now, nth, 0, Ok(When::Changed)) {}
    }

    /// Lets a controller leave and another one come.
    fn replace(&mut self, now: Now, nth: usize) {
        let id = self.members[nth].id;
        assert!(self.machine.remove(now, id));
        self.finish_all(now, nth);
        assert!(self.machine.is_idle(id) && !self.machine.remove(now, id));
        let (id, concurrency) = if nth == 0 {
            (self.machine.add(now, Controller::new("sets again", self.sets)), 1)
        } else {
            (self.machine.add(now, Controller::new("pods again", self.pods).concurrency(3)), 3)
        };
        self.members[nth] = Member::new(id.expect("its collection is watched"), concurrency);
    }

    /// Checks that a controller has looked at all there is and at all that was deleted.
    fn check<T: Watched>(&self, nth: usize, watch: WatchId<T>) {
        let store = self.machine.store(watch).expect("it is watched");
        let seen = &self.members[nth].seen;
        for object in store.iter() {
            assert_eq!(seen.get(object.key().as_str()), Some(&Some(object.resource_version())), "{}", object.key());
        }
        for (key, seen) in seen {
            assert!(seen.is_none() || store.get(key.as_str()).is_some(), "{key} is deleted");
        }
    }
}

fn run(input: &[u8]) -> impl PartialEq + use<> {
    let mut choices = Choices::new(input);
    let encoding = *choices.pick(&[Encoding::Json, Encoding::Protobuf]);
    let config = |resource, choices: &mut Choices<'_>| Config {
        encoding,
        watch_list: choices.percent(50),
        resync_period: Duration::from_secs(*choices.pick(&[0, 0, 30])),
        limits: limits(),
        ..Config::new(resource)
    };
    let (mut machine, start) = (Controllers::new(limits(), 1), Now::default());
    let sets = machine.watch::<ReplicaSet>(config(Resource::REPLICA_SETS, &mut choices));
    let watch = machine.watch::<Pod>(config(Resource::PODS, &mut choices));
    let resync = Duration::from_secs(*choices.pick(&[0, 40]));
    let joined = [
        machine.add(start, Controller::new("sets", sets).owns(watch).concurrency(2)),
        machine.add(start, Controller::new("pods", watch).resync(resync)),
    ];
    let [of_sets, of_pods] = joined.map(|id| id.expect("their collections are watched"));
    let members = [Member::new(of_sets, 2), Member::new(of_pods, 1)];
    let mut script = Script::new(Team { machine, sets, pods: watch, members }, limits().calls_in_flight);
    while !choices.is_empty() && !script.stopped {
        let now = script.now;
        let team = &mut script.machine;
        match choices.byte() {
            0 if choices.percent(10) => {
                // A machine that stops waits for what is with the controllers, without an end.
                (0..2).for_each(|nth| team.finish_all(now, nth));
                script.give(Input::Stop);
            }
            1 => team.machine.record(now, event()),
            2 => team.replace(now, choices.below(2)),
            3..64 => {
                let nth = choices.below(2);
                let again = Duration::from_secs(u64::from(choices.byte()));
                let result = *choices.pick(&[Ok(When::Changed), Ok(When::After(again)), Err("it failed")]);
                team.finish(now, nth, choices.below(2), result);
            }
            _ => script.step(&mut choices),
        }
        script.drain();
    }
    for _ in 0..3 {
        // A pause after failures may be as long as a quarter of an hour.
        script.be_sane(Duration::from_secs(20 * 60));
        while script.machine.members.iter().any(|member| !member.busy.is_empty()) {
            (0..2).for_each(|nth| script.machine.finish_all(script.now, nth));
            script.drain();
        }
    }
    if !script.stopped && pods(&mut script).len() <= PODS {
        assert!(script.machine.machine.all_synced(), "it is in sync once the server is sane");
        script.machine.check(0, sets);
        script.machine.check(1, watch);
    }
    script.outputs
}

fn event() -> Event {
    let object = ObjectReference {
        kind: "Pod".into(),
        namespace: "default".into(),
        name: "a".into(),
        uid: "u".into(),
        api_version: "v1".into(),
        resource_version: "1".into(),
    };
    let (reason, message) = ("Looked".into(), "at it".into());
    Event { component: "fuzz".into(), object, event_type: EventType::Normal, reason, message }
}
