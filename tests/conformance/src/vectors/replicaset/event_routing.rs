//! Which sets an event wakes.

use serde_json::Value;

use super::super::Check;
use super::ops;
use super::world::World;

pub(in super::super) fn replay(case: &Value, check: &mut Check) {
    let mut world = World::new(&case["input"]);
    for (i, op) in ops(case, check).iter().enumerate() {
        if !world.handle_event(i, op, check) {
            check.fail(format!("unknown op {}", op["op"]));
        }
    }
}
