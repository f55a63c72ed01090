//! A warp that runs straight-line code, for comparing the semantics with a card's.

use standstill_kernel_ir::evaluate::{self, atomic, lanes, warp};
use standstill_kernel_ir::{
    Access, Arithmetic, AtomicOperation, BlockId, Function, Instruction, MatrixKind, Op, Operand, Register,
    Space, Type, matrix,
};

pub(crate) const LANES: usize = 32;
type Lanes = [u64; LANES];

pub(crate) struct Warp<'f> {
    function: &'f Function,
    /// Low and high halves, for registers of 128 bits.
    registers: Vec<[Lanes; 2]>,
    shared: Vec<u8>,
    global: Vec<u8>,
    /// Approximate functions that ran.
    pub(crate) approximate: Option<Arithmetic>,
}

impl<'f> Warp<'f> {
    pub(crate) fn new(function: &'f Function) -> Self {
        Warp {
            function,
            registers: vec![[[0; LANES]; 2]; function.registers.len()],
            shared: vec![0; 4096],
            global: vec![0; 4096],
            approximate: None,
        }
    }

    pub(crate) fn set(&mut self, register: u32, values: Lanes) {
        self.registers[register as usize][0] = values;
    }

    pub(crate) fn get(&self, register: u32) -> Lanes {
        self.registers[register as usize][0]
    }

    /// Runs the only block. An instruction that has no value model is named in the error.
    pub(crate) fn run(&mut self) -> Result<(), String> {
        assert_eq!(self.function.blocks.len(), 1);
        for instruction in self.function.instructions_of(BlockId(0)) {
            self.step(instruction).ok_or_else(|| format!("{:?}", instruction.op))?;
        }
        Ok(())
    }

    fn read(&self, operand: Operand) -> Lanes {
        self.half(operand, 0)
    }

    fn half(&self, operand: Operand, half: usize) -> Lanes {
        let of = |register: Register| self.registers[register.0 as usize][half];
        match operand {
            Operand::Register(register) => of(register),
            Operand::Negated(register) => of(register).map(|value| !value & 1),
            Operand::Immediate(value) => [value; LANES],
            Operand::Address { base, offset } => {
                of(base).map(|value| value.wrapping_add_signed(offset.into()))
            }
            other => panic!("{other:?}"),
        }
    }

    fn write(&mut self, operand: Operand, values: Lanes) {
        if let Operand::Register(register) = operand {
            let ty = self.function.registers[register.0 as usize].ty;
            self.registers[register.0 as usize][0] = values.map(|value| evaluate::keep(value, ty));
        }
    }

