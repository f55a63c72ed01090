//! What the check says of small kernels with a known block shape, held against running them on the software GPU:
//! what is said to hang must stand there, and what nothing is said of must end.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod common;

use std::fmt::Write;
use std::sync::Arc;

use proptest::prelude::*;
use standstill_device_sim::{Device, LaunchRequest, Progress, Schedule};
use standstill_findings::{Finding, Known, Outcome, Platform, Severity};
use standstill_kernel_ir::launch::{Device as Model, LaunchShape};

/// A condition on a thread's place in its block.
#[derive(Debug, Clone, Copy)]
enum Condition {
    Below(u32),
    From(u32),
    WarpIs(u32),
    LaneIs(u32),
    LowerLanes,
    OddWarp,
    OddLane,
}

/// A statement of a generated kernel.
#[derive(Debug, Clone)]
enum Statement {
    /// `bar.sync 0`, or without `.aligned`.
    Block {
        aligned: bool,
    },
    /// A counted barrier: its id, how many warps, and whether it only arrives.
    Counted {
        id: u32,
        warps: u32,
        arrives: bool,
    },
    /// `bar.warp.sync`: the mask.
    Warp(u32),
    If(Condition, Vec<Statement>, Vec<Statement>),
    /// So many rounds; one more for each warp before the thread's own, where `by_warp`.
    Loop {
        rounds: u32,
        by_warp: bool,
        body: Vec<Statement>,
    },
    Return(Condition),
    SetFlag(u32),
    AwaitFlag(u32),
}

impl Condition {
    /// Whether lanes of one warp differ in it.
    fn splits_warps(self) -> bool {
        match self {
            Condition::Below(bound) | Condition::From(bound) => bound % 32 != 0,
            Condition::LaneIs(_) | Condition::LowerLanes | Condition::OddLane => true,
            Condition::WarpIs(_) | Condition::OddWarp => false,
        }
    }
}

/// Whether a statement, or one in it, is wanted.
fn any(statements: &[Statement], wanted: &dyn Fn(&Statement) -> bool) -> bool {
    statements.iter().any(|statement| {
        wanted(statement)
            || match statement {
                Statement::If(_, then, otherwise) => any(then, wanted) || any(otherwise, wanted),
                Statement::Loop { body, .. } => any(body, wanted),
                _ => false,
            }
    })
}

/// Whether parts of a warp may come to an aligned counted barrier one after the other. Each part counts as a
/// whole warp, and it is up to the compiler whether they come together.
fn is_up_to_the_compiler(statements: &[Statement]) -> bool {
    let splits = |statement: &Statement| match statement {
        Statement::If(condition, ..) | Statement::Return(condition) => condition.splits_warps(),
        _ => false,
    };
    any(statements, &|statement| matches!(statement, Statement::Counted { .. })) && any(statements, &splits)
}

/// Kernels in text.
#[derive(Default)]
struct Writer {
    text: String,
    labels: u32,
    depth: u32,
}

