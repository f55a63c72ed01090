//! What the compiler's code tells at the start of a program: device code, kernels and variables
//! (`crt/host_runtime.h`), and the configuration of `<<<…>>>`.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{CStr, c_char, c_int};
use std::sync::Arc;

use standstill_cuda_driver::journal::Record;
use standstill_cuda_driver::{CallSite, Image, ImageError, Kernel, Status};

use crate::address_space::Kind;
use crate::call::{Result, export, get, put};
use crate::layout::{ConstPointer, Dim3, FATBIN_WRAPPER_MAGIC, FatbinWrapper, Pointer, StreamHandle};
use crate::memory::allocate_host;
use crate::runtime::runtime;

/// Units, kernels and variables of the program, by the host addresses that stand for them.
#[derive(Default)]
pub struct Registrations {
    units: Vec<Unit>,
    functions: HashMap<usize, Function>,
    variables: HashMap<usize, Variable>,
    images: usize,
}

/// The device code of one translation unit, or of a program that was linked as a whole.
struct Unit {
    /// Addresses of the fatbins.
    fatbins: Vec<usize>,
    images: Option<Result<Vec<&'static Image>>>,
}

struct Function {
    unit: usize,
    name: String,
    kernel: Option<Arc<Kernel>>,
    settings: Settings,
}

/// What a program has set for a kernel (`cudaFuncSetAttribute`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Settings {
    pub max_dynamic_shared: Option<u32>,
    pub carveout: Option<c_int>,
    pub non_portable_cluster: bool,
}

struct Variable {
    unit: usize,
    name: String,
    /// The host variable that holds the address of a managed variable.
    managed: Option<usize>,
}

/// The header of a fatbin gives its own size and that of what follows.
///
/// # Safety
/// `fatbin` points at a whole fatbin, as the compiler's registration code promises.
pub unsafe fn fatbin_bytes(fatbin: usize) -> &'static [u8] {
    let start = fatbin as *const u8;
    // SAFETY: a fatbin begins with a header of 16 bytes.
    let (header, payload) =
        unsafe { (start.add(6).cast::<u16>().read_unaligned(), start.add(8).cast::<u64>().read_unaligned()) };
    let length = usize::from(header).saturating_add(usize::try_from(payload).unwrap_or(0));
    // SAFETY: the header says how much there is, and it stays for the life of the program.
    unsafe { std::slice::from_raw_parts(start, length) }
}

impl Registrations {
    /// Takes device code; gives the number of its unit.
    pub fn add_unit(&mut self, fatbins: Vec<usize>) -> usize {
        self.units.push(Unit { fatbins, images: None });
        self.units.len() - 1
    }

