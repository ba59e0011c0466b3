//! The plan of a run: all that will be done, drawn from the seed before anything happens.

use std::time::Duration;

use sanskube::rand::SplitMix64;

use super::action::{Action, Fault, Policy, Refusal, Requests, User};
use super::profile::Profile;

/// How many sets there can be. The last lives in the second namespace.
pub const SETS: u8 = 3;

/// What is done in a run, and in what world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The seed of everything that is not written here: delays, jitter, names.
    pub seed: u64,
    /// The world.
    pub setup: Setup,
    /// What is done when, in order of time from the start.
    pub actions: Vec<(Duration, Action)>,
}

/// A world, before anything goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// How many managers there are.
    pub managers: u8,
    /// Whether they elect a leader.
    pub election: bool,
    /// Whether there is an observer.
    pub observer: bool,
    /// Whether managers ask for streaming lists.
    pub watch_list: bool,
    /// Whether the first two sets select the same pods.
    pub overlap: bool,
    /// Whether the bounds are so tight that they are hit.
    pub tight: bool,
    /// The longest delay of the network.
    pub delay: Duration,
    /// How long a watch lasts at least.
    pub watch: Duration,
    /// How many changes the server remembers.
    pub history: usize,
    /// Whether pods become ready some time after they run.
    pub slowly: bool,
    /// How long the kubelet and the garbage collector take.
    pub pace: Duration,
}

impl Setup {
    /// Whether there are several managers that do not elect a leader, as nobody should have them.
    pub fn lacks_election(&self) -> bool {
        self.managers > 1 && !self.election
    }
}

/// Draws from a seed.
struct Dice(SplitMix64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0.next_u64() % bound
    }

    fn small(&mut self, bound: u8) -> u8 {
        u8::try_from(self.below(bound.into())).unwrap_or(0)
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::try_from(self.below(from.len() as u64)).unwrap_or(0)]
    }

    /// A time up to a bound, short ones as likely as long ones.
    fn time(&mut self, longest: Duration) -> Duration {
        let shift = u32::try_from(self.below(8)).unwrap_or(0);
        (longest / (1 << shift)).mul_f64(0.5 + self.0.next_unit() / 2.0)
    }
}

const MILLI: Duration = Duration::from_millis(1);

impl Plan {
    /// The plan that a seed stands for.
    pub fn draw(seed: u64, profile: Profile) -> Self {
        let mut dice = Dice(SplitMix64::new(seed));
        let leader = profile == Profile::Leader || profile == Profile::All && dice.one_in(6);
        let many = leader || profile == Profile::All && dice.one_in(12);
        let setup = Setup {
            managers: if many { 2 + dice.small(2) } else { 1 },
            election: leader,
            observer: profile != Profile::Leader && dice.one_in(3),
            watch_list: dice.one_in(2),
            overlap: dice.one_in(6),
            tight: dice.one_in(4),
            delay: MILLI * dice.pick(&[1, 5, 20, 100]),
            // Of several that do not elect a leader one that is behind contradicts the others until its watch ends.
            watch: Duration::from_secs(if many && !leader { 10 } else { dice.pick(&[10, 30, 120]) }),
            history: dice.pick(&[64, 1000]),
            slowly: dice.one_in(2),
            pace: MILLI * dice.pick(&[1, 20, 200]),
        };
        // Now and then longer than an expectation lasts.
        let lengths: &[u64] = if profile == Profile::Stale { &[2, 10, 30, 2, 10, 30, 700] } else { &[2, 10, 30] };
        let length = Duration::from_secs(if leader { 60 } else { dice.pick(lengths) });
        let mut actions = Vec::new();
        for set in 0..=dice.small(SETS) {
            let create = User::Create { set, replicas: dice.small(5), min_ready: dice.pick(&[0, 0, 2]) };
            actions.push((Duration::ZERO, Action::User(create)));
        }
        let mut moments = Vec::new();
        if profile != Profile::Calm {
            for _ in 0..1 + dice.below(6) {
                let at = length.mul_f64(dice.0.next_unit());
                moments.push(at);
                actions.push((at, Action::Fault(draw_fault(&mut dice, profile, length))));
            }
        }
        for _ in 0..2 + dice.below(10) {
            // Users are no less busy when something goes wrong.
            let at = match moments.len() {
                1.. if dice.one_in(2) => dice.pick(&moments) + dice.time(length / 4),
                _ => length.mul_f64(dice.0.next_unit()),
            };
            actions.push((at, Action::User(draw_user(&mut dice))));
        }
        actions.sort_by_key(|(at, _)| *at);
        // By dice of their own, so that the rest of the plan stays.
        let mut dice = Dice(SplitMix64::new(!seed));
        for (_, action) in &mut actions {
            if let Action::Fault(Fault::Crash { behind, .. } | Fault::Stop { behind, .. }) = action
                && dice.one_in(3)
            {
                *behind = 1 + dice.small(20);
            }
        }
        Self { seed, setup, actions }
    }
}

