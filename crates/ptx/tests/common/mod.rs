//! Compact text of syntax and of kernel IR, and what must hold of every parse.

#![allow(dead_code, reason = "each test uses a part")]

use std::fmt::Write;

use standstill_kernel_ir::{self as ir, Function, FunctionId, Op, Program, Terminator};
use standstill_ptx::syntax::operand::{GroupKind, Operand, OperandRef, Operands};
use standstill_ptx::syntax::statement::{Statement, StatementKind};
use standstill_ptx::{Lowering, Module, Span, parse};

/// One line for each statement of the first function's body.
pub(crate) fn show_body(module: &Module<'_>) -> String {
    let Some(function) = module.functions.first() else { return String::new() };
    module.body(function).iter().map(|statement| show_statement(module, statement) + "\n").collect()
}

pub(crate) fn show_statement(module: &Module<'_>, statement: &Statement) -> String {
    let operands = |first, slots| show_operands(module, module.operands(first, slots));
    match statement.kind {
        StatementKind::Instruction { slots, opcode, guard, first } => {
            let guard = match guard.get() {
                Some((register, true)) => format!("@!r{} ", register.0),
                Some((register, false)) => format!("@r{} ", register.0),
                None => String::new(),
            };
            format!("{guard}{} {}", module.opcode(opcode).text(), operands(first, u32::from(slots)))
                .trim_end()
                .to_owned()
        }
        StatementKind::Label(name) => format!("{}:", module.str(name)),
        StatementKind::Loc { column, file, line, inlined } => match inlined.get() {
            None => format!("loc {file} {line} {column}"),
            Some(index) => {
                let at = module.inlined[index];
                let name = module.debug_name(at.function, at.function_offset).unwrap_or_default();
                format!("loc {file} {line} {column} in {name} at {} {} {}", at.file, at.line, at.column)
            }
        },
        StatementKind::Open => "{".to_owned(),
        StatementKind::Close => "}".to_owned(),
        StatementKind::Variable(index) => show_variable(module, index),
        StatementKind::Targets { first, slots } => format!("targets {}", operands(first, slots)),
        StatementKind::Prototype(span) => format!("prototype {}", module.str(span).trim()),
        StatementKind::Pragma(span) => format!("pragma {}", module.str(span)),
        StatementKind::LifeMark { freed, slots, first } => {
            let what = if freed { "freed" } else { "allocated" };
            format!("{what} {}", operands(first, u32::from(slots)))
        }
        StatementKind::OperationMark { mark, slots, first } => {
            format!("{mark:?} {}", operands(first, u32::from(slots)))
        }
        StatementKind::UndeclaredGuard { negated, name } => {
            format!("undeclared @{}{}", if negated { "!" } else { "" }, module.str(name))
        }
    }
}

pub(crate) fn show_variable(module: &Module<'_>, index: u32) -> String {
    let variable = module.variables[index as usize];
    let mut text = format!("{:?} {}", variable.space, module.str(variable.name));
    let _ = write!(text, ": {}", module.str(variable.ty));
    if variable.vector > 1 {
        let _ = write!(text, " v{}", variable.vector);
    }
    match variable.elements {
        Some(1) if !variable.array => {}
        Some(elements) => drop(write!(text, "[{elements}]")),
        None => text.push_str("[]"),
    }
    if variable.align > 0 {
        let _ = write!(text, " align {}", variable.align);
    }
    if variable.linkage != Default::default() {
        let _ = write!(text, " {:?}", variable.linkage);
    }
    if variable.managed {
        text.push_str(" managed");
    }
    if let Some(space) = variable.pointer {
        let _ = write!(text, " points into {space:?}");
    }
    if !variable.initialiser.is_empty() {
        let _ = write!(text, " = {}", module.str(variable.initialiser));
    }
    text
}

fn show_operands(module: &Module<'_>, operands: Operands<'_>) -> String {
    operands.map(|operand| show_operand(module, operand)).collect::<Vec<_>>().join(", ")
}

