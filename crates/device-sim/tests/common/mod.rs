//! Runs small PTX kernels whose one parameter is the address of a buffer of 32-bit words.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "benches use it as tests do")]

use std::sync::Arc;

use standstill_device_sim::{Device, Grid, LaunchRequest, Module, Progress, Schedule};
use standstill_kernel_ir::launch::Device as Model;

/// Words of the buffer.
pub(crate) const WORDS: usize = 4096;

/// Stores `%r1` of each thread at its global index.
pub(crate) const STORE: &str = "
    mov.u32 %r30, %ctaid.x; mov.u32 %r31, %ntid.x; mov.u32 %r32, %tid.x;
    mad.lo.s32 %r33, %r30, %r31, %r32;
    mul.wide.u32 %d30, %r33, 4; add.s64 %d31, %d0, %d30;
    st.global.u32 [%d31], %r1; ret;";

/// Runs a body that leaves its answer in `%r1`; `expected` gives each thread's by its global index.
pub(crate) fn check(body: &str, blocks: u32, threads: u32, expected: impl Fn(u32) -> u32) {
    let expected: Vec<u32> = (0..blocks * threads).map(expected).collect();
    Case::new(&format!("{body}{STORE}")).gives(blocks, threads, &expected);
}

/// A launch of a kernel.
pub(crate) struct Case {
    pub(crate) device: Arc<Device>,
    pub(crate) module: Arc<Module>,
    pub(crate) buffer: u64,
}

impl Case {
    /// Loads a module; a bare body becomes a kernel with registers of each kind.
    pub(crate) fn new(text: &str) -> Case {
        Case::on("h200", text)
    }

    /// The same for a named card.
    pub(crate) fn on(gpu: &str, text: &str) -> Case {
        // «#12 add …;» stands on line 12 of a source file.
        let marked = |line: &str| match line.trim().strip_prefix('#').and_then(|rest| rest.split_once(' ')) {
            Some((number, rest)) => format!(".loc 1 {number} 5\n{rest}\n"),
            None => format!("{line}\n"),
        };
        let text: String = text.lines().map(marked).collect();
        let text = if text.contains(".entry") {
            text
        } else {
            format!(
                ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p0)\n{{\n\
                 .reg .pred %p<20>; .reg .b16 %h<20>; .reg .b32 %r<40>; .reg .b64 %d<40>; .reg .f32 %f<20>;\n\
                 .shared .align 16 .b8 tile[4096];\n\
                 ld.param.u64 %d0, [p0];\n{text}\n}}\n.file 1 \"k.cu\"\n"
            )
        };
        let text: &'static str = Box::leak(text.into_boxed_str());
        let syntax = Box::leak(Box::new(standstill_ptx::parse(text)));
        assert!(syntax.errors.is_empty(), "{:?}", syntax.errors);
        let program = Arc::new(standstill_ptx::Lowering::new(syntax));
        let device = Device::new(Model::find(gpu).unwrap(), 1 << 30);
        let module = device.load(program, &[]).unwrap();
        let buffer = device.memory().allocate(4 * WORDS as u64).unwrap();
        Case { device, module, buffer }
    }

    /// A launch of the kernel `k` with the buffer's address for its first parameter.
    pub(crate) fn request(&self, blocks: u32, threads: u32) -> LaunchRequest {
        let kernel = self.module.kernel("k").unwrap();
        let mut request = LaunchRequest::new(kernel, blocks, threads);
        request.parameters = self.buffer.to_le_bytes().to_vec();
        request
    }

    /// Launches.
    pub(crate) fn grid(&self, request: LaunchRequest) -> Grid {
        self.device.launch(&self.module, request).unwrap()
    }

    /// Runs to the end.
    pub(crate) fn run(&self, blocks: u32, threads: u32) -> Progress {
        finish(&mut self.grid(self.request(blocks, threads)))
    }

    /// The first words of the buffer.
    pub(crate) fn words(&self, count: usize) -> Vec<u32> {
        let mut bytes = vec![0; 4 * count];
        self.device.memory().read(self.buffer, &mut bytes).unwrap();
        bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
    }

    /// Runs under several schedules and compares the first words each time.
    pub(crate) fn gives(&self, blocks: u32, threads: u32, expected: &[u32]) {
        for seed in 0..8 {
            self.device.memory().fill(self.buffer, &[0], 4 * WORDS as u64).unwrap();
            let mut request = self.request(blocks, threads);
            request.seed = seed;
            if seed > 0 {
                request.schedule = Schedule::Random;
            }
            assert_eq!(finish(&mut self.grid(request)), Progress::Finished, "seed {seed}");
            assert_eq!(self.words(expected.len()), expected, "seed {seed}");
        }
    }
}

/// Runs until the grid ends or stands.
pub(crate) fn finish(grid: &mut Grid) -> Progress {
    loop {
        match grid.run(1_000_000) {
            Progress::Running => {}
            other => return other,
        }
    }
}
