//! What can be done to controllers and to their connections.

use sanskube::machine::{Answer, Machine, Part};
use sanskube::request::{CallId, Failure};
use sanskube::time::Instant;
use sanskube_apiserver::WatchId;

use crate::client::{ClientId, Clock};
use crate::world::{Delivery, World};

impl<M: Machine> World<M> {
    /// Kills a controller: it is gone in the middle of whatever it did. What it has sent arrives all the same.
    pub fn kill(&mut self, id: ClientId) {
        self.clients.remove(&id);
        let watches: Vec<WatchId> =
            self.watches.iter().filter(|(_, (client, _))| *client == id).map(|(w, _)| *w).collect();
        for watch in watches {
            self.watches.remove(&watch);
            self.api.drop_watch(watch);
        }
    }

    /// Lets a controller begin so many more calls, and kills it when it wants to begin another: before the next step.
    pub fn kill_after(&mut self, id: ClientId, calls: u32) {
        if let Some(client) = self.clients.get_mut(&id) {
            client.calls_left = Some(calls);
        }
    }

    /// Lets a controller live after all that was to be killed after some more calls.
    pub fn spare(&mut self, id: ClientId) {
        if let Some(client) = self.clients.get_mut(&id) {
            client.calls_left = None;
        }
    }

    /// Loses the requests of a controller that have not arrived at the server.
    pub fn lose_requests(&mut self, id: ClientId) {
        self.under_way.retain(|_, delivery| !matches!(delivery, Delivery::Request(of, _) if *of == id));
    }

    /// Breaks a connection. What is under way on it is lost, in both directions; of an answer the beginning of the next piece may arrive, cut anywhere.
    pub fn cut(&mut self, id: ClientId, call: CallId, within_frame: bool) {
        let Some(line) = self.clients.get_mut(&id).and_then(|client| client.lines.get_mut(&call)) else { return };
        let (mut last, mut kept) = (self.now.instant, !within_frame);
        self.under_way.retain(|(at, _), delivery| match delivery {
            Delivery::Request(of, sent) => !(*of == id && sent.id == call),
            Delivery::Answer(of, Answer { call: other, part }) if *of == id && *other == call => match part {
                Part::Body(bytes) if !kept && bytes.len() > 1 => {
                    kept = true;
                    last = *at;
                    bytes.truncate(1 + usize::try_from(line.random.next_u64()).unwrap_or(0) % (bytes.len() - 1));
                    true
                }
                Part::Head(_) if !kept => {
                    last = *at;
                    true
                }
                _ => false,
            },
            Delivery::Answer(..) => true,
        });
        line.silent = true;
        self.send(last, Delivery::Answer(id, Answer { call, part: Part::Failed(Failure::Cut) }));
        self.drop_watch_of(id, call);
    }

    /// Breaks all connections of a controller, between two pieces.
    pub fn cut_all(&mut self, id: ClientId) {
        let calls: Vec<CallId> = self.lines(id).map(|(call, _)| call).collect();
        for call in calls {
            self.cut(id, call, false);
        }
    }

    /// Lets nothing more arrive that the server sends on a connection; nobody is told.
    pub fn silence(&mut self, id: ClientId, call: CallId) {
        if let Some(line) = self.clients.get_mut(&id).and_then(|client| client.lines.get_mut(&call)) {
            line.silent = true;
        }
    }

    /// Cuts a controller off from the server, or ends that: nothing it sends arrives, no answer comes, and nobody is told. Connections of that
    /// time stay silent.
    pub fn set_cut_off(&mut self, id: ClientId, cut_off: bool) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        client.cut_off = cut_off;
        if cut_off {
            client.lines.values_mut().for_each(|line| line.silent = true);
            self.under_way.retain(|_, delivery| !matches!(delivery, Delivery::Answer(of, _) if *of == id));
        }
    }

    /// Lets a controller do nothing until then, as a machine that sleeps. What arrives meanwhile waits.
    pub fn suspend(&mut self, id: ClientId, until: Instant) {
        if let Some(client) = self.clients.get_mut(&id) {
            client.suspended_until = until;
        }
    }

    /// Whether a controller is suspended.
    pub fn is_suspended(&self, id: ClientId) -> bool {
        self.clients.get(&id).is_some_and(|client| client.suspended_until > self.now.instant)
    }

    /// Sets how far the wall clock of a controller is ahead, in nanoseconds.
    pub fn set_wall_clock(&mut self, id: ClientId, ahead: i64) {
        if let Some(client) = self.clients.get_mut(&id) {
            client.clock = Clock { wall: ahead, ..client.clock };
        }
    }

    /// Makes the server unreachable: what is in flight is cut, new connections are refused.
    pub fn take_server_down(&mut self) {
        self.reachable = false;
        let calls = self.clients.iter().flat_map(|(id, client)| client.lines.keys().map(|call| (*id, *call)));
        for (id, call) in calls.collect::<Vec<_>>() {
            let answer = Answer { call, part: Part::Failed(Failure::Cut) };
            self.send(self.now.instant, Delivery::Answer(id, answer));
        }
        self.watches.clear();
        self.api.close_watches();
        self.api.restart();
    }

    /// Makes the server reachable again.
    pub fn bring_server_up(&mut self) {
        self.reachable = true;
    }

    /// Compacts the history of the server, as etcd does.
    pub fn compact(&mut self) {
        let now = self.server_now();
        self.api.compact(now);
    }

    /// Lets the kubelet do nothing, or go on.
    pub fn pause_kubelet(&mut self, paused: bool) {
        if let Some(kubelet) = &mut self.kubelet {
            kubelet.set_paused(paused);
        }
    }

    /// Makes a pod fail, as a kubelet that evicts it. Whether the pod was there.
    pub fn fail_pod(&mut self, namespace: &str, name: &str, reason: &str) -> bool {
        let now = self.server_now();
        let Some(kubelet) = &mut self.kubelet else { return false };
        let done = kubelet.fail_pod(now, &mut self.api, namespace, name, reason);
        self.pump();
        done
    }

    pub(crate) fn drop_watch_of(&mut self, id: ClientId, call: CallId) {
        let watch = self.watches.iter().find(|(_, of)| **of == (id, call)).map(|(watch, _)| *watch);
        if let Some(watch) = watch {
            self.watches.remove(&watch);
            self.api.drop_watch(watch);
        }
    }
}