fn show_operand(module: &Module<'_>, operand: OperandRef<'_>) -> String {
    let members = || show_operands(module, operand.members());
    match operand.operand {
        Operand::Register(register) => format!("r{}", register.0),
        Operand::NotRegister(register) => format!("!r{}", register.0),
        Operand::RegisterPart(register, part) => format!("r{}.{part:?}", register.0),
        Operand::Sink => "_".to_owned(),
        Operand::Integer(value) => format!("{}", value.get() as i64),
        Operand::Float32(bits) => format!("{:?}f", f32::from_bits(bits)),
        Operand::Float64(bits) => format!("{:?}d", f64::from_bits(bits.get())),
        Operand::Name(name) => format!("'{}'", module.str(name)),
        Operand::AddressRegister(register, 0) => format!("[r{}]", register.0),
        Operand::AddressRegister(register, offset) => format!("[r{}{offset:+}]", register.0),
        Operand::AddressName(name) => format!("['{}']", module.str(name)),
        Operand::Group(GroupKind::Vector, _) => format!("{{{}}}", members()),
        Operand::Group(GroupKind::List, _) => format!("({})", members()),
        Operand::Group(GroupKind::Address, _) => format!("[{}]", members()),
        Operand::Group(kind, _) => format!("{kind:?}({})", members()),
        Operand::Unknown(span) => format!("?{}", module.str(span)),
    }
}

/// The blocks of a function. Registers are shown by their names, those of the lowering's own as `t0`, ….
pub(crate) fn show_function(module: &Module<'_>, lowering: &Lowering<'_, '_>, id: u32) -> String {
    let (Some(function), Some(syntax)) =
        (lowering.function(FunctionId(id)), lowering.function_syntax(FunctionId(id)))
    else {
        return "no body".to_owned();
    };
    let name = |register: ir::Register| -> String {
        for declaration in module.registers(syntax) {
            if (declaration.first..declaration.first + declaration.count).contains(&register.0) {
                let name = module.str(declaration.name);
                return match declaration.range {
                    true => format!("{name}{}", register.0 - declaration.first),
                    false => name.to_owned(),
                };
            }
        }
        format!("t{}", register.0 - syntax.register_count)
    };
    let guard =
        |guard: ir::Guard| format!("@{}{}", if guard.negated() { "!" } else { "" }, name(guard.register()));
    let operand = |operand: &ir::Operand| match *operand {
        ir::Operand::Register(register) => name(register),
        ir::Operand::Negated(register) => format!("!{}", name(register)),
        ir::Operand::Immediate(value) => format!("{}", value as i64),
        ir::Operand::Symbol { symbol, offset } => {
            let name = match symbol {
                ir::Symbol::Module(index) => lowering.module().variables[index as usize].name.clone(),
                ir::Symbol::Local(index) => function.variables[index as usize].name.clone(),
                ir::Symbol::Function(index) => lowering.module().functions[index as usize].name.clone(),
            };
            format!("&{name}{offset:+}")
        }
        ir::Operand::Address { base, offset } => format!("[{}{offset:+}]", name(base)),
        ir::Operand::Parameter { index, offset } => format!("param{index}{offset:+}"),
        ir::Operand::Special(special) => format!("{special:?}"),
        ir::Operand::Absent => "_".to_owned(),
    };
    let operands = |all: &[ir::Operand]| all.iter().map(operand).collect::<Vec<_>>().join(", ");
    let mut text = String::new();
    for (block, number) in function.blocks.iter().zip(0u32..) {
        let _ = writeln!(text, "b{number}:");
        for instruction in function.instructions_of(ir::BlockId(number)) {
            let written = operands(function.destinations(instruction.operands));
            let read = operands(function.sources(instruction.operands));
            let prefix = instruction.guard.map_or(String::new(), |g| guard(g) + " ");
            let op = show_op(&function, lowering, &instruction.op);
            let written = if written.is_empty() { written } else { format!(" {written}") };
            let line = format!("  {prefix}{op}{written} <- {read}");
            let _ = writeln!(text, "{}", line.trim_end());
        }
        let _ = match block.terminator {
            Terminator::Jump(target) => writeln!(text, "  jump b{}", target.0),
            Terminator::Branch { guard: condition, taken, otherwise } => {
                writeln!(text, "  {} b{} else b{}", guard(condition), taken.0, otherwise.0)
            }
            Terminator::Switch { index, first, count } => {
                let targets = &function.switch_targets[first as usize..(first + count) as usize];
                let targets: Vec<_> = targets.iter().map(|target| format!("b{}", target.0)).collect();
                writeln!(text, "  switch {} {}", operand(&index), targets.join(" "))
            }
            other => writeln!(text, "  {other:?}"),
        };
    }
    text
}

