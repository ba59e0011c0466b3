//! The play: the story, acted out against an API server.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread::sleep;
use std::time::Duration;

use sanskube::time::Timestamp;
use sanskube_access::Clock;

use super::story::{Scene, Step, Verdict};
use super::user::{User, UserError};
use super::view::View;

/// How often the user looks.
const GLANCE: Duration = Duration::from_millis(50);

/// Shows the play to whoever watches. An error says that it cannot be shown any more.
pub(super) trait Audience {
    /// The user looked again.
    fn see(&mut self, view: &View, now: Timestamp) -> io::Result<()>;
    /// A step has ended as it should.
    fn end(&mut self, step: &Step, took: Duration) -> io::Result<()>;
}

/// Why the play was broken off.
#[derive(Debug)]
pub(super) enum Failure {
    /// A step did not end as it should.
    Step {
        /// What the user did.
        name: &'static str,
        /// What should have come of it.
        expected: &'static str,
        /// What was seen instead.
        seen: String,
    },
    /// Somebody asked for it.
    Stopped {
        /// With this signal.
        signal: i32,
    },
    /// It cannot be shown any more.
    Unseen(io::Error),
    /// The user could not do or see something.
    User {
        /// The step at which it happened.
        name: &'static str,
        /// What happened.
        error: UserError,
    },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step { name, expected, seen } => {
                write!(f, "the step \"{name}\" failed\n  expected: {expected}\n  seen:     {seen}")
            }
            Self::Stopped { signal } => write!(f, "stopped by signal {signal}"),
            Self::Unseen(e) => write!(f, "cannot be shown: {e}"),
            Self::User { name, error } => write!(f, "at the step \"{name}\", {error}"),
        }
    }
}

impl std::error::Error for Failure {}

/// Where the story is acted out.
pub(super) struct Stage<'a> {
    /// Who acts and looks.
    pub(super) user: &'a User,
    /// The clock of the play.
    pub(super) clock: Clock,
    /// The signal with which somebody wants it to stop; zero while nobody does.
    pub(super) stop: &'a AtomicI32,
    /// How long a step may take.
    pub(super) patience: Duration,
}

impl Stage<'_> {
    /// Acts the steps out, one after the other.
    pub(super) fn play(&self, steps: &[Step], audience: &mut impl Audience) -> Result<(), Failure> {
        for step in steps {
            let began = self.clock.now().instant;
            self.act_out(step, audience)?;
            audience.end(step, self.clock.now().instant.since(began)).map_err(Failure::Unseen)?;
        }
        Ok(())
    }

    fn act_out(&self, step: &Step, audience: &mut impl Audience) -> Result<(), Failure> {
        let Step { name, expected, .. } = *step;
        let failed = |error| Failure::User { name, error };
        let view = View::read(self.user).map_err(failed)?;
        let subject = (step.act)(self.user, &view).map_err(failed)?;
        let deadline = self.clock.now().instant + self.patience;
        loop {
            match self.stop.load(Ordering::Relaxed) {
                0 => {}
                signal => return Err(Failure::Stopped { signal }),
            }
            let view = View::read(self.user).map_err(failed)?;
            let now = self.clock.now();
            audience.see(&view, now.wall).map_err(Failure::Unseen)?;
            let seen = match (step.check)(&Scene { view: &view, subject: &subject, now: now.wall }) {
                Verdict::Yes => return Ok(()),
                Verdict::NotYet if now.instant < deadline => {
                    sleep(GLANCE);
                    continue;
                }
                Verdict::NotYet => format!("{} (after {} s)", view.summary(), self.patience.as_secs()),
                Verdict::Wrong(what) => what,
            };
            return Err(Failure::Step { name, expected, seen });
        }
    }
}

#[cfg(test)]
mod tests {
    use sanskube_apiserver::{Server, ServerConfig};

    use super::super::story::STORY;
    use super::*;

    /// Writes down the names of the steps that have ended.
    impl Audience for Vec<&'static str> {
        fn see(&mut self, _: &View, _: Timestamp) -> io::Result<()> {
            Ok(())
        }

        fn end(&mut self, step: &Step, _: Duration) -> io::Result<()> {
            self.push(step.name);
            Ok(())
        }
    }

    /// Plays before an API server without a controller, so that nothing comes of anything, and says which steps ended.
    fn play(steps: &[Step], stop: i32) -> (Vec<&'static str>, String) {
        let server = Server::start(ServerConfig::default()).unwrap();
        let (user, stop) = (User::new(&server.url()), AtomicI32::new(stop));
        let stage = Stage { user: &user, clock: Clock::start(), stop: &stop, patience: Duration::ZERO };
        let mut ended = Vec::new();
        let failure = stage.play(steps, &mut ended).unwrap_err();
        (ended, failure.to_string())
    }

    fn step(check: fn(&Scene<'_>) -> Verdict) -> Step {
        Step { name: "it rains", expected: "it is wet", act: |_, _| Ok(String::new()), check }
    }

    #[test]
    fn a_step_of_which_nothing_comes_is_told_with_what_was_seen() {
        let (ended, failure) = play(STORY, 0);
        assert_eq!(ended, [""; 0]);
        let seen = "web: 0 desired, 0 current, 0 ready, 0 available (of an older spec); no pods (after 0 s)";
        let expected = "the set says that it has no pods";
        let name = "a set of no pods is created";
        assert_eq!(failure, format!("the step \"{name}\" failed\n  expected: {expected}\n  seen:     {seen}"));
    }

    #[test]
    fn what_must_never_happen_ends_the_play() {
        let steps = [step(|_| Verdict::Yes), step(|_| Verdict::Wrong("snow".into())), step(|_| Verdict::Yes)];
        let (ended, failure) = play(&steps, 0);
        assert_eq!(ended, ["it rains"]);
        assert_eq!(failure, "the step \"it rains\" failed\n  expected: it is wet\n  seen:     snow");
    }

    #[test]
    fn a_user_who_is_refused_says_so() {
        let act = |user: &User, _: &View| user.delete(super::super::user::Kind::Pod, "gone").map(|_| String::new());
        let (_, failure) = play(&[Step { act, ..step(|_| Verdict::Yes) }], 0);
        assert!(
            failure.starts_with("at the step \"it rains\", DELETE /api/v1/namespaces/default/pods/gone"),
            "{failure}"
        );
        assert!(failure.ends_with("404 Not Found: pods \"gone\" not found"), "{failure}");
    }

    #[test]
    fn whoever_asks_for_it_stops_the_play() {
        assert_eq!(play(STORY, 15), (vec![], "stopped by signal 15".into()));
    }
}