    /// The images of a unit; read when they are first needed.
    fn images(&mut self, unit: usize) -> Result<Vec<&'static Image>> {
        let entry = self.units.get_mut(unit).ok_or(Status::InvalidDeviceFunction)?;
        if let Some(images) = &entry.images {
            return images.clone();
        }
        // SAFETY: the compiler's registration code gave these addresses for fatbins.
        let units: Vec<&[u8]> = entry.fatbins.iter().map(|fatbin| unsafe { fatbin_bytes(*fatbin) }).collect();
        let result = load_image(&units, self.images).and_then(|image| {
            self.images += 1;
            share_managed(image)?;
            Ok(vec![image])
        });
        entry.images = Some(result.clone());
        result
    }

    /// The kernel that a host function stands for.
    pub fn kernel(&mut self, function: ConstPointer) -> Result<Arc<Kernel>> {
        let entry = self.functions.get(&function.addr()).ok_or(Status::InvalidDeviceFunction)?;
        if let Some(kernel) = &entry.kernel {
            return Ok(Arc::clone(kernel));
        }
        let (unit, name) = (entry.unit, entry.name.clone());
        let images = self.images(unit)?;
        let kernel = images.into_iter().find_map(|image| image.kernel(&name));
        let kernel = kernel.ok_or(Status::InvalidDeviceFunction)?;
        if let Some(entry) = self.functions.get_mut(&function.addr()) {
            entry.kernel = Some(Arc::clone(&kernel));
        }
        Ok(kernel)
    }

    /// Whether the address stands for a kernel.
    pub fn is_kernel(&self, function: ConstPointer) -> bool {
        self.functions.contains_key(&function.addr())
    }

    /// What has been set for a kernel.
    pub fn settings(&mut self, function: ConstPointer) -> Result<&mut Settings> {
        let entry = self.functions.get_mut(&function.addr()).ok_or(Status::InvalidDeviceFunction)?;
        Ok(&mut entry.settings)
    }

    /// Address and size of the variable that a host variable stands for.
    pub fn variable(&mut self, symbol: ConstPointer) -> Result<(u64, u64)> {
        let entry = self.variables.get(&symbol.addr()).ok_or(Status::InvalidSymbol)?;
        let (unit, name) = (entry.unit, entry.name.clone());
        let images = self.images(unit)?;
        let backend = runtime().machine()?.backend();
        let found = images.into_iter().find_map(|image| backend.variable(image, &name).ok());
        found.ok_or(Status::InvalidSymbol)
    }

    /// Adds a kernel that was found otherwise (a library's) under an address that stands for it.
    pub fn add_kernel(&mut self, address: usize, unit: usize, kernel: Arc<Kernel>) {
        let name = kernel.name.clone();
        let function = Function { unit, name, kernel: Some(kernel), settings: Settings::default() };
        self.functions.insert(address, function);
    }

    /// Loads device code that the program brings at run time; gives the number of its unit.
    pub fn load(&mut self, bytes: &[u8]) -> Result<usize> {
        let image = load_image(&[bytes], self.images)?;
        self.images += 1;
        share_managed(image)?;
        self.units.push(Unit { fatbins: Vec::new(), images: Some(Ok(vec![image])) });
        Ok(self.units.len() - 1)
    }

    /// The kernel of a unit with this name.
    pub fn kernel_of(&mut self, unit: usize, name: &str) -> Result<Arc<Kernel>> {
        let images = self.images(unit)?;
        images.into_iter().find_map(|image| image.kernel(name)).ok_or(Status::SymbolNotFound)
    }

    /// Names of a unit's kernels.
    pub fn kernel_names(&mut self, unit: usize) -> Result<Vec<String>> {
        let images = self.images(unit)?;
        Ok(images.into_iter().flat_map(|image| image.kernel_names().map(str::to_owned)).collect())
    }

    /// Address and size of a variable of a unit.
    pub fn variable_of(&mut self, unit: usize, name: &str) -> Result<(u64, u64)> {
        let images = self.images(unit)?;
        let backend = runtime().machine()?.backend();
        let found = images.into_iter().find_map(|image| backend.variable(image, name).ok());
        found.ok_or(Status::SymbolNotFound)
    }

    /// Places the managed variables of a unit, and lets the host's variables point at them.
    fn place_managed(&mut self, unit: usize) -> Result {
        let managed: Vec<(usize, usize)> = self
            .variables
            .iter()
            .filter(|(_, variable)| variable.unit == unit)
            .filter_map(|(symbol, variable)| Some((*symbol, variable.managed?)))
            .collect();
        for (symbol, host) in managed {
            let (address, _) = self.variable(std::ptr::without_provenance(symbol))?;
            // SAFETY: the compiler's code gave the address of a pointer for this.
            unsafe { put(host as *mut u64, address)? };
        }
        Ok(())
    }
}

/// Lets the managed variables of an image lie in memory of the host that kernels reach.
fn share_managed(image: &'static Image) -> Result {
    let mut placed = Vec::new();
    for (name, bytes) in image.managed() {
        placed.push((name, allocate_host(bytes as usize, Kind::Managed, CallSite::default())?));
    }
    runtime().machine()?.backend().load(image, &placed)
}

/// Reads device code, tells the journal of it, and the user of what cannot be used.
pub fn load_image(units: &[&[u8]], number: usize) -> Result<&'static Image> {
    let machine = runtime().machine()?;
    match Image::link(units, number, machine.card().capability, runtime().kept()) {
        Ok(image) => {
            if let Some(error) = image.syntax_error() {
                runtime().tell(format!("the program's PTX cannot be read whole: {error}"));
            }
            let process = machine.process();
            let file = format!("image-{process}-{number}.ptx");
            if let Some(folder) = machine.journal().folder()
                && std::fs::write(folder.join(&file), image.text).is_ok()
            {
                let registers: BTreeMap<String, u32> =
                    image.registers().map(|(name, registers)| (name.to_owned(), registers)).collect();
                machine.journal().write(&Record::Image { process, image: number, file, registers });
            }
            Ok(image)
        }
        Err(ImageError::NoPtx(why)) => {
            runtime().tell(format!("the program's device code cannot run on the software GPU: {why}"));
            Err(Status::NoKernelImageForDevice)
        }
        Err(ImageError::Unreadable(why)) => {
            runtime().tell(format!("the program's device code cannot be read: {why}"));
            Err(Status::InvalidKernelImage)
        }
    }
}

/// The unit behind a handle.
///
/// # Safety
/// The handle came from [`__cudaRegisterFatBinary`].
unsafe fn unit_of(handle: *mut Pointer) -> usize {
    // SAFETY: such a handle points at the unit's number, which is never freed.
    unsafe { handle.cast::<usize>().read() }
}

/// A C string as text.
///
/// # Safety
/// The pointer is null or points at a string that ends with a zero byte.
pub unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: not null, and ended by the caller's promise.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFatBinary(wrapper: *const FatbinWrapper) -> *mut Pointer {
    let mut fatbins = Vec::new();
    // SAFETY: the compiler's registration code passes its wrapper.
    if let Ok(wrapper) = unsafe { get(wrapper) }
        && wrapper.magic == FATBIN_WRAPPER_MAGIC
    {
        if wrapper.version >= 2 && !wrapper.prelinked.is_null() {
            let mut entry = wrapper.prelinked;
            // SAFETY: the list ends with a null pointer.
            while let Some(fatbin) = unsafe { entry.read().as_ref() } {
                fatbins.push(std::ptr::from_ref(fatbin).addr());
                // SAFETY: the entry was not the last.
                entry = unsafe { entry.add(1) };
            }
        }
        // Behind a list, this is the linked whole, which tells what its kernels use.
        if !wrapper.data.is_null() {
            fatbins.push(wrapper.data.addr());
        }
    }
    let unit = runtime().registrations.lock().add_unit(fatbins);
    std::ptr::from_mut(Box::leak(Box::new(unit))).cast()
}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFatBinaryEnd(_handle: *mut Pointer) {}

