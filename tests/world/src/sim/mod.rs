//! The simulation: a seed is a plan, a plan is run in a world under all checks, and what fails is made small.

mod act;
mod action;
mod coverage;
mod plan;
mod profile;
mod run;
mod shrink;
mod trace;
mod user;

pub use action::{Action, Fault, Policy, Refusal, Requests, User};
pub use coverage::Coverage;
pub use plan::{Plan, SETS, Setup};
pub use profile::Profile;
pub use run::{Outcome, Run, run};
pub use shrink::shrink;
pub use trace::Trace;
