//! Kernel IR.
