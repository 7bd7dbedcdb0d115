//! SchedulingGates: a pod with gates stays out of the queue, without an event.

use crate::scheduler::framework::Plugin;
use crate::scheduler::pod::PodInfo;

#[derive(Debug)]
pub struct SchedulingGates;

impl Plugin for SchedulingGates {
    fn name(&self) -> &'static str {
        "SchedulingGates"
    }

    fn may_enqueue(&self, pod: &PodInfo) -> bool {
        !pod.gated
    }
}
