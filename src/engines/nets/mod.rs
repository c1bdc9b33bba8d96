//! Decision procedures for nets, one per file, named as in the literature.

pub mod backward;
pub mod directed;
pub mod explicit;
pub mod karp_miller;
pub mod linear;
pub mod mcov;
pub mod reference;
pub mod sets;
