//! The command line of Standstill.
//!
//! Belongs here: reading arguments and files, calling the engines, writing reports, exit codes.
//! Does not belong here: deciding anything about a GPU program.

mod args;
mod assume;
mod attach;
mod call_sites;
mod check;
mod comments;
mod compile;
mod core;
mod disk;
mod engine;
mod exit;
mod explain;
mod explore;
mod headers;
mod input;
mod kernel_text;
mod launch;
mod output;
mod run;
mod rust;
mod shader;
mod slips;
mod streams;
mod unused;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = args::Cli::parse();
    let code = match cli.command {
        args::Command::Check(arguments) => check::check(&arguments),
        args::Command::Run(arguments) => run::run(&arguments),
        args::Command::Explore(arguments) => explore::explore(&arguments),
        args::Command::Core(arguments) => core::core(&arguments),
        args::Command::Streams(arguments) => streams::streams(&arguments),
        args::Command::Attach(arguments) => attach::attach(&arguments),
        args::Command::Explain { rule } => explain::explain(&rule),
        args::Command::Rules => explain::rules(),
    };
    ExitCode::from(code)
}