fn show_op(function: &Function, lowering: &Lowering<'_, '_>, op: &Op) -> String {
    let access = |access: &ir::Access| {
        let mut text = format!("{:?}.{:?}", access.space, access.ty);
        if access.elements > 1 {
            let _ = write!(text, "x{}", access.elements);
        }
        if access.order != ir::Order::Weak {
            let _ = write!(text, ".{:?}.{:?}", access.order, access.scope);
        }
        if access.non_coherent {
            text.push_str(".nc");
        }
        text
    };
    match op {
        Op::Arithmetic(a) => {
            let mut text = format!("{:?}.{:?}", a.operation, a.ty);
            if a.from != a.ty {
                let _ = write!(text, "<{:?}", a.from);
            }
            if a.comparison != ir::Comparison::None {
                let _ = write!(text, ".{:?}", a.comparison);
            }
            if a.combine != ir::BooleanOperation::None {
                let _ = write!(text, ".{:?}", a.combine);
            }
            if a.flags.0 != 0 {
                let _ = write!(text, ".{:#x}", a.flags.0);
            }
            text
        }
        Op::Load(a) => format!("Load.{}", access(a)),
        Op::Store(a) => format!("Store.{}", access(a)),
        Op::Atomic { access: a, operation } => format!("Atomic.{operation:?}.{}", access(a)),
        Op::Opaque(id) => format!("Opaque.{}", function.opaque[id.0 as usize].mnemonic),
        Op::Call(id) => match &function.calls[id.0 as usize].callee {
            ir::Callee::Direct(id) => format!("Call.{}", lowering.module().functions[id.0 as usize].name),
            ir::Callee::Indirect(targets) => format!("Call.{targets:?}"),
            ir::Callee::Unknown(name) => format!("Call.?{name}"),
        },
        other => format!("{other:?}"),
    }
}

/// What holds of the parse and lowering of every text.
pub(crate) fn validate(text: &str) {
    let module = parse(text);
    let inside = |span: Span| {
        assert!(span.start <= span.end && span.end as usize <= text.len(), "{span:?} in {}", text.len());
        assert!(text.get(span.start as usize..span.end as usize).is_some(), "{span:?} splits a character");
    };
    for error in module.errors.kept() {
        inside(error.span);
        let place = module.position(error.span.start);
        assert!(place.line >= 1 && place.column >= 1);
    }
    for variable in &module.variables {
        [variable.name, variable.ty, variable.initialiser].into_iter().for_each(inside);
    }
    for statement in &module.statements {
        assert!(statement.offset as usize <= text.len());
        match statement.kind {
            StatementKind::Instruction { slots, first, .. }
            | StatementKind::LifeMark { slots, first, .. }
            | StatementKind::OperationMark { slots, first, .. } => {
                assert!(first as usize + usize::from(slots) <= module.operands.len());
            }
            StatementKind::Label(span) | StatementKind::Prototype(span) | StatementKind::Pragma(span) => {
                inside(span);
            }
            _ => {}
        }
    }
    for operand in &module.operands {
        if let Operand::Name(span) | Operand::AddressName(span) | Operand::Unknown(span) = *operand {
            inside(span);
        }
    }
    module.comments.iter().copied().for_each(inside);
    for function in &module.functions {
        inside(function.span);
        inside(function.name);
    }
    let lowering = Lowering::new(&module);
    for id in 0..lowering.module().functions.len() {
        if let Some(function) = lowering.function(FunctionId(id as u32)) {
            assert_eq!(function.flaw(), None);
        }
    }
}
