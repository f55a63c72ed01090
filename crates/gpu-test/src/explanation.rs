//! What a test that was stopped stood on, as text: the card's side by its core dump, the host's by its stacks.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use standstill_gpu_core::{Options, Source, explain, positions, read};
use standstill_report::{Report, SourceText, Sources, TextOptions, base_name, merge, render_text};
use standstill_supervisor::{Captured, Dump, Observer, OnGpu, describe};

/// Keeps the text.
#[derive(Debug, Default)]
pub(crate) struct Explanation {
    pub(crate) text: String,
}

impl Observer for Explanation {
    fn captured(&mut self, captured: &Captured) {
        let mut report = Report::default();
        let mut on_gpu = Vec::new();
        for dump in &captured.dumps {
            if let Some(error) = &dump.error {
                let _ = writeln!(self.text, "  no whole GPU core dump of process {}: {error}", dump.pid);
            }
            if dump.bytes == 0 {
                continue;
            }
            let said = match add(dump, captured, &mut report, &mut on_gpu) {
                Ok(problems) if problems.is_empty() => continue,
                Ok(problems) => problems,
                Err(error) => error,
            };
            let _ = writeln!(self.text, "  the GPU core dump of process {}: {said}", dump.pid);
        }
        let options = TextOptions { quiet: true, ..TextOptions::default() };
        self.text.push_str(&render_text(&report, &OnDisk, options));
        self.text.push_str(&describe(&captured.stacks, &on_gpu));
    }
}

/// Adds what a dump says; gives what of it could not be read.
fn add(
    dump: &Dump,
    captured: &Captured,
    report: &mut Report,
    on_gpu: &mut Vec<OnGpu>,
) -> Result<String, String> {
    let bytes = fs::read(&dump.core).map_err(|error| error.to_string())?;
    let source: &dyn Source = &bytes.as_slice();
    let mut core = read(source).map_err(|error| error.to_string())?;
    let name = format!("process {}", dump.pid);
    let options = Options { input: &name, platform: None };
    let states = positions(source, &mut core);
    let program = captured.programs.iter().find(|(pid, _)| *pid == dump.pid);
    on_gpu.extend(states.iter().map(|state| {
        let launches = program.map(|(_, program)| program.launches(&state.kernel)).unwrap_or_default();
        OnGpu { pid: dump.pid, kernel: base_name(&state.kernel), launches }
    }));
    let findings = states.iter().flat_map(|state| explain(&core, state, &options)).collect();
    report.findings.extend(merge(&name, findings));
    Ok(core.problems.summary().join("; "))
}

/// Source files, read when they are shown.
#[derive(Debug)]
struct OnDisk;

impl Sources for OnDisk {
    fn text(&self, file: &str) -> Option<Arc<SourceText>> {
        const LARGEST: u64 = 64 << 20;
        let small = Path::new(file).metadata().is_ok_and(|metadata| metadata.len() <= LARGEST);
        let bytes = small.then(|| fs::read(file).ok()).flatten()?;
        Some(Arc::new(String::from_utf8_lossy(&bytes).into_owned().into()))
    }
}
