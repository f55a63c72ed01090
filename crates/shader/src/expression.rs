//! Expressions.

use naga::{Expression, Handle, Literal, MathFunction, Scalar, ScalarKind, SwizzleComponent, TypeInner};
use standstill_kernel_ir::{Comparison, Op, Operand, Operation, Space, Type};

use crate::emit::Pointer;
use crate::frame::{Builder, Fault, Frame, Value, plain_access};
use crate::operation::{arithmetic, compare};
use crate::program::runtime_array;
use crate::types::register_type;

impl<'a> Builder<'a> {
    /// Works an expression out, where its value was emitted.
    pub(crate) fn emit(&mut self, frame: &mut Frame<'a>, handle: Handle<Expression>) -> Result<(), Fault> {
        let span = frame.function.expressions.get_span(handle);
        self.locate(frame, span);
        let value = self.evaluate(frame, handle)?;
        frame.values.insert(handle, value);
        Ok(())
    }

    /// The value of an expression.
    pub(crate) fn value(
        &mut self,
        frame: &mut Frame<'a>,
        handle: Handle<Expression>,
    ) -> Result<Value, Fault> {
        match frame.values.get(&handle) {
            Some(value) => Ok(value.clone()),
            None => self.evaluate(frame, handle),
        }
    }

    /// The type of an expression.
    pub(crate) fn type_of<'f>(&self, frame: &'f Frame<'a>, handle: Handle<Expression>) -> &'f TypeInner
    where
        'a: 'f,
    {
        frame.types.get(handle, &self.module.types)
    }

    /// The scalars of a value.
    pub(crate) fn scalars(
        &mut self,
        frame: &mut Frame<'a>,
        handle: Handle<Expression>,
    ) -> Result<Vec<Operand>, Fault> {
        Ok(match self.value(frame, handle)? {
            Value::Scalars(scalars) => scalars,
            Value::BuiltIn(builtin) => self.built_in(builtin),
            Value::Inputs(inputs) => {
                let mut all = Vec::new();
                for builtin in inputs.into_iter().flatten() {
                    all.extend(self.built_in(builtin));
                }
                all
            }
            Value::Pointer(_) | Value::Handle => Vec::new(),
        })
    }

    /// The only scalar of a value.
    pub(crate) fn scalar(
        &mut self,
        frame: &mut Frame<'a>,
        handle: Handle<Expression>,
    ) -> Result<Operand, Fault> {
        let scalars = self.scalars(frame, handle)?;
        let span = frame.function.expressions.get_span(handle);
        scalars.first().copied().ok_or_else(|| ("a value that is not known here".to_owned(), span))
    }

    /// The kind of number that a type consists of.
    pub(crate) fn scalar_kind(&self, inner: &TypeInner) -> Option<Scalar> {
        inner.scalar().or_else(|| self.types.slots(inner)?.first().map(|slot| slot.scalar))
    }

