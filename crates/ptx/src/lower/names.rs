//! Names of a body that are no registers: parameters, `.param` variables, variables, with the scoping of
//! inner blocks.

use rustc_hash::FxHashMap;
use standstill_kernel_ir::{Piece, Register};

/// A parameter, result or `.param` variable whose pieces are held in registers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Parcel(pub(super) u32);

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Binding {
    /// A kernel's parameter.
    Parameter(u32),
    /// Something held in registers piece by piece.
    Parcel(Parcel),
    /// A variable of the function.
    Local(u32),
    /// A register that was never declared.
    Register(Register),
}

#[derive(Default)]
pub(super) struct Names<'a> {
    bindings: FxHashMap<&'a str, Binding>,
    undo: Vec<(&'a str, Option<Binding>)>,
    blocks: Vec<usize>,
}

impl<'a> Names<'a> {
    pub(super) fn get(&self, name: &str) -> Option<Binding> {
        self.bindings.get(name).copied()
    }

    pub(super) fn bind(&mut self, name: &'a str, binding: Binding) {
        let before = self.bindings.insert(name, binding);
        if !self.blocks.is_empty() {
            self.undo.push((name, before));
        }
    }

    pub(super) fn open(&mut self) {
        self.blocks.push(self.undo.len());
    }

    pub(super) fn close(&mut self) {
        let length = self.blocks.pop().unwrap_or(0);
        while self.undo.len() > length {
            match self.undo.pop() {
                Some((name, Some(binding))) => self.bindings.insert(name, binding),
                Some((name, None)) => self.bindings.remove(name),
                None => return,
            };
        }
    }
}

/// A parameter holds at most 32 764 bytes (PTX ISA, "Parameter State Space"), so no more pieces are kept.
const MAX_PIECES: usize = 1 << 15;

/// The pieces of every parcel.
#[derive(Default)]
pub(super) struct Pieces {
    registers: FxHashMap<(Parcel, u32), Register>,
    by_parcel: Vec<Vec<(u32, Register)>>,
}

impl Pieces {
    pub(super) fn new_parcel(&mut self) -> Parcel {
        self.by_parcel.push(Vec::new());
        Parcel(crate::span::offset(self.by_parcel.len() - 1))
    }

    /// The register that holds the piece at `offset`, made by `make` where it is new.
    pub(super) fn register(
        &mut self,
        parcel: Parcel,
        offset: u32,
        make: impl FnOnce() -> Register,
    ) -> Register {
        if let Some(&register) = self.registers.get(&(parcel, offset)) {
            return register;
        }
        let register = make();
        self.registers.insert((parcel, offset), register);
        if let Some(pieces) = self.by_parcel.get_mut(parcel.0 as usize)
            && pieces.len() < MAX_PIECES
        {
            pieces.push((offset, register));
        }
        register
    }

    /// The pieces of a parcel as parts of the parameter or result at `index`.
    pub(super) fn of(&self, parcel: Parcel, index: u32) -> impl Iterator<Item = Piece> + '_ {
        self.by_parcel.get(parcel.0 as usize).into_iter().flatten().map(move |&(offset, register)| Piece {
            index,
            offset,
            register,
        })
    }
}
