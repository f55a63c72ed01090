//! A report with everything in it, for the tests of all formats.

use standstill_findings::{
    Arrow, Coverage, Finding, Known, Lane, Node, NotUnderstood, Outcome, Platform, PlatformRow, Rule,
    Severity, Span, Step, StepKind, ThreadRanges, Timeline, WaitGraph,
};

use crate::{
    Evidence, Input, InputError, Kernel, MemorySources, Report, Schedule, ScheduleStep, TextOptions, merge,
};

const SOURCE: &str = "\
__global__ void handoff(int *flag, float *out)
{
    __shared__ float tile[256];
    int t = threadIdx.x;
    if (t < 128) {
        tile[t] = 1.0f;
        __syncthreads();   // half of the block
        if (t == 0)
            atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) { }
    }
    out[t] = tile[t ^ 128];
}
";

fn wait_cycle() -> Finding {
    let mut finding =
        Finding::new(Rule::WaitCycle, "_Z7handoffPiPf", "a barrier and a spinning loop wait for each other");
    finding.help = "move `__syncthreads()` out of the branch".into();
    finding.spans = vec![
        Span::cause("src/handoff.cu", 11, 16, "threads 128–255 spin here"),
        Span::primary("src/handoff.cu", 7, 9, "threads 0–127 wait here"),
        Span::cause("src/handoff.cu", 5, 5, "the block divides here"),
        Span::cause("src/handoff.cu", 9, 13, "the only write of `flag`"),
    ];
    finding.platforms = PlatformRow::new(&[
        (Platform::Nvidia, Outcome::Hangs),
        (Platform::NvidiaOld, Outcome::Hangs),
        (Platform::Amd, Outcome::MayHang),
        (Platform::Specification, Outcome::Undefined),
    ]);
    finding.assumes = vec!["nobody outside the grid writes `flag`".into()];
    let mut graph = WaitGraph::default();
    let half = |from, to| Node::Threads { block: 0, threads: ThreadRanges::from_members(from..to) };
    let first = graph.node(half(0, 128));
    let second = graph.node(half(128, 256));
    graph.edge(first, second, "wait at the barrier on line 7", 7);
    graph.edge(second, first, "spin on `flag` (line 11)", 11);
    graph.sentence =
        "threads 0–127 of block 0 wait at the barrier on line 7 for threads 128–255, which spin on \
                      `flag` (line 11); only thread 0 writes `flag`, on line 9, after that barrier."
            .into();
    finding.waits = Some(graph);
    finding
}

fn undecided(kernel: &str) -> Finding {
    let mut finding = Finding::new(Rule::Undecided, kernel, "a barrier under a condition that is not known");
    finding.severity = Severity::Note;
    finding.known = Known::Possible { reason: "the branch depends on a value that is not modelled".into() };
    let mut span = Span::primary("gone.ptx", 120, 0, "this barrier");
    span.inlined_at = vec!["src/handoff.cu:30".into(), "src/handoff.cu:44".into()];
    finding.spans = vec![span];
    finding
}

pub(crate) fn report() -> (Report, MemorySources) {
    let mut sources = MemorySources::default();
    sources.insert("src/handoff.cu", SOURCE);
    let long = "_ZN2ns4scanIiLi256EEEvPT_i";
    let findings = vec![undecided("_ZN2ns4scanIfLi256EEEvPT_i"), wait_cycle(), undecided(long)];
    let kernel = |symbol: &str| Kernel { input: "src/handoff.cu".into(), symbol: symbol.into() };
    let report = Report {
        findings: merge("src/handoff.cu", findings),
        not_understood: vec![NotUnderstood {
            file: "src/handoff.cu".into(),
            line: 80,
            what: "tcgen05.foo".into(),
            count: 3,
        }],
        errors: vec![InputError {
            file: "bad file.ptx".into(),
            line: 0,
            column: 0,
            message: "the file is empty".into(),
        }],
        kernels: vec![kernel("_Z7handoffPiPf"), kernel("_Z4goodv"), kernel(long)],
        runs: None,
        explored: None,
        timelines: Vec::new(),
        schedules: Vec::new(),
        coverage: Coverage { kernels: 3, launches: 1, operations: 120, widened: 0 },
        evidence: Evidence {
            command: "standstill check src/handoff.cu 'bad file.ptx'".into(),
            inputs: vec![Input { path: "src/handoff.cu".into(), sha256: "00ff".into() }],
            compiler: "nvcc 13.5".into(),
            ..Evidence::default()
        },
        allowed: 1,
        fail_on: Some(Severity::Error),
        program_exit: 0,
        exit: 1,
    };
    (report, sources)
}