    fn evaluate(&mut self, frame: &mut Frame<'a>, handle: Handle<Expression>) -> Result<Value, Fault> {
        let span = frame.function.expressions.get_span(handle);
        let not_known = |what: &str| (format!("{what} is not known here"), span);
        Ok(match frame.function.expressions[handle] {
            Expression::Literal(literal) => Value::Scalars(vec![literal_bits(literal)]),
            Expression::Constant(constant) => {
                let init = self.module.constants[constant].init;
                Value::Scalars(self.constant(init).ok_or_else(|| not_known("a constant"))?)
            }
            Expression::Override(known) => Value::Scalars(vec![self.pipeline_constant(known)]),
            Expression::ZeroValue(ty) => {
                let inner = self.types.inner(ty);
                Value::Scalars(self.zeros(inner).ok_or_else(|| not_known("a value of this size"))?)
            }
            Expression::Compose { ref components, .. } => {
                let mut all = Vec::new();
                for &component in components {
                    all.extend(self.scalars(frame, component)?);
                }
                Value::Scalars(all)
            }
            Expression::Splat { size, value } => {
                let value = self.scalar(frame, value)?;
                Value::Scalars(vec![value; size as usize])
            }
            Expression::Swizzle { size, vector, pattern } => {
                let from = self.scalars(frame, vector)?;
                let pick = |component: &SwizzleComponent| from.get(*component as usize).copied();
                let all: Option<Vec<Operand>> = pattern.iter().take(size as usize).map(pick).collect();
                Value::Scalars(all.ok_or_else(|| not_known("a swizzle"))?)
            }
            Expression::FunctionArgument(index) => {
                frame.arguments.get(index as usize).cloned().unwrap_or(Value::Handle)
            }
            Expression::GlobalVariable(variable) => self.global(variable),
            Expression::LocalVariable(variable) => match frame.locals.get(&variable) {
                Some(pointer) => Value::Pointer(pointer.clone()),
                None => return Err(not_known("a variable")),
            },
            Expression::AccessIndex { base, index } => self.component(frame, base, index)?,
            Expression::Access { base, index } => self.indexed(frame, base, index)?,
            Expression::Load { pointer } => {
                let pointee =
                    pointee(self, self.type_of(frame, pointer)).ok_or_else(|| not_known("what is loaded"))?;
                match self.value(frame, pointer)? {
                    Value::Pointer(place) => Value::Scalars(
                        self.load(&place, &pointee).ok_or_else(|| not_known("what is loaded"))?,
                    ),
                    _ => return Err(not_known("a pointer")),
                }
            }
            Expression::Unary { op, expr } => {
                let kind = self.scalar_kind(self.type_of(frame, expr)).ok_or_else(|| not_known("a type"))?;
                let operands = self.scalars(frame, expr)?;
                Value::Scalars(operands.into_iter().map(|operand| self.unary(op, kind, operand)).collect())
            }
            Expression::Binary { op, left, right } => self.binary_of(frame, op, left, right, span)?,
            Expression::Select { condition, accept, reject } => {
                let kind =
                    self.scalar_kind(self.type_of(frame, accept)).ok_or_else(|| not_known("a type"))?;
                let conditions = self.scalars(frame, condition)?;
                let (yes, no) = (self.scalars(frame, accept)?, self.scalars(frame, reject)?);
                let mut all = Vec::new();
                for (index, (yes, no)) in yes.into_iter().zip(no).enumerate() {
                    let condition = conditions.get(index).or(conditions.first()).copied();
                    let condition = condition.ok_or_else(|| not_known("a condition"))?;
                    all.push(self.select(kind, condition, yes, no));
                }
                Value::Scalars(all)
            }
            Expression::Relational { fun, argument } => {
                let kind =
                    self.scalar_kind(self.type_of(frame, argument)).ok_or_else(|| not_known("a type"))?;
                let operands = self.scalars(frame, argument)?;
                Value::Scalars(self.relational(fun, kind, operands))
            }
            Expression::Math { fun, arg, arg1, arg2, arg3 } => {
                let mut operands = Vec::new();
                for argument in [Some(arg), arg1, arg2, arg3].into_iter().flatten() {
                    operands.push(self.scalars(frame, argument)?);
                }
                let kind = self.scalar_kind(self.type_of(frame, arg)).ok_or_else(|| not_known("a type"))?;
                let result = self.type_of(frame, handle).clone();
                let value = match (fun, &result, operands.first()) {
                    (MathFunction::Transpose, &TypeInner::Matrix { columns, rows, .. }, Some(from)) => {
                        self.transpose((columns as usize, rows as usize), from)
                    }
                    _ => {
                        let slots = self.types.slots(&result).ok_or_else(|| not_known("a function"))?;
                        let types: Vec<Type> = slots.iter().map(|slot| register_type(slot.scalar)).collect();
                        self.math(fun, kind, &operands, &types)
                    }
                };
                Value::Scalars(value.ok_or_else(|| not_known("a function"))?)
            }
            Expression::As { expr, kind, convert } => {
                let from = self.scalar_kind(self.type_of(frame, expr)).ok_or_else(|| not_known("a type"))?;
                let to = Scalar { kind, width: convert.unwrap_or(from.width) };
                let operands = self.scalars(frame, expr)?;
                let all = operands.into_iter().map(|operand| match convert {
                    Some(_) => self.convert(from, to, operand),
                    None => operand,
                });
                Value::Scalars(all.collect())
            }
            Expression::ArrayLength(array) => Value::Scalars(vec![self.array_length(frame, array)?]),
            // Values of statements are there when the statement has been lowered.
            Expression::CallResult(_)
            | Expression::AtomicResult { .. }
            | Expression::WorkGroupUniformLoadResult { .. }
            | Expression::SubgroupBallotResult
            | Expression::SubgroupOperationResult { .. } => return Err(not_known("a result")),
            ref other => {
                // Textures, derivatives, ray queries and matrices of a subgroup: their values are not modelled.
                let name = format!("{other:?}");
                let name = name.split([' ', '{', '(']).next().unwrap_or("expression").to_owned();
                let inner = self.type_of(frame, handle).clone();
                let types = self.types.slots(&inner).unwrap_or_default();
                let types: Vec<Type> = types.iter().map(|slot| register_type(slot.scalar)).collect();
                Value::Scalars(self.unknown(&name, &types, &[]))
            }
        })
    }

