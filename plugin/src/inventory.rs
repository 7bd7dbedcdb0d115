//! The one inventory that the gRPC server and the health API share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gpulab_device::{DeviceError, Health, Inventory};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// An inventory that several servers share. Every change reaches every subscriber, in order and none left out: the kubelet
/// is sent each state that was, not only the last one.
#[derive(Clone, Debug, Default)]
pub struct SharedInventory {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    inventory: Inventory,
    subscribers: Vec<UnboundedSender<Inventory>>,
}

impl SharedInventory {
    /// Shares `inventory`.
    pub fn new(inventory: Inventory) -> SharedInventory {
        SharedInventory { state: Arc::new(Mutex::new(State { inventory, subscribers: Vec::new() })) }
    }

    /// The inventory as it is now.
    pub fn snapshot(&self) -> Inventory {
        self.state().inventory.clone()
    }

    /// A stream of whole inventories: first the one of now, then one after each change.
    pub fn subscribe(&self) -> UnboundedReceiver<Inventory> {
        let (sender, receiver) = unbounded_channel();
        let mut state = self.state();
        if sender.send(state.inventory.clone()).is_ok() {
            state.subscribers.push(sender);
        }
        receiver
    }

    /// As [`Inventory::set_health`]; subscribers are told if something changed.
    ///
    /// # Errors
    /// An unknown id.
    pub fn set_health(&self, id: &str, health: Health) -> Result<bool, DeviceError> {
        let mut state = self.state();
        let changed = state.inventory.set_health(id, health)?;
        if changed {
            let State { inventory, subscribers } = &mut *state;
            subscribers.retain(|subscriber| subscriber.send(inventory.clone()).is_ok());
        }
        Ok(changed)
    }

    /// A poisoned lock is taken all the same: no method leaves the state half changed.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