#[test]
fn text() {
    let (report, sources) = report();
    insta::assert_snapshot!(crate::render_text(&report, &sources, TextOptions::default()));
}

#[test]
fn text_without_sources() {
    let (report, _) = report();
    let options = TextOptions { verbose: true, ..TextOptions::default() };
    insta::assert_snapshot!(crate::render_text(&report, &MemorySources::default(), options));
}

/// Without a line table, what the compiler unrolled has many lines; the notes of one kernel that say the same
/// are counted, and no error is ever left out.
#[test]
fn notes_in_ptx_that_say_the_same_are_counted() {
    let at = |kernel: &str, line, severity| {
        let mut finding = undecided(kernel);
        finding.severity = severity;
        finding.spans = vec![Span::primary("a.ptx", line, 1, "")];
        finding
    };
    let (int, float) = ("_ZN2ns4scanIiLi256EEEvPT_i", "_ZN2ns4scanIfLi256EEEvPT_i");
    let mut findings: Vec<Finding> = (0..9).map(|n| at(int, 10 + n, Severity::Note)).collect();
    findings.extend((0..6).map(|n| at(float, 30 + n, Severity::Note)));
    findings.extend((0..5).map(|n| at("_Z5otherPi", 50 + n, Severity::Error)));
    let report = Report { findings: merge("a.ptx", findings), ..Report::default() };
    let text = |verbose| {
        let options = TextOptions { verbose, ..TextOptions::default() };
        crate::render_text(&report, &MemorySources::default(), options)
    };
    assert_eq!(text(false).matches("--> a.ptx:").count(), 3 + 5, "{}", text(false));
    assert!(
        text(false).contains("12 more notes of N0003 like these in `scan`; --verbose shows all\n"),
        "{}",
        text(false)
    );
    assert_eq!(text(true).matches("--> a.ptx:").count(), 9 + 6 + 5);
    assert!(!text(true).contains("more note"));
}

#[test]
fn colour_changes_nothing_but_colour() {
    let (report, sources) = report();
    let plain = crate::render_text(&report, &sources, TextOptions::default());
    let coloured =
        crate::render_text(&report, &sources, TextOptions { color: true, ..TextOptions::default() });
    let mut stripped = String::new();
    let mut rest = coloured.as_str();
    while let Some(at) = rest.find('\u{1b}') {
        stripped.push_str(&rest[..at]);
        rest = &rest[at + rest[at..].find('m').unwrap() + 1..];
    }
    stripped.push_str(rest);
    assert_eq!(stripped, plain);
    assert_ne!(coloured, plain);
}

#[test]
fn json() {
    insta::assert_snapshot!(crate::to_json(&report().0).unwrap());
}

#[test]
fn junit() {
    let (report, sources) = report();
    insta::assert_snapshot!(crate::to_junit(&report, &sources).unwrap());
}

#[test]
fn html() {
    let (report, sources) = report();
    insta::assert_snapshot!(crate::to_html(&report, &sources));
}