/// Programs go on calling after this, from destructors: nothing is taken down.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaUnregisterFatBinary(_handle: *mut Pointer) {}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaInitModule(handle: *mut Pointer) -> c_char {
    // SAFETY: the compiler's code passes its handle.
    let unit = unsafe { unit_of(handle) };
    c_char::from(runtime().registrations.lock().place_managed(unit).is_ok())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFunction(
    handle: *mut Pointer,
    host: *const c_char,
    _device: *mut c_char,
    name: *const c_char,
    _thread_limit: c_int,
    _tid: Pointer,
    _bid: Pointer,
    _block: Pointer,
    _grid: Pointer,
    _warp: *mut c_int,
) {
    // SAFETY: the compiler's code passes its handle and a name that is a string.
    let (unit, name) = unsafe { (unit_of(handle), text(name)) };
    let function = Function { unit, name, kernel: None, settings: Settings::default() };
    runtime().registrations.lock().functions.insert(host.addr(), function);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterVar(
    handle: *mut Pointer,
    host: *mut c_char,
    _address: *mut c_char,
    name: *const c_char,
    _ext: c_int,
    _size: usize,
    _constant: c_int,
    _global: c_int,
) {
    // SAFETY: the compiler's code passes its handle and a name that is a string.
    let (unit, name) = unsafe { (unit_of(handle), text(name)) };
    runtime().registrations.lock().variables.insert(host.addr(), Variable { unit, name, managed: None });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterManagedVar(
    handle: *mut Pointer,
    host: *mut Pointer,
    _address: *mut c_char,
    name: *const c_char,
    _ext: c_int,
    _size: usize,
    _constant: c_int,
    _global: c_int,
) {
    // SAFETY: the compiler's code passes its handle and a name that is a string.
    let (unit, name) = unsafe { (unit_of(handle), text(name)) };
    let variable = Variable { unit, name, managed: Some(host.addr()) };
    runtime().registrations.lock().variables.insert(host.addr(), variable);
}

/// What stands between `<<<` and `>>>`.
#[derive(Clone, Copy)]
struct Configuration {
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: usize,
}

thread_local! {
    static CONFIGURATIONS: RefCell<Vec<Configuration>> = const { RefCell::new(Vec::new()) };
}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaPushCallConfiguration(
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: StreamHandle,
) -> c_int {
    let configuration = Configuration { grid, block, shared, stream: stream.addr() };
    CONFIGURATIONS.with_borrow_mut(|stack| stack.push(configuration));
    0
}

export! {
    enter_always fn __cudaPopCallConfiguration(
        grid: *mut Dim3,
        block: *mut Dim3,
        shared: *mut usize,
        stream: *mut usize,
    ) {
        let top = CONFIGURATIONS.with_borrow_mut(Vec::pop).ok_or(Status::MissingConfiguration)?;
        // SAFETY: the compiler's code passes pointers to its variables.
        unsafe {
            put(grid, top.grid)?;
            put(block, top.block)?;
            put(shared, top.shared)?;
            put(stream, top.stream)
        }
    }

    enter_always fn __cudaGetKernel(kernel: *mut ConstPointer, function: ConstPointer) {
        // SAFETY: the compiler's code passes a pointer to its variable.
        unsafe { put(kernel, function) }
    }

    enter fn cudaGetKernel(kernel: *mut ConstPointer, function: ConstPointer) {
        let known = runtime().registrations.lock().is_kernel(function);
        if !known {
            return Err(Status::InvalidDeviceFunction);
        }
        // SAFETY: the program's pointer for the result.
        unsafe { put(kernel, function) }
    }

    enter fn cudaGetFuncBySymbol(found: *mut ConstPointer, function: ConstPointer) {
        let known = runtime().registrations.lock().is_kernel(function);
        if !known {
            return Err(Status::InvalidDeviceFunction);
        }
        // SAFETY: the program's pointer for the result.
        unsafe { put(found, function) }
    }

    enter fn cudaGetSymbolAddress(address: *mut u64, symbol: ConstPointer) {
        let (found, _) = runtime().registrations.lock().variable(symbol)?;
        // SAFETY: the program's pointer for the result.
        unsafe { put(address, found) }
    }

    enter fn cudaGetSymbolSize(size: *mut usize, symbol: ConstPointer) {
        let (_, bytes) = runtime().registrations.lock().variable(symbol)?;
        // SAFETY: the program's pointer for the result.
        unsafe { put(size, bytes as usize) }
    }
}
