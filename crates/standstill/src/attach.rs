//! `attach`: what a process that hangs already stands on.

mod debugger;
mod dumps;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use standstill_report::{Evidence, InputError, Report};
use standstill_supervisor::{
    Limits, OnGpu, Process, Programs, ThreadTimes, capture, describe, processes, request_dumps, uses_cuda,
};

use crate::args::{OutputArgs, VerdictArgs};
use crate::check::command_line;
use crate::disk::DiskSources;
use crate::exit::{BAD_INPUT, CLEAN, FINDINGS};
use crate::output::{self, fail, say};
use crate::run::{explain, keep_dumps};

#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 nothing at or above --fail-on, 1 findings, 2 there is no such process."
)]
pub(crate) struct AttachArgs {
    /// The process; what it started is looked at too
    #[arg(value_name = "PID", value_parser = clap::value_parser!(i32).range(1..))]
    pub(crate) pid: i32,
    /// Leave the GPU alone: a dump through the driver's pipe ends the process, unless it was started with skip_abort
    #[arg(long)]
    pub(crate) no_dump: bool,
    /// Keep the dumps in this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) evidence: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) verdict: VerdictArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Looks at a process; gives the exit code.
pub(crate) fn attach(arguments: &AttachArgs) -> u8 {
    let all = processes();
    if !all.iter().any(|process| process.pid == arguments.pid) {
        fail(&format!("there is no process {}", arguments.pid));
        return BAD_INPUT;
    }
    let family = family(&all, arguments.pid);
    let mut targets: Vec<i32> = family.iter().copied().filter(|pid| uses_cuda(*pid)).collect();
    let mut text = String::new();
    if targets.is_empty() {
        text.push_str("  neither the process nor its children have the CUDA driver loaded\n");
        targets.push(arguments.pid);
    }
    let before: Vec<(i32, ThreadTimes)> = targets.iter().map(|pid| (*pid, ThreadTimes::of(*pid))).collect();
    // The host first: the driver ends a process after its dump.
    let stacks: Vec<_> = targets.iter().map(|pid| capture(*pid, Duration::from_secs(2))).collect();

    let mut report = Report { fail_on: arguments.verdict.fail_on.severity(), ..Report::default() };
    report.evidence = Evidence { command: command_line(), device: "gpu".to_owned(), ..Evidence::default() };
    let sources = DiskSources::default();
    let mut on_gpu = Vec::new();
    if !arguments.no_dump {
        on_gpu = look_at_gpu(arguments, before, &mut report, &sources, &mut text);
    }
    text.push_str(&describe(&stacks, &on_gpu));
    let failed = report.findings.iter().any(|reported| report.fails(&reported.finding));
    let code = if failed { FINDINGS } else { CLEAN };
    report.exit = i32::from(code);
    if report.coverage.kernels > 0 || arguments.output.format != crate::args::Format::Text {
        output::write(&report, &sources, &arguments.output);
    }
    if arguments.output.format == crate::args::Format::Text && arguments.output.output.is_none() {
        output::print(&format!("process {}\n{text}", arguments.pid));
    } else {
        say(text.trim_end());
    }
    code
}

fn look_at_gpu(
    arguments: &AttachArgs,
    targets: Vec<(i32, ThreadTimes)>,
    report: &mut Report,
    sources: &DiskSources,
    text: &mut String,
) -> Vec<OnGpu> {
    let mut on_gpu = Vec::new();
    let programs: Vec<_> = targets.iter().map(|(pid, _)| (*pid, Programs::of(*pid))).collect();
    let (requests, without): (Vec<_>, Vec<_>) =
        targets.into_iter().map(|(pid, before)| dumps::request(pid, before)).partition(Result::is_ok);
    let requests: Vec<_> = requests.into_iter().flatten().collect();
    if !requests.is_empty() {
        let Limits { dump_silence, dump, .. } = Limits::default();
        let dumps = request_dumps(&requests, dump_silence, dump, None, &mut |progress| {
            crate::run::progress(&progress.to_string());
        });
        let dumps: Vec<_> = dumps.into_iter().map(dumps::found).collect();
        if let Some(folder) = &arguments.evidence
            && let Err(error) = keep_dumps(folder, &dumps)
        {
            fail(&format!("{}: the dumps cannot be kept there: {error}", folder.display()));
        }
        for dump in &dumps {
            text.push_str(&match &dump.error {
                None => format!("  GPU core dump of process {}: {}\n", dump.pid, dump.core.display()),
                Some(error) => format!("  no whole GPU core dump of process {}: {error}\n", dump.pid),
            });
        }
        let explained = explain(&dumps, &programs, &arguments.verdict, sources);
        on_gpu.clone_from(&explained.on_gpu);
        explained.add_to(report);
    }
    for (pid, reason) in without.into_iter().filter_map(Result::err) {
        text.push_str(&format!("  the GPU's side of process {pid} cannot be dumped: {reason}\n"));
        match debugger::look(pid) {
            Ok(seen) => text.push_str(&seen),
            Err(reason) => {
                text.push_str(&format!("  {reason}\n"));
                let error =
                    InputError { file: format!("process {pid}"), line: 0, column: 0, message: reason };
                report.errors.push(error);
            }
        }
    }
    on_gpu
}

/// A process and everything that it started.
fn family(all: &[Process], pid: i32) -> Vec<i32> {
    let mut family = vec![pid];
    loop {
        let more: Vec<i32> = all
            .iter()
            .filter(|process| family.contains(&process.parent) && !family.contains(&process.pid))
            .map(|process| process.pid)
            .collect();
        if more.is_empty() {
            return family;
        }
        family.extend(more);
    }
}
