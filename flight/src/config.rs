//! The configuration of a manager, as a recording begins with it.
//!
//! Every field is named here, so that one that is added cannot be forgotten: this does not compile without it. A recording with another set of
//! fields is one of another [`VERSION`](crate::VERSION).

use sanskube::election::{self, Timing};
use sanskube::limits::Limits;
use sanskube::manager::{ClientLimits, Config};
use sanskube::object::ReplicaSetKind;
use sanskube::request::Encoding;

use crate::wire::{Bad, Put as _, Take};

/// More kinds than there are make no sense.
const KINDS: usize = 8;

pub(crate) fn put(out: &mut Vec<u8>, config: &Config) {
    let Config {
        kinds,
        namespace,
        client_limits,
        dry_run,
        election,
        encoding,
        label_selector,
        limits,
        resync_period,
        seed,
        watch_list,
    } = config;
    out.put(kinds.len() as u64);
    for kind in kinds {
        out.push(match kind {
            ReplicaSetKind::ReplicaSet => 0,
            ReplicaSetKind::ReplicationController => 1,
        });
    }
    out.put_bytes(namespace.as_bytes());
    out.push(client_limits.is_some().into());
    if let Some(ClientLimits { qps, burst }) = client_limits {
        out.extend_from_slice(&qps.to_bits().to_le_bytes());
        out.put(u64::from(*burst));
    }
    out.push((*dry_run).into());
    out.push(election.is_some().into());
    if let Some(election) = election {
        put_election(out, election);
    }
    put_encoding(out, *encoding);
    out.put_bytes(label_selector.as_bytes());
    put_limits(out, limits);
    out.put_duration(*resync_period);
    out.put(*seed);
    out.push((*watch_list).into());
}

pub(crate) fn take(from: &mut Take<'_>) -> Result<Config, Bad> {
    let count: usize = from.small()?;
    if count > KINDS {
        return Err(Bad("a number of kinds"));
    }
    let kind = |from: &mut Take<'_>| match from.byte()? {
        0 => Ok(ReplicaSetKind::ReplicaSet),
        1 => Ok(ReplicaSetKind::ReplicationController),
        _ => Err(Bad("a kind of sets")),
    };
    let kinds = (0..count).map(|_| kind(from)).collect::<Result<_, _>>()?;
    Ok(Config {
        kinds,
        namespace: from.text()?,
        client_limits: if from.flag()? {
            Some(ClientLimits { qps: f64::from_bits(u64::from_le_bytes(from.fixed()?)), burst: from.small()? })
        } else {
            None
        },
        dry_run: from.flag()?,
        election: if from.flag()? { Some(take_election(from)?) } else { None },
        encoding: take_encoding(from)?,
        label_selector: from.text()?,
        limits: take_limits(from)?,
        resync_period: from.duration()?,
        seed: from.number()?,
        watch_list: from.flag()?,
    })
}

pub(crate) fn put_encoding(out: &mut Vec<u8>, encoding: Encoding) {
    out.push(match encoding {
        Encoding::Json => 0,
        Encoding::Protobuf => 1,
    });
}

pub(crate) fn take_encoding(from: &mut Take<'_>) -> Result<Encoding, Bad> {
    match from.byte()? {
        0 => Ok(Encoding::Json),
        1 => Ok(Encoding::Protobuf),
        _ => Err(Bad("an encoding")),
    }
}

fn put_election(out: &mut Vec<u8>, config: &election::Config) {
    let election::Config { namespace, name, identity, release, seed, timing } = config;
    for text in [namespace, name, identity] {
        out.put_bytes(text.as_bytes());
    }
    out.push((*release).into());
    out.put(*seed);
    for duration in [timing.lease_duration(), timing.renew_deadline(), timing.retry_period()] {
        out.put_duration(duration);
    }
}

fn take_election(from: &mut Take<'_>) -> Result<election::Config, Bad> {
    Ok(election::Config {
        namespace: from.text()?,
        name: from.text()?,
        identity: from.text()?,
        release: from.flag()?,
        seed: from.number()?,
        timing: Timing::new(from.duration()?, from.duration()?, from.duration()?)
            .map_err(|_| Bad("the times of an election"))?,
    })
}

