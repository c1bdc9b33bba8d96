//! Hash-consed Boolean terms and their encodings.
