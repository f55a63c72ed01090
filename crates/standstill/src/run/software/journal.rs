//! What the program told while it ran.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use standstill_cuda_driver::journal::{FILE, LaunchRecord, Record, read};
use standstill_cuda_driver::recorder::SUFFIX;
use standstill_findings::Finding;
use standstill_stream_order::NoReach;

use super::call_sites::with_places;
use crate::streams::{Stored, judge};

/// All of it, for one run or several.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// Whether any process made a CUDA call.
    pub(super) started: bool,
    pub(super) findings: Vec<Finding>,
    /// What the device stood on when it was last seen to stand.
    pub(super) parked: Option<Finding>,
    /// Sentences for the user.
    pub(super) troubles: Vec<String>,
    /// What each process asked of the device, with the places of its calls.
    pub(super) traces: Vec<Stored>,
    /// PTX texts with the launches of their kernels.
    pub(super) modules: Vec<LaunchedModule>,
    pub(super) launches: u64,
    pub(super) operations: u64,
    /// Operations of which it stayed unknown what they touch.
    pub(super) unknown: u64,
}

/// A PTX text and how its kernels were launched.
#[derive(Debug)]
pub(super) struct LaunchedModule {
    pub(super) text: String,
    pub(super) registers: BTreeMap<String, u32>,
    pub(super) launches: Vec<LaunchRecord>,
}

impl Told {
    /// Judges the order of what each process asked.
    fn judge_traces(&mut self, folder: &Path) {
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut files: Vec<_> = files.filter(|path| path.to_string_lossy().ends_with(SUFFIX)).collect();
        files.sort();
        for file in files {
            let mut kept = Vec::new();
            if let Ok(judged) = judge(&Stored::File(file), &mut NoReach, Some(&mut kept)) {
                self.traces.push(Stored::Bytes(kept));
                self.findings.extend(judged.findings);
                self.unknown += judged.unknown;
            }
        }
    }

    /// Reads the journal in a folder; without one the program told nothing.
    pub(super) fn read(folder: &Path) -> Told {
        let mut told = Told::default();
        let text = std::fs::read_to_string(folder.join(FILE)).unwrap_or_default();
        let mut modules: HashMap<(u32, usize), usize> = HashMap::new();
        let mut counted = false;
        let mut seen = 0;
        for record in read(&text) {
            match record {
                Record::Started { .. } => told.started = true,
                Record::Image { process, image, file, registers } => {
                    if let Ok(text) = std::fs::read_to_string(folder.join(file)) {
                        modules.insert((process, image), told.modules.len());
                        told.modules.push(LaunchedModule { text, registers, launches: Vec::new() });
                    }
                }
                Record::Launch(launch) => {
                    seen += 1;
                    let module = modules.get(&(launch.process, launch.image));
                    if let Some(module) = module.and_then(|index| told.modules.get_mut(*index)) {
                        module.launches.push(launch);
                    }
                }
                Record::Finding(finding) => told.findings.push(*finding),
                Record::Sited(finding, places) => told.findings.extend(with_places(*finding, &places)),
                Record::Parked(finding) => told.parked = finding.map(|finding| *finding),
                Record::Trouble(sentence) => told.troubles.push(sentence),
                Record::Contended(_) => {}
                Record::Ended { launches, operations } => {
                    counted = true;
                    told.launches += launches;
                    told.operations += operations;
                }
            }
        }
        let stopped = !told.findings.is_empty();
        told.judge_traces(folder);
        // A program that was killed could not count.
        if !counted {
            told.launches = seen;
            told.operations = seen;
        }
        // What was not over when the program was stopped or its hang was told is no gap of ours.
        if !counted || stopped {
            told.unknown = 0;
        }
        told
    }

    /// Adds what another run told; modules that are the same become one.
    pub(super) fn add(&mut self, other: Told) {
        self.started |= other.started;
        self.findings.extend(other.findings);
        self.launches += other.launches;
        self.operations += other.operations;
        self.unknown += other.unknown;
        if self.traces.is_empty() {
            self.traces = other.traces;
        }
        let mut known: HashSet<String> = self.troubles.iter().cloned().collect();
        self.troubles.extend(other.troubles.into_iter().filter(|trouble| known.insert(trouble.clone())));
        for module in other.modules {
            match self.modules.iter_mut().find(|known| known.text == module.text) {
                Some(known) => known.launches.extend(module.launches),
                None => self.modules.push(module),
            }
        }
    }
}