    fn step(&mut self, instruction: &Instruction) -> Option<()> {
        let destinations = self.function.destinations(instruction.operands).to_vec();
        let operands = self.function.sources(instruction.operands).to_vec();
        match instruction.op {
            Op::Arithmetic(arithmetic) if arithmetic.ty == Type::B128 => {
                self.move_wide(&destinations, &operands);
            }
            Op::Arithmetic(arithmetic) => return self.arithmetic(&arithmetic, &destinations, &operands),
            Op::Load(access) => {
                let addresses = self.read(operands[0]);
                for (&destination, element) in destinations.iter().zip(0u64..) {
                    let bytes = access.ty.bytes();
                    let at = addresses.map(|address| address + element * u64::from(bytes));
                    let values = at.map(|address| self.load(access.space, address, bytes));
                    self.write(destination, values);
                }
            }
            Op::Store(access) => {
                let addresses = self.read(operands[0]);
                for (&operand, element) in operands[1..].iter().zip(0u64..) {
                    let bytes = access.ty.bytes();
                    for (address, value) in addresses.into_iter().zip(self.read(operand)) {
                        self.store(access.space, address + element * u64::from(bytes), bytes, value);
                    }
                }
            }
            Op::Atomic { access, operation } => {
                return self.atomic(access, operation, &destinations, &operands);
            }
            Op::Shuffle(mode) => {
                let [values, by, clamp] = [0, 1, 2].map(|at| self.read(operands[at]));
                let sources: Vec<_> = (0..LANES)
                    .map(|lane| warp::shuffle_source(mode, lane as u32, by[lane], clamp[lane]))
                    .collect();
                self.write(destinations[0], std::array::from_fn(|lane| values[sources[lane].0]));
                if let Some(&second) = destinations.get(1) {
                    self.write(second, std::array::from_fn(|lane| sources[lane].1.into()));
                }
            }
            Op::Vote(mode) => {
                let votes = self
                    .read(operands[0])
                    .iter()
                    .zip(0..)
                    .fold(0, |votes, (&value, lane)| votes | ((value & 1) as u32) << lane);
                self.write(destinations[0], [warp::vote(mode, votes, u32::MAX); LANES]);
            }
            Op::Match { all } => {
                let Operand::Register(register) = operands[0] else { return None };
                let bits = self.function.registers[register.0 as usize].ty.bits();
                let values = self.read(operands[0]);
                if all {
                    let (mask, same) = warp::match_all(&values, bits, u32::MAX);
                    self.write(destinations[0], [mask; LANES]);
                    self.write(destinations[1], [same.into(); LANES]);
                } else {
                    self.write(destinations[0], warp::match_any(&values, bits, u32::MAX));
                }
            }
            Op::WarpReduce { operation, ty } => {
                let result = warp::reduce(operation, ty, &self.read(operands[0]), u32::MAX)?;
                self.write(destinations[0], [result; LANES]);
            }
            Op::Elect => {
                self.write(destinations[0], [0; LANES]);
                self.write(destinations[1], std::array::from_fn(|lane| (lane == 0).into()));
            }
            Op::WarpSync => {}
            Op::Matrix(kind) => return self.matrix(kind, &destinations, &operands),
            _ => return None,
        }
        Some(())
    }

    fn arithmetic(
        &mut self,
        arithmetic: &Arithmetic,
        destinations: &[Operand],
        operands: &[Operand],
    ) -> Option<()> {
        let sources: Vec<Lanes> = operands.iter().map(|&operand| self.read(operand)).collect();
        let sources: Vec<&Lanes> = sources.iter().collect();
        let mut results = vec![[0; LANES]; destinations.len()];
        let mut slots: Vec<&mut Lanes> = results.iter_mut().collect();
        if !lanes::each(arithmetic, &sources, &mut slots, u32::MAX) {
            return None;
        }
        // The quick form of an operation must give the same.
        if let Some(function) = lanes::lanes(arithmetic, sources.len(), destinations.len()) {
            let mut quick = [0; LANES];
            function(&sources, &mut quick);
            assert_eq!(quick, results[0], "{arithmetic:?} of {sources:x?}");
        }
        if evaluate::approximate::error(arithmetic).is_some() {
            self.approximate = Some(*arithmetic);
        }
        for (&destination, values) in destinations.iter().zip(results) {
            self.write(destination, values);
        }
        Some(())
    }

    fn move_wide(&mut self, destinations: &[Operand], operands: &[Operand]) {
        let mut parts = operands.iter().flat_map(|&operand| match operand {
            Operand::Register(register) if self.function.registers[register.0 as usize].ty == Type::B128 => {
                self.registers[register.0 as usize].to_vec()
            }
            other => vec![self.read(other)],
        });
        let parts = [parts.next().unwrap(), parts.next().unwrap()];
        match *destinations {
            [Operand::Register(register)] => self.registers[register.0 as usize] = parts,
            [low, high] => {
                self.write(low, parts[0]);
                self.write(high, parts[1]);
            }
            _ => panic!("{destinations:?}"),
        }
    }

