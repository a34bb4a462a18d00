//! [`arbitrary!`](crate::arbitrary): proptest's `Arbitrary` for generated types.

/// Implements `Arbitrary` for generated types. All generated values are valid.
#[cfg(feature = "proptest")]
#[macro_export]
macro_rules! arbitrary {
    ($($type:path),* $(,)?) => {$(
        impl $crate::strategies::proptest::arbitrary::Arbitrary for $type {
            type Parameters = ();
            type Strategy = $crate::strategies::proptest::strategy::BoxedStrategy<Self>;

            fn arbitrary_with((): ()) -> Self::Strategy {
                <Self as $crate::strategies::ValueStrategies>::valid()
            }
        }
    )*};
}