fn put_limits(out: &mut Vec<u8>, limits: &Limits) {
    let &Limits {
        object_bytes,
        answer_bytes,
        list_page,
        list_objects,
        calls_in_flight,
        concurrent_rc_syncs,
        concurrent_syncs,
        burst_replicas,
        handler_backlog,
        events_waiting,
        events_remembered,
        event_message_bytes,
        call_timeout,
        list_timeout,
        watch_timeout,
        watch_grace,
    } = limits;
    out.put(list_page.into());
    for count in [
        object_bytes,
        answer_bytes,
        list_objects,
        calls_in_flight,
        concurrent_rc_syncs,
        concurrent_syncs,
        burst_replicas,
        handler_backlog,
        events_waiting,
        events_remembered,
        event_message_bytes,
    ] {
        out.put(count as u64);
    }
    for time in [call_timeout, list_timeout, watch_timeout, watch_grace] {
        out.put_duration(time);
    }
}

fn take_limits(from: &mut Take<'_>) -> Result<Limits, Bad> {
    let list_page = from.small()?;
    Ok(Limits {
        list_page,
        object_bytes: from.small()?,
        answer_bytes: from.small()?,
        list_objects: from.small()?,
        calls_in_flight: from.small()?,
        concurrent_rc_syncs: from.small()?,
        concurrent_syncs: from.small()?,
        burst_replicas: from.small()?,
        handler_backlog: from.small()?,
        events_waiting: from.small()?,
        events_remembered: from.small()?,
        event_message_bytes: from.small()?,
        call_timeout: from.duration()?,
        list_timeout: from.duration()?,
        watch_timeout: from.duration()?,
        watch_grace: from.duration()?,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A configuration of which nothing is the default.
    pub(crate) fn unusual() -> Config {
        let limits = Limits {
            object_bytes: 1,
            answer_bytes: 2,
            list_page: 3,
            list_objects: 4,
            calls_in_flight: 5,
            concurrent_rc_syncs: 19,
            concurrent_syncs: 6,
            burst_replicas: 7,
            handler_backlog: 8,
            events_waiting: 9,
            events_remembered: 10,
            event_message_bytes: 11,
            call_timeout: Duration::from_millis(12),
            list_timeout: Duration::from_millis(13),
            watch_timeout: Duration::from_millis(14),
            watch_grace: Duration::from_millis(15),
        };
        let second = Duration::from_secs(1);
        let election = election::Config {
            release: false,
            seed: 16,
            timing: Timing::new(20 * second, 9 * second, 3 * second).unwrap(),
            ..election::Config::new("kube-system", "sanskube", "host_1")
        };
        Config {
            kinds: vec![ReplicaSetKind::ReplicationController, ReplicaSetKind::ReplicaSet],
            namespace: "shop".into(),
            client_limits: Some(ClientLimits { qps: 0.3, burst: 17 }),
            dry_run: true,
            election: Some(election),
            encoding: Encoding::Protobuf,
            label_selector: "app in (a, b)".into(),
            limits,
            resync_period: Duration::from_nanos(18),
            seed: u64::MAX,
            watch_list: false,
        }
    }

    #[test]
    fn a_configuration_is_taken_as_it_was_put() {
        for config in [Config::default(), unusual()] {
            let mut bytes = Vec::new();
            put(&mut bytes, &config);
            let mut from = Take(&bytes);
            assert_eq!(take(&mut from), Ok(config));
            assert!(from.is_empty());
            for end in 0..bytes.len() {
                assert!(take(&mut Take(&bytes[..end])).is_err(), "cut at {end}");
            }
        }
    }

    #[test]
    fn a_configuration_that_no_flags_make_is_refused() {
        let mut bytes = Vec::new();
        put(&mut bytes, &unusual());
        bytes[0] = 100;
        assert_eq!(take(&mut Take(&bytes)), Err(Bad("a number of kinds")));
    }
}
