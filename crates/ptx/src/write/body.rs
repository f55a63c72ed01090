//! A function's body: registers, blocks, and what instructions need around them.

use std::fmt::Write as _;

use standstill_kernel_ir::{
    Block, BlockId, CallSite, Callee, Function, FunctionHeader, FunctionId, FunctionKind, Instruction,
    LocationId, Operand, Piece, Program, Register, Space, Symbol, Terminator, Type,
};

use super::words::{bits_name, identifier, special_name};
use super::{WriteError, parameter_name};

/// A body under way.
pub(super) struct Writer<'a> {
    pub(super) program: &'a dyn Program,
    pub(super) function: &'a Function,
    pub(super) text: String,
    /// Registers that hold what an instruction cannot name itself.
    helpers: Vec<u32>,
    calls: u32,
    location: LocationId,
}

/// Writes what stands between the braces.
pub(super) fn write(
    program: &dyn Program,
    header: &FunctionHeader,
    function: &Function,
) -> Result<String, WriteError> {
    let mut writer = Writer {
        program,
        function,
        text: String::new(),
        helpers: Vec::new(),
        calls: 0,
        location: LocationId(0),
    };
    let fail = |(what, location, offset): Unwritten| WriteError {
        function: header.name.clone(),
        what,
        line: function.location(location).line,
        offset,
    };
    writer.declare().map_err(fail)?;
    if header.kind == FunctionKind::Device {
        writer.take_parameters().map_err(fail)?;
    }
    let blocks = || function.blocks.iter().zip(0u32..);
    for (block, number) in blocks() {
        let _ = writeln!(writer.text, "B{number}:");
        for instruction in function.instructions_of(BlockId(number)) {
            writer.locate(instruction.location);
            let before = writer.text.len();
            if writer.instruction(instruction).is_none() {
                writer.text.truncate(before);
                let what = program
                    .excerpt(instruction.offset)
                    .unwrap_or_else(|| format!("{:?}", instruction.op).chars().take(80).collect());
                return Err(fail((what, instruction.location, instruction.offset)));
            }
        }
        writer.locate(block.location);
        writer.terminator(header, block, number).map_err(fail)?;
    }
    // Registers are declared before the text that needs them.
    let mut declared = String::new();
    for (bits, index) in writer.helpers.iter().zip(0..) {
        let ty = bits_name(*bits).unwrap_or("pred");
        let _ = writeln!(declared, "\t.reg .{ty} %h{index};");
    }
    Ok(declared + &writer.text)
}

/// What cannot be written, and where it stands.
type Unwritten = (String, LocationId, u32);

