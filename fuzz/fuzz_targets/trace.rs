//! Reads any bytes as a trace, judges and draws it: no panic, no endless work, one primary place for each finding that
//! has places, and arrows only between steps that are there.

#![no_main]

use libfuzzer_sys::fuzz_target;
use standstill_stream_order::{Check, Drawing, Place, Places, findings};
use standstill_trace::{Reader, Site};

struct Lines;

impl Places for Lines {
    fn place(&self, site: Site) -> Option<Place> {
        (site > 0).then(|| Place { file: "program.cu".to_owned(), line: site })
    }

    fn readable(&self, symbol: &str) -> String {
        symbol.to_owned()
    }
}

fuzz_target!(|bytes: &[u8]| {
    let records = || Reader::new(bytes).into_iter().flatten().flatten();
    let mut check = Check::default();
    records().for_each(|record| check.take(&record));
    let (conflicts, _) = check.finish();
    for finding in findings(&conflicts, &Lines) {
        let primary = finding.spans.iter().filter(|span| span.primary).count();
        assert_eq!(primary, usize::from(!finding.spans.is_empty()));
    }
    let mut drawing = Drawing::new(&conflicts, &Lines);
    records().for_each(|record| drawing.take(&record));
    let timeline = drawing.finish("trace");
    for arrow in &timeline.arrows {
        assert!(arrow.from < timeline.steps.len() && arrow.to < timeline.steps.len());
    }
    assert!(timeline.steps.iter().flat_map(|step| step.lane).all(|lane| lane < timeline.lanes.len()));
});
