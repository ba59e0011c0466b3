//! Which sets an event wakes.

use serde_json::Value;

use super::super::Check;
use super::world::{World, list};

pub(in super::super) fn replay(case: &Value, check: &mut Check) {
    let mut world = World::new(&case["input"]);
    for (i, op) in list(&case["ops"]).enumerate() {
        if !world.handle_event(i, op, check) {
            check.fail(format!("unknown op {}", op["op"]));
        }
    }
}
