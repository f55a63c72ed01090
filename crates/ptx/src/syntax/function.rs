//! Functions: entries, device functions and declarations.

use std::ops::Range;

use crate::span::Span;
use crate::syntax::variable::Linkage;

/// A function of the module. Ranges index the module's pools.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FunctionSyntax {
    /// From the first directive to the closing brace or `;`.
    pub span: Span,
    /// The name.
    pub name: Span,
    /// `.entry` rather than `.func`.
    pub entry: bool,
    /// Whether it has a body.
    pub defined: bool,
    /// Linkage.
    pub linkage: Linkage,
    /// Launch and performance directives.
    pub limits: Limits,
    /// Results, in `variables`.
    pub results: Range<u32>,
    /// Parameters, in `variables`.
    pub parameters: Range<u32>,
    /// Register declarations, in `registers`, inner blocks' included.
    pub registers: Range<u32>,
    /// How many registers they declare.
    pub register_count: u32,
    /// Statements, in `statements`.
    pub statements: Range<u32>,
}

/// What a function's directives say about its launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Limits {
    /// `.maxntid`: the block's extents must not hold more threads than these multiply to.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`: the block's exact extents.
    pub required_threads: Option<[u32; 3]>,
    /// `.minnctapersm`
    pub min_blocks: Option<u32>,
    /// `.maxnctapersm`
    pub max_blocks: Option<u32>,
    /// `.maxnreg`
    pub max_registers: Option<u32>,
    /// `.reqnctapercluster`: the cluster's exact extents in blocks.
    pub required_cluster: Option<[u32; 3]>,
    /// `.maxclusterrank`
    pub max_cluster: Option<u32>,
    /// `.explicitcluster`
    pub explicit_cluster: bool,
    /// `.blocksareclusters`
    pub blocks_are_clusters: bool,
    /// `.noreturn`
    pub no_return: bool,
}