impl Writer {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}", self.labels)
    }

    /// Leaves a condition in `%p1`.
    fn condition(&mut self, condition: Condition) {
        let text = match condition {
            Condition::Below(bound) => format!("setp.lt.u32 %p1, %r1, {bound};"),
            Condition::From(bound) => format!("setp.ge.u32 %p1, %r1, {bound};"),
            Condition::WarpIs(warp) => format!("setp.eq.u32 %p1, %r3, {warp};"),
            Condition::LowerLanes => "setp.lt.u32 %p1, %r2, 16;".into(),
            Condition::LaneIs(lane) => format!("setp.eq.u32 %p1, %r2, {lane};"),
            Condition::OddWarp => "and.b32 %r4, %r3, 1; setp.ne.u32 %p1, %r4, 0;".into(),
            Condition::OddLane => "and.b32 %r4, %r2, 1; setp.ne.u32 %p1, %r4, 0;".into(),
        };
        self.line(&text);
    }

    fn statements(&mut self, statements: &[Statement]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Block { aligned: true } => self.line("bar.sync 0;"),
            Statement::Block { aligned: false } => self.line("barrier.sync 0;"),
            Statement::Counted { id, warps, arrives } => {
                let name = if *arrives { "arrive" } else { "sync" };
                self.line(&format!("bar.{name} {id}, {};", warps * 32));
            }
            Statement::Warp(mask) => self.line(&format!("bar.warp.sync {mask};")),
            Statement::If(condition, then, otherwise) => {
                let (arm, end) = (self.label(), self.label());
                self.condition(*condition);
                self.line(&format!("@!%p1 bra {arm};"));
                self.statements(then);
                self.line(&format!("bra {end};\n{arm}:"));
                self.statements(otherwise);
                self.line(&format!("{end}:"));
            }
            Statement::Loop { rounds, by_warp, body } => {
                let (start, counter, bound) = (self.label(), 10 + self.depth * 2, 11 + self.depth * 2);
                self.depth += 1;
                match by_warp {
                    true => self.line(&format!("add.u32 %r{bound}, %r3, {rounds};")),
                    false => self.line(&format!("mov.u32 %r{bound}, {rounds};")),
                }
                self.line(&format!("mov.u32 %r{counter}, 0;\n{start}:"));
                self.statements(body);
                self.line(&format!(
                    "add.u32 %r{counter}, %r{counter}, 1; setp.lt.u32 %p1, %r{counter}, %r{bound};\n@%p1 bra {start};"
                ));
                self.depth -= 1;
            }
            Statement::Return(condition) => {
                self.condition(*condition);
                self.line("@%p1 ret;");
            }
            Statement::SetFlag(flag) => {
                self.line(&format!("st.volatile.shared.u32 [flags+{}], 1;", 4 * flag));
            }
            Statement::AwaitFlag(flag) => {
                let start = self.label();
                self.line(&format!("{start}:\nld.volatile.shared.u32 %r5, [flags+{}];", 4 * flag));
                self.line(&format!("setp.eq.u32 %p1, %r5, 0;\n@%p1 bra {start};"));
            }
        }
    }
}

fn kernel(statements: &[Statement]) -> String {
    let mut writer = Writer::default();
    writer.statements(statements);
    let mut text = String::from(".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n");
    text.push_str(".reg .pred %p<2>; .reg .b32 %r<40>; .shared .align 4 .b32 flags[4];\n");
    text.push_str("mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 31; shr.u32 %r3, %r1, 5; mov.u32 %r6, 0;\n");
    for flag in 0..4 {
        writeln!(text, "st.volatile.shared.u32 [flags+{}], %r6;", 4 * flag).unwrap();
    }
    text.push_str("bar.sync 0;\n");
    text.push_str(&writer.text);
    text.push_str("ret;\n}\n");
    text
}

fn condition() -> impl Strategy<Value = Condition> {
    prop_oneof![
        prop_oneof![Just(16u32), Just(32), Just(64), Just(96)].prop_map(Condition::Below),
        prop_oneof![Just(32u32), Just(48), Just(64)].prop_map(Condition::From),
        (0u32..4).prop_map(Condition::WarpIs),
        (0u32..2).prop_map(Condition::LaneIs),
        Just(Condition::LowerLanes),
        Just(Condition::OddWarp),
        Just(Condition::OddLane),
    ]
}

fn statement() -> impl Strategy<Value = Statement> {
    let leaf = prop_oneof![
        3 => proptest::bool::ANY.prop_map(|aligned| Statement::Block { aligned }),
        2 => (1u32..3, 1u32..5, proptest::bool::ANY)
            .prop_map(|(id, warps, arrives)| Statement::Counted { id, warps, arrives }),
        2 => prop_oneof![2 => Just(u32::MAX), 1 => Just(0xffff), 1 => Just(0xffff_0000)]
            .prop_map(Statement::Warp),
        1 => condition().prop_map(Statement::Return),
        2 => (0u32..2).prop_map(Statement::SetFlag),
        2 => (0u32..2).prop_map(Statement::AwaitFlag),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let some = || prop::collection::vec(inner.clone(), 0..3);
        prop_oneof![
            3 => (condition(), some(), some())
                .prop_map(|(condition, then, otherwise)| Statement::If(condition, then, otherwise)),
            1 => (1u32..4, proptest::bool::ANY, some())
                .prop_map(|(rounds, by_warp, body)| Statement::Loop { rounds, by_warp, body }),
        ]
    })
}

