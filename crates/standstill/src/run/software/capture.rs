//! Running a program up to one launch, and what that launch finds.

use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;

use standstill_cuda_driver::DEFAULT_MODEL;
use standstill_cuda_driver::capture::{CAPTURE, KERNELS, LAUNCH, LaunchImage};
use standstill_cuda_driver::journal::CARD;
use standstill_kernel_ir::{FunctionKind, Program};
use standstill_ptx::Lowering;
use standstill_report::{Evidence, display_name};
use standstill_supervisor::{Ended, Limits, Observer, Outcome, Plan};

use super::journal::Told;
use super::names::readable;
use super::{Prepared, death, journal_folder, prepare_for};
use crate::args::CompilerArgs;
use crate::compile::Toolchain;
use crate::input;
use crate::launch::names_kernel;

/// Which launch of which program.
pub(crate) struct Wanted<'a> {
    /// The program with its arguments; a source is compiled first.
    pub(crate) command: &'a [OsString],
    pub(crate) compiler: &'a CompilerArgs,
    /// The kernel; any one without.
    pub(crate) entry: Option<&'a str>,
    /// Which of its launches, from 1.
    pub(crate) launch: u64,
}

/// A launch as the program was about to make it.
pub(crate) struct Captured {
    pub(crate) image: LaunchImage,
    /// What was run.
    pub(crate) evidence: Evidence,
}

/// Runs the program on the software GPU until it makes the launch, which is written down and not made.
pub(crate) fn capture(wanted: &Wanted<'_>) -> Result<Captured, String> {
    let prepared = prepare_for(wanted.command, wanted.compiler, DEFAULT_MODEL, 0)?;
    let kernels = kernels(&prepared, wanted)?;
    let journal = journal_folder()?;
    let file = journal.path().join("launch.json");
    let mut command = prepared.bare_command(journal.path());
    command.env(CAPTURE, &file).env(KERNELS, kernels.join(",")).env(LAUNCH, wanted.launch.to_string());
    // Standard output is the report's.
    command.env(CARD, DEFAULT_MODEL).stdout(Stdio::null());
    let plan =
        Plan { command, limits: Limits::default(), dumps: false, light_dumps: false, owns_process: false };
    let outcome = standstill_supervisor::run(plan, &mut Silent).map_err(|error| error.to_string())?;
    if file.exists() {
        let image = LaunchImage::read(&file)?;
        return Ok(Captured { image, evidence: prepared.evidence });
    }
    Err(why_not(wanted, journal.path(), &outcome))
}

struct Silent;

impl Observer for Silent {
    fn captured(&mut self, _: &standstill_supervisor::Captured) {}
}

/// The mangled names of the kernels that are meant; none for any kernel.
fn kernels(prepared: &Prepared, wanted: &Wanted<'_>) -> Result<Vec<String>, String> {
    let Some(entry) = wanted.entry else { return Ok(Vec::new()) };
    let mut names: Vec<String> = Vec::new();
    for text in texts(prepared, wanted.compiler) {
        let module = standstill_ptx::parse(&text);
        let lowering = Lowering::new(&module);
        let functions = lowering.module().functions.iter();
        let kernels = functions.filter(|function| function.kind == FunctionKind::Kernel && function.defined);
        names.extend(kernels.map(|function| function.name.clone()));
    }
    names.sort_unstable();
    names.dedup();
    let meant: Vec<String> = names.iter().filter(|name| names_kernel(entry, name)).cloned().collect();
    match (meant.is_empty(), names.is_empty()) {
        (false, _) => Ok(meant),
        // The kernels may be in a library of the program's.
        (true, true) => Ok(vec![entry.to_owned()]),
        (true, false) => {
            let there: Vec<String> = names.iter().map(|name| display_name(name)).collect();
            Err(format!("no kernel is named {entry}; there are {}", there.join(", ")))
        }
    }
}

/// The program's PTX: what the compiler left behind, else what is inside it.
fn texts(prepared: &Prepared, compiler: &CompilerArgs) -> Vec<String> {
    match &prepared.kept {
        Some(folder) => {
            let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
            files.filter_map(|file| std::fs::read_to_string(file.path()).ok()).collect()
        }
        None => {
            let loaded = input::load(&prepared.program, &Toolchain::new(compiler), false);
            loaded.texts.into_iter().map(|text| text.text).collect()
        }
    }
}

/// Why the launch was not seen.
fn why_not(wanted: &Wanted<'_>, journal: &Path, outcome: &Outcome) -> String {
    let told = Told::read(journal);
    if let Some(trouble) = told.troubles.first() {
        return readable(trouble);
    }
    let ended = match outcome.ended {
        Some(Ended::Signalled(signal)) => {
            let sentence = death::sentence(signal, &[]);
            sentence.strip_prefix("standstill: ").unwrap_or(&sentence).to_owned()
        }
        Some(ended) => format!("the program ended with exit code {}", ended.exit_code()),
        None => "the program was stopped".to_owned(),
    };
    if !told.started {
        return format!("{ended} and made no CUDA call through the software GPU's runtime");
    }
    let mut seen: Vec<String> = Vec::new();
    for launch in told.modules.iter().flat_map(|module| &module.launches) {
        let name = display_name(&launch.kernel);
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    let which = match (wanted.entry, wanted.launch) {
        (Some(entry), 1) => format!("a launch of {entry}"),
        (Some(entry), number) => format!("launch {number} of {entry} (--launch)"),
        (None, 1) => "a launch".to_owned(),
        (None, number) => format!("launch {number} (--launch)"),
    };
    let launched = match (told.launches, seen.is_empty()) {
        (0, _) | (_, true) => "it launched no kernel".to_owned(),
        (1, _) => format!("it made 1 launch, of {}", seen.join(", ")),
        (count, _) => format!("it made {count} launches, of {}", seen.join(", ")),
    };
    let found = told.findings.first().map(|finding| format!(" Before that: {}.", finding.message));
    format!("{ended} before {which}; {launched}.{}", found.unwrap_or_default())
}
