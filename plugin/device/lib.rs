//! Device rules of the lab, written once: which devices exist and how healthy they are. The device plugin serves them, the
//! modelled kubelet of fleet nodes follows them.

use std::fmt;
use std::str::FromStr;

/// The device plugin protocol's limit on the length of an id, in bytes.
pub const MAX_ID_LENGTH: usize = 63;

/// The health of a device, in the two words of the device plugin protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub enum Health {
    /// Counted in capacity and in allocatable.
    Healthy,
    /// Counted in capacity only.
    Unhealthy,
}

impl Health {
    /// The exact word.
    pub fn as_str(self) -> &'static str {
        match self {
            Health::Healthy => "Healthy",
            Health::Unhealthy => "Unhealthy",
        }
    }
}

impl fmt::Display for Health {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Why an inventory cannot be made or changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// No device has this id.
    #[error("no device is called {0}")]
    Unknown(String),
    /// Health is neither of the two words; case matters.
    #[error("health is exactly Healthy or Unhealthy, not {0:?}")]
    NotAHealth(String),
    /// Two devices with one id.
    #[error("two devices are called {0}")]
    Duplicate(String),
    /// An id is empty, longer than [`MAX_ID_LENGTH`] or has other characters than letters, digits, `-`, `_` and `.`.
    #[error("{0:?} is not a device id: 1 to 63 letters, digits, '-', '_' or '.'")]
    NotAnId(String),
}

impl FromStr for Health {
    type Err = DeviceError;

    fn from_str(word: &str) -> Result<Health, DeviceError> {
        match word {
            "Healthy" => Ok(Health::Healthy),
            "Unhealthy" => Ok(Health::Unhealthy),
            _ => Err(DeviceError::NotAHealth(word.to_owned())),
        }
    }
}

/// One device as the plugin advertises it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Device {
    /// Unique within its inventory.
    pub id: String,
    /// Whether it can be given out.
    pub health: Health,
}

/// The devices of one node for one resource, in a fixed order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    devices: Vec<Device>,
}

impl Inventory {
    /// Healthy devices with these ids.
    ///
    /// # Errors
    /// An id that is malformed or given twice.
    pub fn new(ids: impl IntoIterator<Item = impl Into<String>>) -> Result<Inventory, DeviceError> {
        let mut devices: Vec<Device> = Vec::new();
        for id in ids {
            let id = id.into();
            if id.is_empty()
                || id.len() > MAX_ID_LENGTH
                || !id.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
            {
                return Err(DeviceError::NotAnId(id));
            }
            if devices.iter().any(|device| device.id == id) {
                return Err(DeviceError::Duplicate(id));
            }
            devices.push(Device { id, health: Health::Healthy });
        }
        Ok(Inventory { devices })
    }

    /// The lab's own devices: `count` of them, `sim-gpu-0` and on.
    pub fn lab(count: usize) -> Inventory {
        let device = |index| Device { id: format!("sim-gpu-{index}"), health: Health::Healthy };
        Inventory { devices: (0..count).map(device).collect() }
    }

    /// All devices, in order.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// The device with this id.
    pub fn device(&self, id: &str) -> Option<&Device> {
        self.devices.iter().find(|device| device.id == id)
    }

    /// Sets the health of one device and says whether that changed anything: setting what is already so is no change, and
    /// the kubelet is then told nothing.
    ///
    /// # Errors
    /// An unknown id.
    pub fn set_health(&mut self, id: &str, health: Health) -> Result<bool, DeviceError> {
        let device = self.devices.iter_mut().find(|device| device.id == id);
        let device = device.ok_or_else(|| DeviceError::Unknown(id.to_owned()))?;
        let changed = device.health != health;
        device.health = health;
        Ok(changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_health_is_told_once() {
        let mut inventory = Inventory::lab(2);
        assert_eq!(inventory.set_health("sim-gpu-1", Health::Unhealthy), Ok(true));
        assert_eq!(inventory.set_health("sim-gpu-1", Health::Unhealthy), Ok(false));
        let health: Vec<Health> = inventory.devices().iter().map(|device| device.health).collect();
        assert_eq!(health, [Health::Healthy, Health::Unhealthy]);
        assert_eq!(inventory.set_health("sim-gpu-2", Health::Healthy), Err(DeviceError::Unknown("sim-gpu-2".into())));
    }

    #[test]
    fn health_is_two_exact_words() {
        assert_eq!("Healthy".parse(), Ok(Health::Healthy));
        assert_eq!("Unhealthy".parse(), Ok(Health::Unhealthy));
        for word in ["healthy", "", "Healthy ", "Unknown"] {
            assert_eq!(word.parse::<Health>(), Err(DeviceError::NotAHealth(word.into())));
        }
    }

    #[test]
    fn ids_are_unique_and_fit_the_protocol() {
        assert_eq!(Inventory::new(["a", "b", "a"]), Err(DeviceError::Duplicate("a".into())));
        let long = "x".repeat(64);
        assert_eq!(Inventory::new([long.clone()]), Err(DeviceError::NotAnId(long)));
        for id in ["", "a/b", "a b"] {
            assert_eq!(Inventory::new([id]), Err(DeviceError::NotAnId(id.into())));
        }
        assert_eq!(Inventory::new(["x".repeat(63)]).map(|inventory| inventory.devices().len()), Ok(1));
    }
}
