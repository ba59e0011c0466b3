//! Explores a small world, and shows what fails.

use std::process::ExitCode;
use std::time::Instant;

use sanskube_world::check::tell_panics_as_violations;
use sanskube_world::explore::{Bounds, Explored, explore};

use crate::output::say;

/// More pods than these are no small world.
const MOST_PODS: u8 = 8;

const HELP: &str = "\
Tries every order in which things can happen in a small world, under checks in every state.

usage: sanskube-world explore [--sets N,N] [--users N] [--faults N] [--syncs N] [--depth N]

  --sets N,N   how many pods each set wants, one set or two (default 1,2; at most 8)
  --users N    how many deeds of users (default 0): scaling, deleting, making anew, relabelling
  --faults N   how much goes wrong (default 1): requests and answers that are lost, watches that break, missed events, crashes
  --syncs N    how many sets are worked on at once (default 1; 2 makes a world of two sets ten times as large)
  --depth N    how many choices deep, at least 1 (default: all there are; with users that does not end within minutes)";

/// Runs the command.
pub(crate) fn run(args: &[String]) -> ExitCode {
    if args.iter().any(|arg| arg == "--help" || arg == "-h") {
        say!("{HELP}");
        return ExitCode::SUCCESS;
    }
    let bounds = match parse(args) {
        Ok(bounds) => bounds,
        Err(problem) => {
            eprintln!("{problem}; see explore --help");
            return ExitCode::from(2);
        }
    };
    tell_panics_as_violations();
    let began = Instant::now();
    let tell = |explored: &Explored| {
        let Explored { states, steps, depth, ends, left } = explored;
        let seconds = began.elapsed().as_secs_f64();
        say!("depth {depth:3}: {states} states, {steps} steps, {ends} ends, {left} to go on from, {seconds:.1} s");
    };
    match explore(&bounds, tell) {
        Ok(Explored { states, steps, depth, ends, left }) => {
            let whole = if left == 0 { "All".to_owned() } else { format!("Up to depth {depth} ({left} left)") };
            say!(
                "\n{whole}: {states} states, {steps} steps, depth {depth}; all is well in each, and in the {ends} ends"
            );
            ExitCode::SUCCESS
        }
        Err(failure) => {
            say!("\nVIOLATION {}\n", failure.violation);
            for (nth, what) in failure.path.iter().enumerate() {
                say!("{:4}  {what}", nth + 1);
            }
            ExitCode::FAILURE
        }
    }
}

fn parse(args: &[String]) -> Result<Bounds, String> {
    let mut bounds = Bounds { sets: vec![1, 2], users: 0, faults: 1, syncs: 1, depth: u32::MAX };
    for pair in args.chunks(2) {
        let [name, value] = pair else { return Err(format!("{} is no option, or needs a value", pair[0])) };
        let number = |text: &str| text.parse().map_err(|_| format!("{text:?} is no small number"));
        match name.as_str() {
            "--sets" => bounds.sets = value.split(',').map(number).collect::<Result<_, _>>()?,
            "--users" => bounds.users = number(value)?,
            "--faults" => bounds.faults = number(value)?,
            "--syncs" => bounds.syncs = value.parse().map_err(|_| format!("{value:?} is no number"))?,
            "--depth" => bounds.depth = value.parse().map_err(|_| format!("{value:?} is no number"))?,
            _ => return Err(format!("{name:?} is no option")),
        }
    }
    if bounds.depth == 0 || bounds.syncs == 0 {
        return Err("--depth and --syncs are at least 1".into());
    }
    if bounds.sets.is_empty() || bounds.sets.len() > 2 {
        return Err("there are one or two sets".into());
    }
    if bounds.sets.iter().any(|pods| *pods > MOST_PODS) {
        return Err(format!("a set wants at most {MOST_PODS} pods"));
    }
    Ok(bounds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &str) -> Result<Bounds, String> {
        parse(&crate::args::split(args.split(' ').map(str::to_owned)))
    }

    #[test]
    fn what_is_to_be_explored_is_something() {
        let bounds = Bounds { sets: vec![2], users: 1, faults: 1, syncs: 2, depth: 3 };
        assert_eq!(parsed("--sets 2 --users=1 --syncs 2 --depth 3"), Ok(bounds));
        for wrong in
            ["--depth 0", "--syncs 0", "--depth", "--depth x", "--sets 1,2,3", "--sets 9", "--sets", "--what 1", "what"]
        {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }
}