    fn atomic(
        &mut self,
        access: Access,
        operation: AtomicOperation,
        destinations: &[Operand],
        operands: &[Operand],
    ) -> Option<()> {
        let addresses = self.read(operands[0]);
        if access.ty == Type::B128 {
            let halves = |warp: &Self, at: usize| {
                let operand = operands.get(at).copied().unwrap_or(Operand::Immediate(0));
                [warp.half(operand, 0), warp.half(operand, 1)]
            };
            let wide = |halves: [Lanes; 2], lane: usize| {
                u128::from(halves[1][lane]) << 64 | u128::from(halves[0][lane])
            };
            let (first, second) = (halves(self, 1), halves(self, 2));
            let mut old = [[0; LANES]; 2];
            for (lane, &address) in addresses.iter().enumerate() {
                for half in 0..2 {
                    old[half][lane] = self.load(access.space, address + 8 * half as u64, 8);
                }
                let new =
                    atomic::atomic_wide(operation, wide(old, lane), wide(first, lane), wide(second, lane))?;
                self.store(access.space, address, 8, new as u64);
                self.store(access.space, address + 8, 8, (new >> 64) as u64);
            }
            if let Operand::Register(register) = destinations[0] {
                self.registers[register.0 as usize] = old;
            }
            return Some(());
        }
        let count = usize::from(access.elements);
        let bytes = access.ty.bytes();
        for element in 0..count {
            let first = self.read(operands[1 + element]);
            let second = operands.get(1 + count + element).map_or([0; LANES], |&operand| self.read(operand));
            let mut old = [0; LANES];
            for (lane, &address) in addresses.iter().enumerate() {
                let address = address + element as u64 * u64::from(bytes);
                old[lane] = self.load(access.space, address, bytes);
                let new =
                    atomic::atomic(operation, access.ty, access.space, old[lane], first[lane], second[lane])?;
                self.store(access.space, address, bytes, new);
            }
            if let Some(&destination) = destinations.get(element) {
                self.write(destination, old);
            }
        }
        Some(())
    }

    fn matrix(&mut self, kind: MatrixKind, destinations: &[Operand], operands: &[Operand]) -> Option<()> {
        match kind {
            MatrixKind::Mma(form) => {
                let sources: Vec<Lanes> = operands.iter().map(|&operand| self.read(operand)).collect();
                let mut results = vec![[0; LANES]; destinations.len()];
                matrix::multiply(&form, &sources, &mut results)?;
                for (&destination, values) in destinations.iter().zip(results) {
                    self.write(destination, values);
                }
            }
            MatrixKind::Load(fragment) => {
                let addresses = self.read(operands[0]);
                let stride = operands.get(1).map(|&operand| self.read(operand)[0]);
                let mut results = vec![[0; LANES]; destinations.len()];
                matrix::pieces(&fragment, stride, |piece| {
                    let address = addresses[piece.address_lane] + piece.offset;
                    let value = self.load(fragment.space, address, piece.bytes);
                    results[piece.register][piece.lane] |= value << piece.shift;
                })?;
                for (&destination, values) in destinations.iter().zip(results) {
                    self.write(destination, values);
                }
            }
            MatrixKind::Store(fragment) => {
                let count = fragment.registers()?;
                let addresses = self.read(operands[0]);
                let values: Vec<Lanes> =
                    operands[1..=count].iter().map(|&operand| self.read(operand)).collect();
                let stride = operands.get(1 + count).map(|&operand| self.read(operand)[0]);
                let mut stores = Vec::new();
                matrix::pieces(&fragment, stride, |piece| {
                    let address = addresses[piece.address_lane] + piece.offset;
                    stores.push((address, piece.bytes, values[piece.register][piece.lane] >> piece.shift));
                })?;
                for (address, bytes, value) in stores {
                    self.store(fragment.space, address, bytes, value);
                }
            }
            MatrixKind::Move => {
                let result = matrix::transpose(&self.read(operands[0]));
                self.write(destinations[0], result);
            }
            _ => return None,
        }
        Some(())
    }

    fn load(&self, space: Space, address: u64, bytes: u32) -> u64 {
        let memory = if space == Space::Global { &self.global } else { &self.shared };
        let from = &memory[address as usize..][..bytes as usize];
        from.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
    }

    fn store(&mut self, space: Space, address: u64, bytes: u32, value: u64) {
        let memory = if space == Space::Global { &mut self.global } else { &mut self.shared };
        memory[address as usize..][..bytes as usize].copy_from_slice(&value.to_le_bytes()[..bytes as usize]);
    }
}