fn draw_user(dice: &mut Dice) -> User {
    let (set, pod) = (dice.small(SETS), dice.small(16));
    match dice.below(24) {
        0..=5 => User::Scale { set, replicas: dice.small(6) },
        6 | 7 => User::Create { set, replicas: dice.small(5), min_ready: dice.pick(&[0, 0, 3]) },
        8 => User::Delete { set, policy: dice.pick(&[Policy::Background, Policy::Foreground, Policy::Orphan]) },
        9 => User::Recreate { set, replicas: dice.small(5) },
        10..=12 => match dice.below(3) {
            0 => User::DeletePod { pod, at_once: false },
            1 => User::DeletePod { pod, at_once: true },
            _ => User::ReplacePod { pod },
        },
        13 => User::Disown { pod },
        14 => User::EndNamespace { after: dice.time(Duration::from_secs(4)) },
        15 => User::FailPod { pod },
        16 => User::Finalize { pod, on: !dice.one_in(3) },
        17 | 18 => User::MakePod { set },
        19 => User::Quota { pods: dice.small(6), lasts: dice.time(Duration::from_secs(20)) },
        20 | 21 => User::Relabel { pod, set: dice.one_in(2).then_some(set) },
        22 => User::Touch { set },
        _ => User::Cost { pod, cost: i8::try_from(dice.below(20)).unwrap_or(0) - 10 },
    }
}

/// A kind of fault, which a list of them names the more often, the more likely it is.
#[derive(Clone, Copy)]
enum Kind {
    Collide,
    Compact,
    Crash,
    Cut,
    CutOff,
    Expire,
    Freeze,
    Gap,
    KubeletPause,
    Lag,
    Refuse,
    ServerDown,
    Silence,
    Skew,
    SlowHandler,
    SlowNetwork,
    Stop,
    Suspend,
    TimeTravel,
}

fn draw_fault(dice: &mut Dice, profile: Profile, length: Duration) -> Fault {
    use Kind::*;
    const NETWORK: &[Kind] = &[Cut, Cut, Silence, Silence, CutOff, SlowNetwork, Gap];
    const SERVER: &[Kind] = &[Refuse, Refuse, Refuse, Refuse, Compact, Expire, Collide, ServerDown, KubeletPause];
    const CRASH: &[Kind] = &[Crash, Crash, Crash, Stop, Suspend];
    const STALE: &[Kind] = &[Lag, Lag, TimeTravel, TimeTravel, Expire, Freeze, Freeze];
    const LEADER: &[Kind] = &[Crash, Stop, Suspend, Suspend, CutOff, CutOff, Refuse, ServerDown, SlowNetwork, Skew];
    let kinds = match profile {
        Profile::All | Profile::Calm => {
            let family = dice.pick(&[NETWORK, SERVER, CRASH, STALE, &[KubeletPause, Skew, SlowHandler]]);
            return draw_kind(dice, profile, family, length);
        }
        Profile::Crash => CRASH,
        Profile::Leader => LEADER,
        Profile::Network => NETWORK,
        Profile::Server => SERVER,
        Profile::Stale => STALE,
    };
    draw_kind(dice, profile, kinds, length)
}

fn draw_kind(dice: &mut Dice, profile: Profile, kinds: &[Kind], length: Duration) -> Fault {
    use Kind::*;
    let (who, line, lasts) = (dice.small(3), dice.small(6), dice.time(length / 2));
    match dice.pick(kinds) {
        Cut => Fault::Cut { who, line, within_frame: dice.one_in(2) },
        Silence => Fault::Silence { who, line },
        CutOff => Fault::CutOff { who, lasts },
        SlowNetwork => Fault::SlowNetwork { longest: dice.time(Duration::from_secs(3)), lasts },
        Gap => Fault::Gap { who, lasts },
        Refuse => {
            let how = match dice.below(6) {
                0 => Refusal::Hangup,
                _ => Refusal::Status(dice.pick(&[409, 429, 500, 504])),
            };
            let what = dice.pick(&[
                Requests::Creations,
                Requests::Creations,
                Requests::Deletions,
                if profile == Profile::Leader { Requests::Leases } else { Requests::Lists },
                Requests::Patches,
                Requests::Statuses,
            ]);
            // A server that says that it did not do a thing because it is busy, or because of a conflict, did not.
            let may_have_acted = matches!(how, Refusal::Hangup | Refusal::Status(500 | 504));
            let after_effect = may_have_acted && dice.one_in(2);
            Fault::Refuse { what, how, after_effect, skip: dice.small(3), times: 1 + dice.small(4) }
        }
        Compact => Fault::Compact,
        Expire => Fault::Expire { pods: !dice.one_in(3) },
        Collide => Fault::Collide { lasts: dice.time(Duration::from_secs(3)) },
        ServerDown => Fault::ServerDown { lasts },
        KubeletPause => Fault::KubeletPause { lasts },
        Crash => {
            let calls = dice.small(12);
            Fault::Crash { who, calls, lose: dice.one_in(2), down: dice.time(Duration::from_secs(5)), behind: 0 }
        }
        Stop => Fault::Stop { who, down: dice.time(Duration::from_secs(5)), behind: 0 },
        Suspend => Fault::Suspend { who, lasts },
        Lag => Fault::Lag { who, lasts },
        TimeTravel => Fault::TimeTravel { who, versions: 1 + dice.small(20), lasts },
        Skew => Fault::Skew { who, seconds: i16::try_from(dice.below(200)).unwrap_or(0) - 100, lasts },
        SlowHandler => Fault::SlowHandler { lasts },
        Freeze => Fault::Freeze { lasts },
    }
}
