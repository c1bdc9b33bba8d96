//! Sets of markings that engines work with: closed downwards, and closed upwards.

pub mod ideal;
pub mod sharing_tree;
pub mod vectors;
