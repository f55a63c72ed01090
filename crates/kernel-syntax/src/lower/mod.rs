//! From the tree to kernel IR.
//!
//! A kernel's parameters in kernel IR are those of the source in their order, slices as pointers; behind them the
//! lengths of the slices, and last the extent of the space in x, y and z.

mod arithmetic;
mod atomic;
mod body;
mod control;
mod expression;
mod memory;

use standstill_kernel_ir::{
    Function, FunctionHeader, FunctionId, FunctionKind, LaunchBounds, Module, Program as IrProgram,
};

use crate::check::Checked;
use crate::extent::{Extent, Place};
use crate::problem::Problem;
use crate::types::Ty;
use crate::unit::Role;

/// A unit as kernel IR, and where its pieces stand.
#[derive(Debug, Clone)]
pub struct Lowered {
    /// The program.
    pub program: Program,
    /// The pieces of source that findings can point at, by their places.
    pub extents: Vec<(Place, Extent)>,
}

/// Kernels as kernel IR.
#[derive(Debug, Clone, Default)]
pub struct Program {
    module: Module,
    functions: Vec<Function>,
    kernels: Vec<Kernel>,
    places: Vec<Place>,
    early_returns: Vec<Place>,
    loops: Vec<Place>,
    stops: Vec<(Place, Stop)>,
}

/// A kernel as its launches see it.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// The function.
    pub function: FunctionId,
    /// Names and types of its parameters, without the `Space`.
    pub parameters: Vec<(String, Ty)>,
    /// What the parameters in kernel IR are called, by their position.
    pub names: Vec<String>,
}

/// Why a thread ends the launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// An index that is not below the length of the slice or array of this name.
    Index(String),
    /// A part that does not lie in the slice of this name.
    Part(String),
    /// A division by zero.
    Division,
    /// The least number divided by −1.
    Overflow,
    /// `panic!` or a failed `assert!`.
    Panic,
}

impl Program {
    /// The kernels.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// The kernel of this name.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }

    /// The piece of source that begins at a line and column of a file: of several, the longest.
    pub fn place(&self, file: &str, line: u32, column: u32) -> Option<Place> {
        let start = (self.file(file), line, column);
        let from = self.places.partition_point(|place| start_of(place) < start);
        self.places.iter().skip(from).take_while(|place| start_of(place) == start).last().copied()
    }

    /// The number of a file.
    fn file(&self, name: &str) -> u32 {
        self.module.files.iter().zip(0..).find(|(known, _)| *known == name).map_or(0, |(_, number)| number)
    }

    /// Whether threads return behind the condition that begins here.
    pub fn returns_early(&self, file: &str, line: u32, column: u32) -> bool {
        let start = (self.file(file), line, column);
        self.early_returns.iter().any(|place| start_of(place) == start)
    }

    /// Whether what begins here decides how often a loop runs.
    pub fn loops_at(&self, file: &str, line: u32, column: u32) -> bool {
        let start = (self.file(file), line, column);
        self.loops.iter().any(|place| start_of(place) == start)
    }

    /// Why threads stop the launch at a line and column of a file.
    pub fn stop(&self, file: &str, line: u32, column: u32) -> Option<&Stop> {
        let start = (self.file(file), line, column);
        self.stops.iter().find(|(place, _)| start_of(place) == start).map(|(_, stop)| stop)
    }
}

/// Where a piece of source begins.
fn start_of(place: &Place) -> (u32, u32, u32) {
    (place.file, place.line, place.column)
}

impl IrProgram for Program {
    fn module(&self) -> &Module {
        &self.module
    }

    fn function(&self, id: FunctionId) -> Option<Function> {
        self.functions.get(id.0 as usize).cloned()
    }
}

/// Lowers every kernel of a unit.
pub(crate) fn lower(checked: &Checked, file: &str, first_line: u32) -> Result<Lowered, Vec<Problem>> {
    let mut program = Program::default();
    // The first entry is «no file».
    program.module.files.extend([String::new(), file.to_owned()]);
    let mut files = Vec::new();
    for source in &checked.elsewhere {
        if program.file(&source.file) == 0 {
            program.module.files.push(source.file.clone());
        }
        files.push(program.file(&source.file));
    }
    program.module.target = "sm_80".to_owned();
    program.module.address_bits = 64;
    let (mut extents, mut problems) = (Vec::new(), Vec::new());
    for (index, signature) in checked.signatures.iter().enumerate() {
        if signature.role != Role::Kernel {
            continue;
        }
        let id = FunctionId(program.functions.len() as u32);
        let mut made = body::kernel(checked, index, id, first_line, &files);
        problems.append(&mut made.problems);
        extents.append(&mut made.extents);
        program.early_returns.append(&mut made.early_returns);
        program.loops.append(&mut made.loops);
        program.stops.append(&mut made.stops);
        program.functions.push(made.function);
        program.module.functions.push(FunctionHeader {
            name: signature.name.clone(),
            kind: FunctionKind::Kernel,
            defined: true,
            bounds: LaunchBounds::default(),
            offset: 0,
            no_return: false,
        });
        let parameters = signature.parameters.iter().filter(|p| p.ty != Ty::Space);
        program.kernels.push(Kernel {
            name: signature.name.clone(),
            function: id,
            parameters: parameters.map(|p| (p.name.clone(), p.ty.clone())).collect(),
            names: made.names,
        });
    }
    extents.sort_by_key(|(place, _)| *place);
    extents.dedup_by_key(|(place, _)| *place);
    program.places = extents.iter().map(|(place, _)| *place).collect();
    if problems.is_empty() { Ok(Lowered { program, extents }) } else { Err(problems) }
}
