//! Conventions for nested values and lists in queries and forms, which OpenAPI leaves undefined.

/// How a query parameter or a field of a form encodes lists and nested values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WireConvention {
    /// The encoding of objects, and of lists that contain lists or objects.
    pub nested: NestedNotation,
    /// The encoding of lists of scalars.
    pub arrays: ArrayNotation,
}

/// The encoding of objects, and of lists that contain lists or objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NestedNotation {
    /// As JSON, inside of the outermost object: `filter[range]={"from":1}`.
    Json,
    /// Members in brackets, lists as [`ArrayNotation`] defines: `items[][price]=1`. In such a list a name that
    /// occurs again begins the next element. With [`ArrayNotation::Comma`] the elements have indices.
    Brackets,
    /// Members in brackets, list elements with their index: `items[0][price]=1`.
    Indices,
}

/// The encoding of lists of scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ArrayNotation {
    /// `tags=a&tags=b`.
    Repeat,
    /// `tags[]=a&tags[]=b`.
    Brackets,
    /// `tags[0]=a&tags[1]=b`.
    Indices,
    /// `tags=a,b`. Commas in elements are percent-encoded.
    Comma,
}

impl WireConvention {
    /// The convention of `deepObject` parameters: `filter[range][from]=1`, `filter[tags][]=a`,
    /// `items[0][price]=1`.
    pub const DEEP_OBJECT: Self = Self { nested: NestedNotation::Indices, arrays: ArrayNotation::Brackets };
}
