//! Typed ids: one newtype for each kind of thing, so that a term and a variable cannot be confused.

/// Defines a `u32` newtype that is printed as a prefix followed by its number.
///
/// ```
/// cusp_encodings::define_id!(
///     /// A block of a control flow graph.
///     BlockId, "b"
/// );
/// assert_eq!(BlockId::from_index(2).to_string(), "b2");
/// ```
#[macro_export]
macro_rules! define_id {
    ($(#[$meta:meta])* $name:ident, $prefix:literal) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            /// The id with this number.
            #[must_use]
            pub const fn new(number: u32) -> Self {
                Self(number)
            }

            /// The id of a position in a table.
            ///
            /// # Panics
            /// If the position does not fit 32 bits.
            #[must_use]
            pub fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("ids have 32 bits"))
            }

            /// The number of this id.
            #[must_use]
            pub const fn number(self) -> u32 {
                self.0
            }

            /// The position of this id in a table.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl ::core::fmt::Display for $name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                write!(f, ::core::concat!($prefix, "{}"), self.0)
            }
        }

        impl ::core::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::fmt::Display::fmt(self, f)
            }
        }
    };
}
