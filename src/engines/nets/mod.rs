//! Decision procedures for nets, one per module, named as in the literature, and the data structures they share.

pub mod backward;
pub mod directed;
pub mod explicit;
pub mod karp_miller;
pub mod linear;
pub mod mcov;
pub mod reference;
pub mod sets;
