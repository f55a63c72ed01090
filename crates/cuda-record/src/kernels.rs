//! Kernels and launches: each kernel is named once, and each launch with the same shape and arguments.

use std::ffi::{CStr, c_char, c_void};
use std::hash::{Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use standstill_trace::{Call, LaunchShape, Parameter};

use crate::layout::Handle;
use crate::memo::{Library, Memo};
use crate::real::driver_function;
use crate::recorder::{State, Trace, with};

/// Different launches that are kept; when there are more, all are named anew.
const LAUNCHES: usize = 1 << 16;
/// Parameters of a kernel at most: their bytes are at most 32764 (CUDA C++ Programming Guide, «Function Parameters»).
const PARAMETERS: usize = 4096;
const PARAMETER_BYTES: usize = 32 << 10;

/// `CU_LAUNCH_PARAM_END`, `…_BUFFER_POINTER` and `…_BUFFER_SIZE`.
const BUFFER_POINTER: usize = 1;
const BUFFER_SIZE: usize = 2;

driver_function!(cuFuncGetName(name: *mut *const c_char, function: Handle));
driver_function!(cuKernelGetName(name: *mut *const c_char, kernel: Handle));
driver_function!(cuFuncGetParamInfo(function: Handle, index: usize, offset: *mut usize, size: *mut usize));
driver_function!(cuKernelGetParamInfo(kernel: Handle, index: usize, offset: *mut usize, size: *mut usize));

/// What was launched so far.
#[derive(Debug, Default)]
pub struct Kernels {
    known: FxHashMap<usize, Known>,
    /// Numbers by what is launched. Only its hash is kept: two of as many launches are told apart by 64 bits.
    launches: FxHashMap<u64, u32>,
    next_kernel: u32,
    next_launch: u32,
    /// Where arguments are laid out, used again and again.
    shape: Option<LaunchShape>,
}

#[derive(Debug, Clone)]
struct Known {
    number: u32,
    parameters: Vec<Parameter>,
    /// Bytes of all parameters.
    bytes: usize,
    library: Library,
    /// The launch before, with its number: most often the next one is the same.
    recent: Option<Box<(u32, LaunchShape)>>,
}

/// A launch as a call asks for it.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    pub function: Handle,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub cluster: [u32; 3],
    pub dynamic_shared: u32,
    pub cooperative: bool,
    pub parameters: *const *const c_void,
    pub extra: *const *const c_void,
}

/// Handles of `CUkernel`, which calls take in the place of a `CUfunction`.
static KERNELS: Mutex<Option<FxHashSet<usize>>> = Mutex::new(None);

/// The driver has given a `CUkernel`.
pub fn is_kernel(kernel: Handle) {
    let mut kernels = KERNELS.lock().unwrap_or_else(PoisonError::into_inner);
    kernels.get_or_insert_default().insert(kernel.addr());
}

/// Handles may come to mean other kernels.
pub fn forget_handles() {
    KERNELS.lock().unwrap_or_else(PoisonError::into_inner).take();
    with(|state| {
        state.kernels.known.clear();
        state.trace.memo.forget();
    });
}

/// Gets to know the kernel of a launch, where it is new.
///
/// # Safety
/// The handle is one that the driver has just taken for a launch.
pub unsafe fn meet(function: Handle) {
    let mut known = true;
    with(|state| known = state.kernels.known.contains_key(&function.addr()));
    if known {
        return;
    }
    // SAFETY: the caller's promise.
    let (name, parameters) = unsafe { ask(function) };
    with(|State { trace, kernels, .. }| {
        kernels.next_kernel += 1;
        let (kernel, end) =
            (kernels.next_kernel, parameters.last().map_or(0, |last| last.offset + last.bytes));
        let library = Library::of(&name);
        trace.note_at(0, Call::NameKernel { kernel, name, parameters: parameters.clone() });
        let known = Known { number: kernel, parameters, bytes: end as usize, library, recent: None };
        kernels.known.insert(function.addr(), known);
    });
}

/// The name and the parameters of a kernel, as far as the driver tells.
unsafe fn ask(function: Handle) -> (String, Vec<Parameter>) {
    let kernel = KERNELS.lock().unwrap_or_else(PoisonError::into_inner);
    let kernel = kernel.as_ref().is_some_and(|kernels| kernels.contains(&function.addr()));
    let mut name = std::ptr::null();
    // SAFETY: the caller's promise; the driver's strings stay as long as the module.
    unsafe {
        let place = &raw mut name;
        let told = if kernel { cuKernelGetName(place, function) } else { cuFuncGetName(place, function) };
        let name = match told {
            Some(0) if !name.is_null() => CStr::from_ptr(name).to_string_lossy().into_owned(),
            _ => format!("{:#x}", function.addr()),
        };
        let mut parameters = Vec::new();
        for index in 0..PARAMETERS {
            let (mut offset, mut size) = (0, 0);
            let (at, bytes) = (&raw mut offset, &raw mut size);
            let told = match kernel {
                true => cuKernelGetParamInfo(function, index, at, bytes),
                false => cuFuncGetParamInfo(function, index, at, bytes),
            };
            if told != Some(0) || offset.saturating_add(size) > PARAMETER_BYTES {
                break;
            }
            parameters.push(Parameter { offset: offset as u32, bytes: size as u32 });
        }
        (name, parameters)
    }
}