/// Lanes, steps in order with their lines of the source, and the fault, in all forms that have a place for them.
#[test]
fn a_schedule_in_all_forms() {
    let mut finding = Finding::new(Rule::LostUpdate, "k", "the update of `n` is <lost>");
    finding.spans.push(Span::primary("n.cu", 2, 1, "written"));
    let mut schedule = Schedule { finding: finding.message.clone(), ..Schedule::default() };
    let lanes = [(0, 0), (1, 3)].map(|(block, thread)| schedule.lane(block, thread));
    let step = |lane, does: &str, line, writes, fault| ScheduleStep {
        lane,
        does: does.into(),
        writes,
        fault,
        file: "n.cu".into(),
        line,
    };
    schedule.steps = vec![
        step(lanes[0], "reads n = 0", 1, false, false),
        step(lanes[1], "writes n = 1", 2, true, false),
        step(lanes[0], "writes n = 1", 2, true, true),
    ];
    let report =
        Report { findings: merge("n.cu", vec![finding]), schedules: vec![schedule], ..Report::default() };
    let mut sources = MemorySources::default();
    sources.insert("n.cu", "int v = *n < 7;\n  *n = v + 1;\n");
    let page = crate::to_html(&report, &sources);
    for part in [
        "<th scope=\"col\">thread 0 of block 0</th><th scope=\"col\">thread 3 of block 1</th>",
        "<tr><th scope=\"row\">1</th><td><div class=\"step read\">reads n = 0</div></td><td class=\"idle\"></td>\
         <td class=\"source\"><span>1</span> <code>int v = *n &lt; 7;</code></td></tr>",
        "<td class=\"idle\"></td><td><div class=\"step write\">writes n = 1</div></td>",
        "<div class=\"step fault\">✗ writes n = 1</div>",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    let json: serde_json::Value = serde_json::from_str(&crate::to_json(&report).unwrap()).unwrap();
    let steps = json["findings"][0]["schedule"].as_array().unwrap();
    assert_eq!(steps.len(), 3);
    assert_eq!(steps[2]["thread"], "thread 0 of block 0");
    assert_eq!((&steps[2]["fault"], &steps[2]["line"]), (&true.into(), &2.into()));
    let sarif: serde_json::Value = serde_json::from_str(&crate::to_sarif(&report).unwrap()).unwrap();
    let flows = &sarif["runs"][0]["results"][0]["codeFlows"][0]["threadFlows"];
    let order = |flow: usize, at: usize| flows[flow]["locations"][at]["executionOrder"].clone();
    assert_eq!([order(0, 0), order(0, 1), order(1, 0)], [1, 3, 2]);
}

/// One block more than the card holds: the blocks are cells, and nothing of the page comes from outside.
#[test]
fn html_of_a_full_card() {
    let mut finding = Finding::new(Rule::GridResidency, "k", "more blocks than fit: <1056> & \"1\"");
    let mut graph = WaitGraph::default();
    let resident = graph.node(Node::Blocks(ThreadRanges::from_members(0..1056)));
    let waiting = graph.node(Node::Blocks(ThreadRanges::from_members([1056])));
    let slot = graph.node(Node::ResidencySlot { capacity: 1056 });
    graph.edge(resident, waiting, "spin on `arrived` (line 7)", 7);
    graph.edge(waiting, slot, "wait for a slot", 0);
    graph.edge(slot, resident, "is held by", 0);
    finding.waits = Some(graph);
    let report = Report { findings: merge("f", vec![finding]), ..Report::default() };
    let page = crate::to_html(&report, &MemorySources::default());
    assert_eq!(page.matches("title=\"block ").count(), 1057);
    assert!(page.contains("&lt;1056&gt; &amp; &quot;1&quot;"));
    assert!(!page.contains("http"), "the page must work without a network");
}

/// A producer and a consumer without an event between them, and the host that waits for one.
#[test]
fn html_of_streams() {
    let step = |lane, kind, label: &str| {
        let detail = format!("{label}, <main>.cu:7");
        Step { lane, kind, label: label.to_owned(), detail }
    };
    let message = "the kernel `consume` reads what `produce` may still write".to_owned();
    let timeline = Timeline {
        title: "a & b".into(),
        lanes: ["host thread 0", "stream 1", "stream 2"]
            .map(|name| Lane { name: name.into(), host: name.starts_with("host") })
            .into(),
        steps: vec![
            step(Some(1), StepKind::Copy, "copy"),
            step(None, StepKind::LeftOut, "… 12 …"),
            step(Some(1), StepKind::Kernel, "produce<float, a_long_name>"),
            step(Some(1), StepKind::Record, "record e1"),
            step(Some(2), StepKind::Kernel, "consume"),
            step(Some(0), StepKind::Synchronise, "synchronise"),
        ],
        arrows: vec![
            Arrow { from: 4, to: 5, missing: None },
            Arrow { from: 2, to: 4, missing: Some(message.clone()) },
        ],
    };
    let finding = Finding::new(Rule::StreamRace, "consume", message);
    let findings = merge("a.cu", vec![finding]);
    let report = Report { findings, timelines: vec![timeline], ..Report::default() };
    let page = crate::to_html(&report, &MemorySources::default());
    let (_, picture) = page.split_once("</style>").unwrap();
    insta::assert_snapshot!(picture);
}

#[test]
fn sarif() {
    let text = crate::to_sarif(&report().0).unwrap();
    // The published schema's pattern of a language has a stray bracket that strict parsers refuse.
    let schema = include_str!("../tests/sarif-schema-2.1.0.json").replace("[a-zA-Z]{2}]?$", "[a-zA-Z]{2}$");
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    let log: serde_json::Value = serde_json::from_str(&text).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&log).map(|error| error.to_string()).collect();
    assert_eq!(errors, Vec::<String>::new());
    let empty: serde_json::Value =
        serde_json::from_str(&crate::to_sarif(&Report::default()).unwrap()).unwrap();
    assert!(validator.is_valid(&empty));
    assert!(!validator.is_valid(&serde_json::json!({"version": "2.1.0", "runs": [{}]})));
    // The long texts of rules are tested where they are written.
    let mut short = log;
    for rule in short["runs"][0]["tool"]["driver"]["rules"].as_array_mut().unwrap() {
        rule["help"] = serde_json::json!("…");
    }
    insta::assert_snapshot!(serde_json::to_string_pretty(&short).unwrap());
}

