//! What is wrong with a kernel's source.

use crate::extent::Extent;

/// Something that is no kernel source, with what to write instead.
#[derive(Debug, Clone)]
pub struct Problem {
    /// The piece of source that it is about.
    pub extent: Extent,
    /// What is wrong, and behind a semicolon what to write instead.
    pub message: String,
}

impl Problem {
    /// A problem with a piece of source.
    pub fn new(extent: Extent, message: impl Into<String>) -> Problem {
        Problem { extent, message: message.into() }
    }
}

impl From<syn::Error> for Problem {
    fn from(error: syn::Error) -> Problem {
        Problem::new(Extent::at(error.span()), error.to_string())
    }
}