impl Kernels {
    /// Puts the sizes of a kernel's parameters where they are at hand.
    pub fn describe(&self, function: Handle, memo: &mut Memo) {
        let Some(known) = self.known.get(&function.addr()) else { return };
        let sizes: Vec<u32> = known.parameters.iter().map(|parameter| parameter.bytes).collect();
        memo.describe(function.addr(), known.number, &sizes, known.library);
    }

    /// The number of a launch, with its hash where it is known; `None` for a kernel that nobody has met.
    ///
    /// # Safety
    /// The driver has taken these parameters for this kernel.
    pub unsafe fn launch(&mut self, trace: &mut Trace, asked: &Asked, hash: Option<u64>) -> Option<u32> {
        if let Some(number) = hash.and_then(|hash| self.launches.get(&hash)) {
            return Some(*number);
        }
        if self.launches.len() >= LAUNCHES {
            self.forget_launches(&mut trace.memo);
        }
        let known = self.known.get_mut(&asked.function.addr())?;
        let mut shape = self.shape.take().unwrap_or(LaunchShape {
            kernel: 0,
            grid: [0; 3],
            block: [0; 3],
            cluster: [0; 3],
            dynamic_shared: 0,
            cooperative: false,
            arguments: Vec::new(),
        });
        (shape.kernel, shape.grid, shape.block) = (known.number, asked.grid, asked.block);
        (shape.cluster, shape.dynamic_shared) = (asked.cluster, asked.dynamic_shared);
        shape.cooperative = asked.cooperative;
        // SAFETY: the caller's promise.
        unsafe { known.lay_out(asked, &mut shape.arguments) };
        let hash = hash.unwrap_or_else(|| {
            let mut hasher = FxHasher::default();
            shape.hash(&mut hasher);
            hasher.finish()
        });
        let launch = match self.launches.get(&hash) {
            Some(number) => *number,
            None => {
                self.next_launch += 1;
                self.launches.insert(hash, self.next_launch);
                trace.note_at(0, named(self.next_launch, &shape, known.recent.as_deref()));
                self.next_launch
            }
        };
        match known.recent.as_deref_mut() {
            Some((number, recent)) => {
                *number = launch;
                self.shape = Some(std::mem::replace(recent, shape));
            }
            None => known.recent = Some(Box::new((launch, shape))),
        }
        Some(launch)
    }
}

impl Kernels {
    /// All launches are named anew: readers need not keep those that were named long ago.
    #[cold]
    fn forget_launches(&mut self, memo: &mut Memo) {
        self.launches.clear();
        self.known.values_mut().for_each(|known| known.recent = None);
        memo.forget();
    }
}

/// Bytes of arguments from which on only those are written that differ from the launch before.
const LONG: usize = 64;

/// What gives a launch its number.
fn named(launch: u32, shape: &LaunchShape, before: Option<&(u32, LaunchShape)>) -> Call {
    let differing = before.filter(|_| shape.arguments.len() >= LONG).and_then(|(like, before)| {
        let words = shape.differing_words(before)?;
        (words.len() * 16 < shape.arguments.len()).then_some((*like, words))
    });
    match differing {
        Some((like, words)) => Call::NameLaunchLike { launch, like, words },
        None => Call::NameLaunch { launch, shape: shape.clone() },
    }
}

impl Known {
    /// Copies the arguments to where the kernel sees them.
    unsafe fn lay_out(&self, asked: &Asked, into: &mut Vec<u8>) {
        into.clear();
        into.resize(self.bytes, 0);
        // SAFETY: the driver has taken the same addresses for parameters of these sizes.
        unsafe {
            if !asked.parameters.is_null() {
                for (parameter, index) in self.parameters.iter().zip(0..) {
                    let from = asked.parameters.add(index).read().cast::<u8>();
                    let range = parameter.offset as usize..(parameter.offset + parameter.bytes) as usize;
                    if let Some(to) = into.get_mut(range).filter(|_| !from.is_null()) {
                        std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len());
                    }
                }
            } else if !asked.extra.is_null() {
                let (mut buffer, mut bytes) = (std::ptr::null::<u8>(), 0);
                // Pairs of a key and a value, up to a key of zero.
                for pair in 0..4 {
                    let key = asked.extra.add(2 * pair).read().addr();
                    match key {
                        BUFFER_POINTER => buffer = asked.extra.add(2 * pair + 1).read().cast(),
                        BUFFER_SIZE => bytes = asked.extra.add(2 * pair + 1).read().cast::<usize>().read(),
                        _ => break,
                    }
                }
                let length = bytes.min(into.len());
                if let Some(to) = into.get_mut(..length).filter(|_| !buffer.is_null()) {
                    std::ptr::copy_nonoverlapping(buffer, to.as_mut_ptr(), length);
                }
            }
        }
    }
}