    /// A named part of a value or of what a pointer points at.
    fn component(
        &mut self,
        frame: &mut Frame<'a>,
        base: Handle<Expression>,
        index: u32,
    ) -> Result<Value, Fault> {
        let span = frame.function.expressions.get_span(base);
        let fault = || ("a part that is not known here".to_owned(), span);
        let inner = self.type_of(frame, base).clone();
        Ok(match self.value(frame, base)? {
            Value::Scalars(all) => {
                let (before, part) = self.types.component(&inner, index).ok_or_else(fault)?;
                let count = self.types.slots(&part).ok_or_else(fault)?.len();
                Value::Scalars(all.get(before..before + count).ok_or_else(fault)?.to_vec())
            }
            Value::Pointer(pointer) => {
                let pointee = pointee(self, &inner).ok_or_else(fault)?;
                Value::Pointer(self.part(&pointer, &pointee, index).ok_or_else(fault)?)
            }
            Value::BuiltIn(builtin) => {
                let all = self.built_in_component(builtin, index);
                Value::Scalars(vec![all])
            }
            Value::Inputs(inputs) => match inputs.get(index as usize).copied().flatten() {
                Some(builtin) => Value::BuiltIn(builtin),
                None => Value::Handle,
            },
            Value::Handle => Value::Handle,
        })
    }

    /// A part by an index that is worked out.
    fn indexed(
        &mut self,
        frame: &mut Frame<'a>,
        base: Handle<Expression>,
        index: Handle<Expression>,
    ) -> Result<Value, Fault> {
        let span = frame.function.expressions.get_span(base);
        let fault = || ("an element that is not known here".to_owned(), span);
        let inner = self.type_of(frame, base).clone();
        let signed = self.type_of(frame, index).scalar_kind() == Some(ScalarKind::Sint);
        let at = self.scalar(frame, index)?;
        Ok(match self.value(frame, base)? {
            Value::Pointer(pointer) => {
                let pointee = pointee(self, &inner).ok_or_else(fault)?;
                Value::Pointer(self.element(&pointer, &pointee, at, signed).ok_or_else(fault)?)
            }
            Value::Handle => Value::Handle,
            _ => {
                let all = self.scalars(frame, base)?;
                let (_, part) = self.types.component(&inner, 0).ok_or_else(fault)?;
                let slots = self.types.slots(&part).ok_or_else(fault)?;
                let count = slots.len().max(1);
                let mut chosen = all.get(..count).ok_or_else(fault)?.to_vec();
                for (number, candidate) in all.chunks_exact(count).enumerate().skip(1) {
                    let number = Operand::Immediate(number as u64);
                    let is_it = self.result(compare(Comparison::Eq, Type::U32), Type::Pred, &[at, number]);
                    for ((old, &new), slot) in chosen.iter_mut().zip(candidate).zip(&slots) {
                        *old = self.select(slot.scalar, is_it, new, *old);
                    }
                }
                Value::Scalars(chosen)
            }
        })
    }

