//! SAT and QBF solvers behind two narrow traits.
