//! The arguments, as clap reads them.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use standstill_findings::{Platform, Rule, Severity};

use crate::explain::NamedRules;

/// Who waits for whom in a GPU program: finds hangs and missing waits.
#[derive(Debug, Parser)]
#[command(name = "standstill", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Find faults that a kernel's code alone decides
    Check(Box<CheckArgs>),
    /// Run a program under a watchdog; a hang becomes a report
    Run(Box<crate::run::RunArgs>),
    /// Try all interleavings of one small launch of a kernel
    Explore(Box<crate::explore::ExploreArgs>),
    /// Look at a process that hangs already
    Attach(Box<crate::attach::AttachArgs>),
    /// Explain CUDA core dumps: what every thread stood at, and who waits for whom
    Core(Box<crate::core::CoreArgs>),
    /// Judge the order of what recorded runs asked of the GPU
    Streams(Box<crate::streams::StreamsArgs>),
    /// Explain a rule: its shape, why it happens, and the right pattern
    Explain {
        /// The rule's code or name, such as E0009 or divergent-barrier
        rule: String,
    },
    /// List all rules
    Rules,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 nothing at or above --fail-on, 1 findings, 2 an input or the call is wrong, \
                        3 not decided."
)]
pub(crate) struct CheckArgs {
    /// CUDA sources (.cu), Rust kernels (.rs), WGSL (.wgsl), PTX, or executables, libraries, objects and fatbins with PTX
    /// inside; `-` reads one of them but a source from standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) launch: LaunchArgs,
    #[command(flatten)]
    pub(crate) compiler: CompilerArgs,
    #[command(flatten)]
    pub(crate) verdict: VerdictArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,

    /// Analyse only kernels with this name (mangled, readable, or without namespace and template arguments)
    #[arg(long, value_name = "NAME")]
    pub(crate) kernel: Vec<String>,
    /// Judge WGSL by the specification's own uniformity analysis, which knows less of values
    #[arg(long)]
    pub(crate) wgsl_strict: bool,
    /// Files analysed at the same time; as many as there are cores unless given
    #[arg(short, long, value_name = "N", value_parser = crate::launch::parse_jobs)]
    pub(crate) jobs: Option<usize>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Launch")]
pub(crate) struct LaunchArgs {
    /// Threads of a block: 256, 32x8, 8x8x4
    #[arg(long, value_name = "SHAPE", value_parser = crate::launch::parse_block)]
    pub(crate) block: Option<[u32; 3]>,
    /// Blocks of the grid: 4, 4x2x1
    #[arg(long, value_name = "SHAPE", value_parser = crate::launch::parse_grid)]
    pub(crate) grid: Option<[u32; 3]>,
    /// Blocks of a cluster: 2, 2x1x1
    #[arg(long, value_name = "SHAPE", value_parser = crate::launch::parse_cluster)]
    pub(crate) cluster: Option<[u32; 3]>,
    /// Value of a parameter by its position from 0; with a name, for that kernel only
    #[arg(long, value_name = "[KERNEL:]POSITION=VALUE", value_parser = crate::launch::parse_parameter)]
    pub(crate) param: Vec<crate::launch::ParameterValue>,
    /// A condition that holds in every launch, over p0, p1, …, block.x, grid.x, cluster.x: 'p2 % 256 == 0'
    #[arg(long, value_name = "CONDITION", value_parser = crate::assume::parse_for_clap)]
    pub(crate) assume: Vec<crate::assume::Conjunction>,
    /// The card whose room decides whether blocks can wait for each other: t4, a100, h100, h200, …
    #[arg(long, value_name = "MODEL", value_parser = crate::launch::parse_device)]
    pub(crate) gpu: Option<standstill_kernel_ir::launch::Device>,
    /// Registers of a thread, where no compiled code says it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=255))]
    pub(crate) regs: Option<u32>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Compiler")]
pub(crate) struct CompilerArgs {
    /// Further flags for the compiler of .cu files
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    pub(crate) cflags: Vec<String>,
    /// The architecture to compile .cu files for
    #[arg(long, value_name = "ARCH", default_value = "sm_90")]
    pub(crate) arch: String,
    /// The compiler to use
    #[arg(long, value_name = "PATH")]
    pub(crate) nvcc: Option<PathBuf>,
    /// Fetch the CUDA compiler into the user's cache when none is installed (130 MB, once, with Python's pip)
    #[arg(long)]
    pub(crate) fetch_nvcc: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Verdict")]
pub(crate) struct VerdictArgs {
    /// Whose behaviour decides what is an error
    #[arg(long, value_enum, default_value_t = PlatformChoice::Nvidia)]
    pub(crate) platform: PlatformChoice,
    /// Silence a rule, by code or name
    #[arg(long, value_name = "RULE", value_delimiter = ',', value_parser = crate::explain::parse_rules)]
    allow: Vec<NamedRules>,
    /// The least severity that makes the call fail
    #[arg(long, value_enum, default_value_t = FailOn::Error)]
    pub(crate) fail_on: FailOn,
    /// What was not understood or not decided counts as a failure (exit code 3)
    #[arg(long)]
    pub(crate) strict: bool,
}

impl VerdictArgs {
    /// The rules that are silenced.
    pub(crate) fn allowed(&self) -> Vec<Rule> {
        self.allow.iter().flat_map(|named| named.0.iter().copied()).collect()
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// How to write the report
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Write the report to a file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Also write the report as one HTML page with pictures of who waits for whom
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Colour the text
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    pub(crate) color: Color,
    /// Findings only, no summary
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Full names, every instantiation, every kind of instruction that was not understood
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlatformChoice {
    /// NVIDIA sm_70 and later
    Nvidia,
    /// NVIDIA before sm_70
    NvidiaOld,
    /// AMD
    Amd,
    /// Intel, Vulkan, WebGPU
    Others,
    /// The wording of the specification
    Spec,
    /// The worst of all
    All,
}

impl PlatformChoice {
    /// The platform; `None` for the worst of all.
    pub(crate) fn platform(self) -> Option<Platform> {
        match self {
            PlatformChoice::Nvidia => Some(Platform::Nvidia),
            PlatformChoice::NvidiaOld => Some(Platform::NvidiaOld),
            PlatformChoice::Amd => Some(Platform::Amd),
            PlatformChoice::Others => Some(Platform::Others),
            PlatformChoice::Spec => Some(Platform::Specification),
            PlatformChoice::All => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    Error,
    Warning,
    Never,
}

impl FailOn {
    /// The least severity that fails; `None` for never.
    pub(crate) fn severity(self) -> Option<Severity> {
        match self {
            FailOn::Error => Some(Severity::Error),
            FailOn::Warning => Some(Severity::Warning),
            FailOn::Never => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
    Sarif,
    Junit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
