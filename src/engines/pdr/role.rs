//! The parts that the threads of a cube can have in the step that leads into it.

/// Which threads of a cube after a step are the one that moved, a new one, or bystanders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// This thread of the cube has moved.
    Moves(usize),
    /// Somebody else has moved.
    Outsider,
    /// The second thread of the cube was started by the first.
    Started(usize, usize),
    /// This thread of the cube was started by somebody else.
    StartedByOutsider(usize),
}

/// Where a thread of a cube is among the slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seat {
    Mover,
    New,
    Watcher(usize),
}

impl Role {
    /// All roles for a cube with `k` threads, if at most `most` threads live at the same time.
    pub fn all(k: usize, creates: bool, most: usize) -> Vec<Self> {
        let mut roles: Vec<Self> = (0..k).map(Self::Moves).collect();
        if k < most {
            roles.push(Self::Outsider);
        }
        if creates && k <= most {
            let pairs = (0..k).flat_map(|i| (0..k).map(move |j| (i, j))).filter(|(i, j)| i != j);
            roles.extend(pairs.map(|(i, j)| Self::Started(i, j)));
            if k < most {
                roles.extend((0..k).map(Self::StartedByOutsider));
            }
        }
        roles
    }

    /// For every thread of a cube with `k` threads, its seat after the step.
    pub fn seats(self, k: usize) -> Vec<Seat> {
        let mut watchers = 0..;
        let mut watcher = || Seat::Watcher(watchers.next().unwrap_or_default());
        (0..k)
            .map(|thread| match self {
                Self::Moves(mover) | Self::Started(mover, _) if thread == mover => Seat::Mover,
                Self::Started(_, new) | Self::StartedByOutsider(new) if thread == new => Seat::New,
                _ => watcher(),
            })
            .collect()
    }

    /// The threads of the cube that were there before the step, in the order of slots: `None` is the mover if it is an
    /// outsider.
    pub fn before(self, k: usize) -> Vec<Option<usize>> {
        let seats = self.seats(k);
        let mover = seats.iter().position(|&seat| seat == Seat::Mover);
        let watchers = (0..k).filter(|&thread| matches!(seats[thread], Seat::Watcher(_))).map(Some);
        std::iter::once(mover).chain(watchers).collect()
    }
}
