//! Runs seeds of the simulation on all cores, and shows what fails.

mod args;
mod explore_command;
mod output;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sanskube_world::check::tell_panics_as_violations;
use sanskube_world::sim::{Coverage, Plan, Profile, run, shrink};

use crate::args::{Args, HELP, split};
use crate::output::say;

/// Half of a run is small objects that come and go.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args = split(std::env::args().skip(1));
    if args.first().is_some_and(|arg| arg == "explore") {
        return explore_command::run(&args[1..]);
    }
    if args.iter().any(|arg| arg == "--help" || arg == "-h") {
        say!("{HELP}");
        return ExitCode::SUCCESS;
    }
    let args = match Args::parse(&args) {
        Ok(args) => args,
        Err(problem) => {
            eprintln!("{problem}; see --help");
            return ExitCode::from(2);
        }
    };
    tell_panics_as_violations();
    let fine = match args.replay {
        Some(seed) => replay(seed, &args),
        None => run_all(&args),
    };
    if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs all seeds, up to the first that fails unless it is to keep going. Whether none failed.
fn run_all(args: &Args) -> bool {
    let (next, steps, stop) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let told = AtomicU64::new(0);
    let coverage = Mutex::new(Coverage::default());
    let failures = Mutex::new(BTreeMap::new());
    let began = Instant::now();
    let work = || {
        let mut covered = Coverage::default();
        while !stop.load(Ordering::Relaxed) {
            let nth = next.fetch_add(1, Ordering::Relaxed);
            if nth >= args.seeds {
                break;
            }
            let seed = args.start.wrapping_add(nth);
            let outcome = run(&Plan::draw(seed, args.profile), false);
            steps.fetch_add(outcome.steps, Ordering::Relaxed);
            covered.add(&outcome.coverage);
            if let Some(violation) = outcome.violation {
                stop.store(!args.keep_going, Ordering::Relaxed);
                failures.lock().expect("nobody panics with it").insert(seed, violation);
            }
            let minute = began.elapsed().as_secs() / 60;
            if told.fetch_max(minute, Ordering::Relaxed) < minute {
                let failed = failures.lock().expect("nobody panics with it").len();
                eprintln!("{minute} min: {nth} of {} seeds, {failed} fail", args.seeds);
            }
        }
        coverage.lock().expect("nobody panics with it").add(&covered);
    };
    std::thread::scope(|scope| {
        for _ in 0..args.seeds.min(args.jobs) {
            scope.spawn(work);
        }
    });
    tell(next.into_inner().min(args.seeds), steps.into_inner(), began.elapsed(), args.profile);
    say!("\n{}", coverage.into_inner().expect("all threads have ended"));
    let failures = failures.into_inner().expect("all threads have ended");
    if args.keep_going {
        for (seed, violation) in &failures {
            say!("\nseed {seed}: {violation}");
        }
        say!("\n{} seeds fail", failures.len());
        return failures.is_empty();
    }
    failures.keys().next().is_none_or(|seed| replay(*seed, args))
}

fn tell(seeds: u64, steps: u64, took: Duration, profile: Profile) {
    let seconds = took.as_secs_f64().max(1e-9);
    let rate = |count: u64| (count as f64 / seconds).round();
    say!(
        "{seeds} schedules of profile {profile} in {seconds:.1} s: {} a second, {} steps a second",
        rate(seeds),
        rate(steps)
    );
}

/// Tells what happens under a seed. Whether nothing was wrong.
fn replay(seed: u64, args: &Args) -> bool {
    let plan = Plan::draw(seed, args.profile);
    let outcome = run(&plan, false);
    let plan = match &outcome.violation {
        Some(violation) if !args.whole => {
            say!("\nseed {seed} of profile {} fails: {violation}\nmaking it smaller ...", args.profile);
            shrink(&plan, violation.rule)
        }
        _ => plan,
    };
    let outcome = run(&plan, true);
    say!("\n{:#?}", plan.setup);
    for (at, action) in &plan.actions {
        say!("{at:>14.3?}  {action:?}");
    }
    say!("");
    for line in &outcome.trace.lines {
        say!("{line}");
    }
    match &outcome.violation {
        Some(violation) => {
            say!("\nVIOLATION {violation}\n\nagain with: --replay {seed} --profile {}", args.profile);
        }
        None => say!("\nall is well after {} steps", outcome.steps),
    }
    outcome.violation.is_none()
}
