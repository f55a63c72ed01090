//! PTX.
