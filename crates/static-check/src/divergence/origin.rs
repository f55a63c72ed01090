//! Where the difference between threads is born, and why a condition could not be decided.

use super::*;

/// Where the difference between threads comes from.
pub(crate) struct Origin {
    pub(crate) at: InstructionId,
    kind: OriginKind,
    /// A kernel's parameter whose value is not known goes into the condition, too.
    parameter: Option<u32>,
}

enum OriginKind {
    Special(Special),
    Load,
    Atomic,
    Other,
}

impl Origin {
    /// Whether it is what memory holds.
    pub(super) fn is_load(&self) -> bool {
        matches!(self.kind, OriginKind::Load)
    }

    pub(super) fn label(&self) -> Option<String> {
        match self.kind {
            OriginKind::Special(special) => Some(format!("{} read here", Places::special_name(special))),
            OriginKind::Load => Some("each thread reads its own value here".into()),
            OriginKind::Atomic => Some("an atomic gives each thread its own value here".into()),
            OriginKind::Other => None,
        }
    }
}

/// Follows a condition back to what makes it differ.
pub(crate) fn origin(kernel: &Kernel<'_>, value: ValueId) -> Option<Origin> {
    let body = kernel.body;
    let mut queue = std::collections::VecDeque::from([value]);
    let mut seen = vec![value];
    let mut found: Option<Origin> = None;
    let mut parameter = None;
    // Conditions that choose a value; they matter where no difference is found in the values themselves.
    let mut choosing: Vec<ValueId> = Vec::new();
    loop {
        let differs =
            |f: &Origin| !matches!(f.kind, OriginKind::Other | OriginKind::Special(Special::Ctaid(_)));
        let value = match queue.pop_front() {
            Some(value) => value,
            None => match choosing.pop() {
                Some(condition) if !found.as_ref().is_some_and(differs) => condition,
                _ => break,
            },
        };
        let mut next = |v: ValueId| {
            if !seen.contains(&v) && seen.len() < 512 {
                seen.push(v);
                queue.push_back(v);
            }
        };
        let Some((at, instruction)) = body.definition(value) else {
            body.ssa.incoming(value).iter().for_each(|&(_, v)| next(v));
            for branch in kernel.uniformity.choosing(body, value) {
                if let Some(condition) = body.ssa.terminator(branch)
                    && !seen.contains(&condition)
                {
                    seen.push(condition);
                    choosing.push(condition);
                }
            }
            continue;
        };
        for (index, operand) in body.function.sources(instruction.operands).iter().enumerate() {
            if let Operand::Special(special) = operand
                && !matches!(special, Special::Ntid(_) | Special::Nctaid(_) | Special::WarpSize)
            {
                let better =
                    found.as_ref().is_none_or(|f| !matches!(f.kind, OriginKind::Special(Special::Tid(_))));
                let thread = matches!(special, Special::Tid(_) | Special::LaneId | Special::WarpId);
                if better && (thread || found.is_none()) {
                    found = Some(Origin { at, kind: OriginKind::Special(*special), parameter: None });
                }
            }
            if let Operand::Parameter { index: position, .. } = operand
                && !kernel.launch.shape.parameters.contains_key(&(*position as usize))
            {
                parameter.get_or_insert(*position);
            }
            if matches!(instruction.op, Op::Arithmetic(_))
                && let Some(v) = body.source_value(instruction, index)
            {
                next(v);
            }
        }
        let kind = match instruction.op {
            Op::Load(access) if access.space != standstill_kernel_ir::Space::Param => OriginKind::Load,
            Op::Atomic { .. } => OriginKind::Atomic,
            Op::Arithmetic(_) | Op::Load(_) => continue,
            _ => OriginKind::Other,
        };
        if kernel.uniformity.value(value) < Agreement::Block
            && found.as_ref().is_none_or(|f| matches!(f.kind, OriginKind::Other))
        {
            found = Some(Origin { at, kind, parameter: None });
        }
    }
    found.map(|origin| Origin { parameter, ..origin })
}

/// Why a condition could not be decided.
pub(super) fn reason(kernel: &Kernel<'_>, branch: BlockId) -> String {
    let Some(origin) = kernel.body.ssa.terminator(branch).and_then(|value| origin(kernel, value)) else {
        return "the condition's value is not known".into();
    };
    match (&origin.kind, origin.parameter) {
        (OriginKind::Load, _) => {
            format!("it depends on what memory holds, read on line {}", kernel.places.line(origin.at))
        }
        (OriginKind::Atomic, _) => {
            format!("it depends on the result of the atomic on line {}", kernel.places.line(origin.at))
        }
        (_, Some(parameter)) => {
            let name = kernel.places.parameter_name(parameter);
            format!("it depends on {name}, whose value is not known (`--param {parameter}=…`)")
        }
        _ if kernel.launch.block.is_none() => "the block's shape is not known (`--block`)".into(),
        _ => "the condition's value is not known".into(),
    }
}
