//! VolumeBinding, as far as a lab without volumes needs it: a pod that names a claim waits for it.

use crate::scheduler::framework::{Cycle, EventKind, Plugin, PreFilter};

#[derive(Debug)]
pub struct VolumeBinding;

impl Plugin for VolumeBinding {
    fn name(&self) -> &'static str {
        "VolumeBinding"
    }

    fn pre_filter(&self, cycle: &Cycle<'_>) -> PreFilter {
        match cycle.pod.rules.claims.first() {
            Some(claim) => PreFilter::Reject(format!("persistentvolumeclaim \"{claim}\" not found")),
            None => PreFilter::Skip,
        }
    }

    fn events(&self) -> &'static [EventKind] {
        &[EventKind::NodeAdd, EventKind::NodeLabel]
    }
}