/// Whatever a line table says and a source holds, every format is written.
#[test]
fn no_span_and_no_text_stops_a_reporter() {
    let texts = [
        "",
        "\n",
        "a\tb\r\n\tif (x) {\r\n}\r\n",
        "ü€𝄞 __syncthreads();\n\u{200b}\u{202e}(((\n",
        "\u{1b}[31m\u{0}\u{7f}\n(\n",
        &format!("{};\n{}", "x".repeat(5000), "(".repeat(300)),
    ];
    // A linear congruential generator: the same spans in every run.
    let mut state = 1u32;
    let mut random = |limit: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) % limit
    };
    for text in texts {
        let mut sources = MemorySources::default();
        sources.insert("f", text);
        for _ in 0..300 {
            let mut finding = wait_cycle();
            for (index, span) in finding.spans.iter_mut().enumerate() {
                let file = if random(4) == 0 { "other" } else { "f" };
                let widest = if random(2) == 0 { 12 } else { 6000 };
                let (line, column) = (random(6), random(widest));
                let label = ["", "l", "\n", "\u{1b}[0m"].get(random(4) as usize).copied().unwrap_or("");
                *span = Span { primary: index == 0, ..Span::cause(file, line, column, label) };
            }
            let report = Report { findings: merge("f", vec![finding]), ..Report::default() };
            for color in [false, true] {
                let options = TextOptions { color, ..TextOptions::default() };
                assert!(crate::render_text(&report, &sources, options).contains("E0105"));
            }
            assert!(crate::to_junit(&report, &sources).unwrap().contains("E0105"));
            assert!(crate::to_sarif(&report).unwrap().contains("E0105"));
        }
    }
}
