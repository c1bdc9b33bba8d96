//! Representations of sets of markings that are closed downwards or closed upwards.

pub mod ideal;
pub mod sharing_tree;
pub mod vectors;
