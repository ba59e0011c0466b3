//! The command line.

use std::thread::available_parallelism;

use sanskube_world::sim::Profile;

pub(crate) const HELP: &str = "\
Runs the simulation: an API server, controllers, users and faults, in virtual time, under checks after every step.

usage: sanskube-world [--seeds N] [--start S] [--profile P] [--jobs N] [--whole | --keep-going]
       sanskube-world --replay SEED [--profile P] [--whole]
       sanskube-world explore [--help]

  --seeds N      how many seeds to run (default 1000), up to the first that fails, which is told like one that is replayed
  --start S      the first of them (default 0)
  --profile P    which faults: all (default), calm, crash, leader, network, server, stale
  --jobs N       how many threads (default: one for each core, and no more than seeds)
  --replay SEED  tell what happens under a seed, made as small as it gets if it fails
  --whole        do not make it smaller
  --keep-going   run all seeds, and list what fails instead of telling the first

Values may follow an equals sign, too: --seeds=10. It ends with 0 if nothing fails, with 1 if something does, with 2 if it is asked wrongly.
A night's work, some eight hours on two cores: --start 1000000 --seeds 10000000 --keep-going
Another night's: --seeds 1000000 --keep-going with each of the other profiles";

/// What is asked for.
#[derive(Debug)]
pub(crate) struct Args {
    pub(crate) seeds: u64,
    pub(crate) start: u64,
    pub(crate) profile: Profile,
    pub(crate) jobs: u64,
    pub(crate) replay: Option<u64>,
    pub(crate) whole: bool,
    pub(crate) keep_going: bool,
}

impl Args {
    /// Reads arguments that have been [`split`].
    pub(crate) fn parse(args: &[String]) -> Result<Self, String> {
        let jobs = available_parallelism().map_or(1, usize::from) as u64;
        let mut parsed =
            Self { seeds: 1000, start: 0, profile: Profile::All, jobs, replay: None, whole: false, keep_going: false };
        let mut rest = args.iter();
        while let Some(name) = rest.next() {
            let mut value = || rest.next().ok_or_else(|| format!("{name} needs a value"));
            let number = |text: &String| text.parse().map_err(|_| format!("{name} needs a number, not {text:?}"));
            match name.as_str() {
                "--seeds" => parsed.seeds = number(value()?)?,
                "--start" => parsed.start = number(value()?)?,
                "--profile" => parsed.profile = value()?.parse()?,
                "--jobs" => parsed.jobs = number(value()?)?,
                "--replay" => parsed.replay = Some(number(value()?)?),
                "--keep-going" => parsed.keep_going = true,
                "--whole" => parsed.whole = true,
                _ => return Err(format!("{name:?} is no option")),
            }
        }
        let is_given = |name: &&str| args.iter().any(|arg| arg == name);
        if parsed.seeds == 0 || parsed.jobs == 0 {
            return Err("--seeds and --jobs are at least 1".into());
        }
        let for_many = ["--seeds", "--start", "--jobs", "--keep-going"];
        match for_many.iter().find(|name| is_given(name)).filter(|_| parsed.replay.is_some()) {
            Some(name) => Err(format!("{name} has no meaning with --replay, which runs one seed")),
            None if parsed.whole && parsed.keep_going => {
                Err("--whole has no meaning with --keep-going, which makes nothing smaller".into())
            }
            None => Ok(parsed),
        }
    }
}

/// The arguments, with `--name=value` as two of them.
pub(crate) fn split(args: impl Iterator<Item = String>) -> Vec<String> {
    let parts = |arg: String| match arg.split_once('=').filter(|(name, _)| name.starts_with("--")) {
        Some((name, value)) => vec![name.to_owned(), value.to_owned()],
        None => vec![arg],
    };
    args.flat_map(parts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &str) -> Result<Args, String> {
        Args::parse(&split(args.split_whitespace().map(str::to_owned)))
    }

    #[test]
    fn values_follow_a_space_or_an_equals_sign() {
        for args in [
            "--seeds 10 --profile stale --start 7 --jobs 1 --whole",
            "--seeds=10 --profile=stale --start=7 --jobs=1 --whole",
        ] {
            let args = parsed(args).unwrap();
            assert_eq!((args.seeds, args.start, args.profile, args.jobs), (10, 7, Profile::Stale, 1));
            assert!(args.whole && !args.keep_going && args.replay.is_none());
        }
        assert_eq!(parsed("--replay 5 --profile=calm --whole").unwrap().replay, Some(5));
        assert!(parsed("--keep-going").unwrap().keep_going);
    }

    #[test]
    fn what_has_no_meaning_is_refused() {
        for (args, problem) in [
            ("--jobs 0", "--seeds and --jobs are at least 1"),
            ("--seeds 0", "--seeds and --jobs are at least 1"),
            ("--replay 5 --seeds 10", "--seeds has no meaning with --replay, which runs one seed"),
            ("--jobs=2 --replay 5", "--jobs has no meaning with --replay, which runs one seed"),
            ("--replay 5 --keep-going", "--keep-going has no meaning with --replay, which runs one seed"),
            ("--whole --keep-going", "--whole has no meaning with --keep-going, which makes nothing smaller"),
            ("--seeds", "--seeds needs a value"),
            ("--seeds=ten", "--seeds needs a number, not \"ten\""),
            ("--whole=yes", "\"yes\" is no option"),
            ("seeds", "\"seeds\" is no option"),
        ] {
            assert_eq!(parsed(args).unwrap_err(), problem);
        }
    }
}
