//! Static rules.