/// How runs under several schedules end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// All runs come to their end.
    Always,
    /// Some do.
    Sometimes,
    /// All runs stand, or are stopped by a fault.
    Never,
}

fn run(text: &str, threads: u32) -> Ends {
    let text: &'static str = Box::leak(text.to_owned().into_boxed_str());
    let syntax = Box::leak(Box::new(standstill_ptx::parse(text)));
    let device = Device::new(Model::find("h200").unwrap(), 1 << 24);
    let module = device.load(Arc::new(standstill_ptx::Lowering::new(syntax)), &[]).unwrap();
    let finished = (0..4).filter(|&seed| {
        let mut request = LaunchRequest::new(module.kernel("k").unwrap(), 1, threads);
        request.seed = seed;
        request.schedule = if seed == 0 { Schedule::RoundRobin } else { Schedule::Random };
        let mut grid = device.launch(&module, request).unwrap();
        loop {
            match grid.run(1_000_000) {
                Progress::Running => {}
                other => break other == Progress::Finished,
            }
        }
    });
    match finished.count() {
        0 => Ends::Never,
        4 => Ends::Always,
        _ => Ends::Sometimes,
    }
}

/// What the check says happens on the card that the software GPU stands for.
fn said(findings: &[Finding]) -> Option<Ends> {
    let mut said = Some(Ends::Always);
    for finding in findings.iter().filter(|finding| finding.severity > Severity::Note) {
        let outcome = finding.platforms.outcome(Platform::Nvidia);
        match (&finding.known, outcome) {
            (Known::Proved, Some(Outcome::Hangs)) => return Some(Ends::Never),
            (_, Some(Outcome::Completes)) => {}
            _ => said = None,
        }
    }
    said
}

fn agree(statements: &[Statement], threads: u32) -> Result<(), String> {
    if is_up_to_the_compiler(statements) {
        return Ok(());
    }
    let text = kernel(statements);
    let shape = LaunchShape { block: Some([threads, 1, 1]), grid: Some([1, 1, 1]), ..LaunchShape::default() };
    let findings = common::findings(&text, &shape);
    let Some(said) = said(&findings) else { return Ok(()) };
    let ends = run(&text, threads);
    if said == ends {
        return Ok(());
    }
    let findings: Vec<String> =
        findings.iter().map(|f| format!("{:?} {:?} {}", f.rule, f.known, f.message)).collect();
    Err(format!("said {said:?}, ends {ends:?}, {threads} threads: {findings:#?}\n{text}"))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn kernels_end_as_the_check_says(
        statements in prop::collection::vec(statement(), 1..5),
        threads in prop_oneof![Just(64u32), Just(96), Just(128)],
    ) {
        if let Err(difference) = agree(&statements, threads) {
            prop_assert!(false, "{difference}");
        }
    }
}

/// An aligned counted barrier counts whole warps, however many of their lanes come.
#[test]
fn parts_of_warps_count_as_whole_ones() {
    let check = |condition: Condition, warps: u32, threads: u32, expected: Option<Ends>| {
        let counted = Statement::Counted { id: 1, warps, arrives: false };
        let text = kernel(&[Statement::If(condition, vec![counted], vec![])]);
        let shape = LaunchShape { block: Some([threads, 1, 1]), ..LaunchShape::default() };
        assert_eq!(said(&common::findings(&text, &shape)), expected, "{text}");
    };
    check(Condition::LaneIs(0), 2, 64, None);
    check(Condition::LaneIs(0), 4, 64, Some(Ends::Never));
    // One warp of four is left over.
    check(Condition::OddLane, 3, 128, Some(Ends::Never));
}

/// Lanes that wait for each other, some at a barrier of the block and some at one of the warp.
#[test]
fn lanes_wait_at_different_barriers() {
    let apart = Statement::If(Condition::OddLane, vec![Statement::Block { aligned: false }], vec![]);
    let statements = [apart, Statement::Warp(u32::MAX), Statement::Block { aligned: false }];
    assert_eq!(agree(&statements, 64), Ok(()));
}
