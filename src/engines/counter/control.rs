//! Control states: where the threads are, but not which thread is where.
//!
//! The threads of a control state stand in *slots*, sorted by their cuts. Threads at the same cut form a *group*. They are not
//! told apart: sets of values are closed under permutations within groups. So when a thread moves to another cut, only one thread
//! of each group between the two has to move to another slot.

use crate::threads::Location;

/// Where a thread is, and whether only it may move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Key {
    pub location: Location,
    pub holds: bool,
}

/// A multiset of threads, sorted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Control(pub Vec<Key>);

/// From where the thread in a slot comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// It was in this slot and did not move.
    Slot(u32),
    /// It moved.
    Mover,
    /// It was started.
    Created,
}

/// A control state after a step.
#[derive(Debug)]
pub(super) struct Successor {
    pub control: Control,
    /// For every slot, from where its thread comes.
    pub origins: Vec<Origin>,
}

impl Control {
    /// The last slot of every group of threads that may move.
    pub fn movers(&self) -> Vec<u32> {
        let Self(keys) = self;
        if let Some(holder) = keys.iter().position(|key| key.holds) {
            return vec![holder as u32];
        }
        (0..keys.len()).filter(|&slot| keys.get(slot + 1) != Some(&keys[slot])).map(|s| s as u32).collect()
    }

    /// The slots of the group of a slot.
    pub fn group(&self, slot: u32) -> std::ops::Range<u32> {
        let Self(keys) = self;
        let key = keys[slot as usize];
        let first = keys.partition_point(|other| *other < key);
        let end = keys.partition_point(|other| *other <= key);
        first as u32..end as u32
    }

    /// The control state after a step of the thread in a slot.
    pub fn after(&self, slot: u32, to: Option<Key>, creates: Option<Location>) -> Successor {
        let Self(keys) = self;
        let mut threads: Vec<(Key, Origin)> = (0..)
            .zip(keys)
            .filter(|&(other, _)| other != slot)
            .map(|(other, &key)| (key, Origin::Slot(other)))
            .collect();
        threads.extend(to.map(|key| (key, Origin::Mover)));
        threads.extend(creates.map(|location| (Key { location, holds: false }, Origin::Created)));
        // Stable: within a group, by slots.
        threads.sort_by_key(|&(key, _)| key);
        let control = Self(threads.iter().map(|&(key, _)| key).collect());
        let mut origins: Vec<Option<Origin>> = vec![None; threads.len()];
        let mut first = 0;
        while first < threads.len() {
            let key = threads[first].0;
            let end = first + threads[first..].iter().take_while(|thread| thread.0 == key).count();
            // Whoever is in a slot of the group stays there.
            let stays = |origin: Origin| match origin {
                Origin::Slot(at) => (first..end).contains(&(at as usize)).then_some(at as usize),
                _ => None,
            };
            for &(_, origin) in &threads[first..end] {
                if let Some(at) = stays(origin) {
                    origins[at] = Some(origin);
                }
            }
            let mut free = (first..end).filter(|&at| origins[at].is_none()).collect::<Vec<_>>().into_iter();
            for &(_, origin) in &threads[first..end] {
                if stays(origin).is_none()
                    && let Some(at) = free.next()
                {
                    origins[at] = Some(origin);
                }
            }
            first = end;
        }
        Successor { control, origins: origins.into_iter().flatten().collect() }
    }
}

impl Successor {
    /// The slot of a thread.
    pub fn slot_of(&self, origin: Origin) -> Option<u32> {
        self.origins.iter().position(|other| *other == origin).map(|slot| slot as u32)
    }
}