impl Writer<'_> {
    fn declare(&mut self) -> Result<(), Unwritten> {
        for (register, index) in self.function.registers.iter().zip(0u32..) {
            // Bits fit every instruction of their width.
            let ty = match register.ty {
                Type::Pred => Some("pred"),
                ty if ty.bits() == 8 => Some("b16"),
                ty => bits_name(ty.bits()),
            };
            let Some(ty) = ty else {
                return Err((format!("a register of type {:?}", register.ty), LocationId(0), 0));
            };
            let _ = writeln!(self.text, "\t.reg .{ty} %v{index};");
        }
        for (variable, index) in self.function.variables.iter().zip(0u32..) {
            let space = match variable.space {
                Space::Shared => ".shared",
                Space::Local => ".local",
                _ => {
                    return Err((format!("the variable {}", variable.name), LocationId(0), 0));
                }
            };
            let align = variable.align.max(variable.ty.bytes()).max(1);
            let _ = writeln!(
                self.text,
                "\t{space} .align {align} .b8 {}[{}];",
                local_name(&variable.name, index),
                variable.bytes.max(1)
            );
        }
        Ok(())
    }

    /// The pieces of the parameters of a device function go to their registers.
    fn take_parameters(&mut self) -> Result<(), Unwritten> {
        for piece in &self.function.parameter_pieces {
            let ty = self.memory_type(piece.register).ok_or_else(predicate)?;
            let name = parameter_name(piece.index as usize);
            let _ = writeln!(self.text, "\tld.param.{ty} %v{}, [{name}+{}];", piece.register.0, piece.offset);
        }
        Ok(())
    }

    /// The type with which a register goes to memory and comes back; none for predicates.
    fn memory_type(&self, register: Register) -> Option<&'static str> {
        let ty = self.function.registers.get(register.0 as usize)?.ty;
        bits_name(ty.bits())
    }

    fn locate(&mut self, id: LocationId) {
        let location = self.function.location(id);
        if id != self.location && location.line != 0 && location.file.0 != u32::MAX && location.file.0 != 0 {
            let _ = writeln!(self.text, "\t.loc {} {} {}", location.file.0, location.line, location.column);
            self.location = id;
        }
    }

    fn terminator(&mut self, header: &FunctionHeader, block: &Block, number: u32) -> Result<(), Unwritten> {
        let next = BlockId(number + 1);
        match block.terminator {
            Terminator::Jump(to) if to == next => {}
            Terminator::Jump(to) => {
                let _ = writeln!(self.text, "\tbra B{};", to.0);
            }
            Terminator::Branch { guard, taken, otherwise } => {
                // What follows in the text needs no jump.
                let (holds, to, rest) = match taken == next {
                    true => (guard.negated(), otherwise, taken),
                    false => (!guard.negated(), taken, otherwise),
                };
                let not = if holds { "" } else { "!" };
                let _ = writeln!(self.text, "\t@{not}%v{} bra B{};", guard.register().0, to.0);
                if rest != next {
                    let _ = writeln!(self.text, "\tbra B{};", rest.0);
                }
            }
            Terminator::Switch { index, first, count } => {
                let targets = self.function.switch_targets.get(first as usize..(first + count) as usize);
                let targets: Vec<String> =
                    targets.unwrap_or(&[]).iter().map(|target| format!("B{}", target.0)).collect();
                let Some(index) = self.value(index, Type::U32) else {
                    return Err(("the index of a switch".to_owned(), block.location, block.offset));
                };
                let _ = writeln!(self.text, "\tT{number}: .branchtargets {};", targets.join(", "));
                let _ = writeln!(self.text, "\tbrx.idx {index}, T{number};");
            }
            Terminator::Return => {
                if header.kind == FunctionKind::Device {
                    for piece in &self.function.result_pieces {
                        let ty = self.memory_type(piece.register).ok_or_else(predicate)?;
                        let _ = writeln!(
                            self.text,
                            "\tst.param.{ty} [R+{}], %v{};",
                            piece.offset, piece.register.0
                        );
                    }
                }
                self.text.push_str("\tret;\n");
            }
            Terminator::Exit => self.text.push_str("\texit;\n"),
            Terminator::Trap => self.text.push_str("\ttrap;\n"),
        }
        Ok(())
    }

    /// A register of the writer's own.
    fn helper(&mut self, bits: u32) -> String {
        self.helpers.push(bits);
        format!("%h{}", self.helpers.len() - 1)
    }

    /// An operand as a value of an instruction with this type. What only `mov` may read goes through a register.
    pub(super) fn value(&mut self, operand: Operand, ty: Type) -> Option<String> {
        Some(match operand {
            Operand::Register(register) => format!("%v{}", register.0),
            Operand::Negated(register) => format!("!%v{}", register.0),
            Operand::Immediate(bits) => literal(bits, ty),
            Operand::Absent => "_".to_owned(),
            Operand::Special(special) => {
                let (name, bits) = special_name(special)?;
                if bits == 1 {
                    return None;
                }
                let helper = self.helper(bits);
                let _ = writeln!(self.text, "\tmov.u{bits} {helper}, {name};");
                helper
            }
            Operand::Symbol { .. } | Operand::Parameter { .. } => {
                let name = self.place(operand)?;
                let helper = self.helper(64);
                let _ = writeln!(self.text, "\tmov.u64 {helper}, {name};");
                self.narrowed(helper, ty)
            }
            Operand::Address { base, offset } => {
                let bits = self.function.registers.get(base.0 as usize)?.ty.bits();
                let helper = self.helper(bits);
                let _ = writeln!(self.text, "\tadd.s{bits} {helper}, %v{}, {offset};", base.0);
                helper
            }
        })
    }

    /// An address in 32 bits, where an instruction wants it so.
    fn narrowed(&mut self, wide: String, ty: Type) -> String {
        if ty.bits() != 32 {
            return wide;
        }
        let narrow = self.helper(32);
        let _ = writeln!(self.text, "\tcvt.u32.u64 {narrow}, {wide};");
        narrow
    }

    /// A name with an offset, as it stands in an address.
    fn place(&self, operand: Operand) -> Option<String> {
        let (name, offset) = match operand {
            Operand::Symbol { symbol, offset } => {
                let name = match symbol {
                    Symbol::Module(index) => {
                        identifier(&self.program.module().variables.get(index as usize)?.name)
                    }
                    Symbol::Local(index) => {
                        local_name(&self.function.variables.get(index as usize)?.name, index)
                    }
                    Symbol::Function(index) => {
                        identifier(&self.program.module().functions.get(index as usize)?.name)
                    }
                };
                (name, offset)
            }
            Operand::Parameter { index, offset } => (parameter_name(index as usize), offset),
            Operand::Register(base) => (format!("%v{}", base.0), 0),
            Operand::Address { base, offset } => (format!("%v{}", base.0), offset),
            Operand::Immediate(address) => return Some(format!("{address}")),
            Operand::Negated(_) | Operand::Special(_) | Operand::Absent => return None,
        };
        Some(if offset == 0 { name } else { format!("{name}+{offset}") })
    }

    /// An operand as an address.
    pub(super) fn address(&self, operand: Operand) -> Option<String> {
        Some(format!("[{}]", self.place(operand)?))
    }

    /// A call: what is passed and what comes back stand in parameter space for its length.
    pub(super) fn call(&mut self, instruction: &Instruction, site: &CallSite) -> Option<()> {
        let Callee::Direct(FunctionId(id)) = site.callee else { return None };
        if instruction.guard.is_some() {
            return None;
        }
        let header = self.program.module().functions.get(id as usize)?;
        let callee = self.program.function(FunctionId(id))?;
        let number = self.calls;
        self.calls += 1;
        let mut passed = Vec::new();
        self.text.push_str("\t{\n");
        for (index, parameter) in callee.parameters.iter().enumerate() {
            let name = format!("A{number}_{index}");
            let _ = writeln!(self.text, "\t{};", super::declare_parameter(parameter, &name));
            passed.push(name);
        }
        for piece in &site.arguments {
            let (ty, name) = (self.memory_type(piece.register)?, passed.get(piece.index as usize)?);
            let _ = writeln!(self.text, "\tst.param.{ty} [{name}+{}], %v{};", piece.offset, piece.register.0);
        }
        let bytes = callee.result_pieces.iter().map(|piece| piece.offset + 8).max();
        let mut back = String::new();
        if let Some(bytes) = bytes {
            let _ = writeln!(self.text, "\t.param .align 8 .b8 R{number}[{bytes}];");
            back = format!("(R{number}), ");
        }
        let name = identifier(&header.name);
        let _ = writeln!(self.text, "\tcall.uni {back}{name}, ({});", passed.join(", "));
        for &Piece { offset, register, .. } in site.results.iter().filter(|_| bytes.is_some()) {
            let ty = self.memory_type(register)?;
            let _ = writeln!(self.text, "\tld.param.{ty} %v{}, [R{number}+{offset}];", register.0);
        }
        self.text.push_str("\t}\n");
        Some(())
    }
}

fn predicate() -> Unwritten {
    ("a predicate that is passed".to_owned(), LocationId(0), 0)
}

/// Variables of one function may have the same name in different scopes.
fn local_name(name: &str, index: u32) -> String {
    format!("{}_{index}", identifier(name))
}

/// A constant of a type.
fn literal(bits: u64, ty: Type) -> String {
    match ty {
        Type::F32 => format!("0f{:08X}", bits as u32),
        Type::F64 => format!("0d{bits:016X}"),
        Type::Pred => (bits & 1).to_string(),
        _ if ty.bits() == 64 || ty.bits() == 0 => bits.cast_signed().to_string(),
        _ => standstill_kernel_ir::evaluate::signed(bits, ty.bits()).to_string(),
    }
}