    /// The number of elements of a runtime-sized array, by the length of its buffer.
    fn array_length(&mut self, frame: &mut Frame<'a>, array: Handle<Expression>) -> Result<Operand, Fault> {
        let span = frame.function.expressions.get_span(array);
        let fault = || ("the length of this array is not known here".to_owned(), span);
        let Value::Pointer(Pointer::Memory { buffer: Some(buffer), .. }) = self.value(frame, array)? else {
            return Err(fault());
        };
        let parameter = self.layout.length_of(buffer).ok_or_else(fault)?;
        let variable = &self.module.global_variables[*self.layout.buffers.get(buffer).ok_or_else(fault)?];
        let (before, stride) = runtime_array(self.types, self.types.inner(variable.ty)).ok_or_else(fault)?;
        let bytes = self.result(
            Op::Load(plain_access(Space::Param, Type::U32)),
            Type::U32,
            &[Operand::Parameter { index: parameter, offset: 0 }],
        );
        let rest = match before {
            0 => bytes,
            _ => self.result(
                arithmetic(Operation::Sub, Type::U32),
                Type::U32,
                &[bytes, Operand::Immediate(u64::from(before))],
            ),
        };
        let stride = Operand::Immediate(u64::from(stride.max(1)));
        Ok(self.result(arithmetic(Operation::Div, Type::U32), Type::U32, &[rest, stride]))
    }

    fn pipeline_constant(&mut self, known: Handle<naga::Override>) -> Operand {
        let ty = match *self.types.inner(self.module.overrides[known].ty) {
            TypeInner::Scalar(scalar) => register_type(scalar),
            _ => Type::U32,
        };
        let Some(index) = self.layout.override_at(known) else { return Operand::Immediate(0) };
        let parameter = Operand::Parameter { index, offset: 0 };
        let stored = if ty == Type::Pred { Type::U32 } else { ty };
        let value = self.result(Op::Load(plain_access(Space::Param, stored)), stored, &[parameter]);
        match ty {
            Type::Pred => {
                self.result(compare(Comparison::Ne, Type::U32), Type::Pred, &[value, Operand::Immediate(0)])
            }
            _ => value,
        }
    }

    /// The scalars of an expression of module scope, where it is a constant.
    pub(crate) fn constant(&mut self, handle: Handle<Expression>) -> Option<Vec<Operand>> {
        match self.module.global_expressions[handle] {
            Expression::Literal(literal) => Some(vec![literal_bits(literal)]),
            Expression::Constant(constant) => self.constant(self.module.constants[constant].init),
            Expression::Override(known) => Some(vec![self.pipeline_constant(known)]),
            Expression::ZeroValue(ty) => self.zeros(self.types.inner(ty)),
            Expression::Compose { ref components, .. } => {
                let mut all = Vec::new();
                for &component in components {
                    all.extend(self.constant(component)?);
                }
                Some(all)
            }
            Expression::Splat { size, value } => {
                let value = *self.constant(value)?.first()?;
                Some(vec![value; size as usize])
            }
            _ => None,
        }
    }

    /// Zeros for all scalars of a type.
    pub(crate) fn zeros(&self, inner: &TypeInner) -> Option<Vec<Operand>> {
        Some(vec![Operand::Immediate(0); self.types.slots(inner)?.len()])
    }
}

/// The type behind a pointer.
pub(crate) fn pointee(builder: &Builder<'_>, inner: &TypeInner) -> Option<TypeInner> {
    Some(match *inner {
        TypeInner::Pointer { base, .. } => builder.types.inner(base).clone(),
        TypeInner::ValuePointer { size: None, scalar, .. } => TypeInner::Scalar(scalar),
        TypeInner::ValuePointer { size: Some(size), scalar, .. } => TypeInner::Vector { size, scalar },
        _ => return None,
    })
}

fn literal_bits(literal: Literal) -> Operand {
    Operand::Immediate(match literal {
        Literal::F64(value) => value.to_bits(),
        Literal::F32(value) => u64::from(value.to_bits()),
        Literal::F16(value) => u64::from(value.to_bits()),
        Literal::U16(value) => u64::from(value),
        Literal::I16(value) => i64::from(value).cast_unsigned(),
        Literal::U32(value) => u64::from(value),
        Literal::I32(value) => i64::from(value).cast_unsigned(),
        Literal::U64(value) => value,
        Literal::I64(value) => value.cast_unsigned(),
        Literal::Bool(value) => u64::from(value),
        Literal::AbstractInt(value) => value.cast_unsigned(),
        Literal::AbstractFloat(value) => u64::from((value as f32).to_bits()),
    })
}
