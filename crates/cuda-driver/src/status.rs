//! Error codes of the CUDA runtime, with the names and sentences that programs print (CUDA Runtime API,
//! «Data types used by CUDA Runtime», `cudaError`).

macro_rules! codes {
    ($($name:ident = $code:literal $text:literal,)*) => {
        /// What a call of the CUDA runtime answers.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(i32)]
        #[allow(missing_docs, reason = "the names are CUDA's own, and the table has the sentences")]
        pub enum Status {
            $($name = $code,)*
        }

        const TABLE: &[(i32, &str, &str)] = &[
            $(($code, concat!("cudaError", stringify!($name), "\0"), concat!($text, "\0")),)*
        ];
    };
}

codes! {
    Success = 0 "no error",
    InvalidValue = 1 "invalid argument",
    MemoryAllocation = 2 "out of memory",
    InitializationError = 3 "initialization error",
    CudartUnloading = 4 "driver shutting down",
    ProfilerDisabled = 5 "profiler disabled",
    ProfilerNotInitialized = 6 "profiler not initialized",
    ProfilerAlreadyStarted = 7 "profiler already started",
    ProfilerAlreadyStopped = 8 "profiler already stopped",
    InvalidConfiguration = 9 "invalid configuration argument",
    VersionTranslation = 10 "version translation",
    InvalidPitchValue = 12 "invalid pitch argument",
    InvalidSymbol = 13 "invalid device symbol",
    InvalidHostPointer = 16 "invalid host pointer",
    InvalidDevicePointer = 17 "invalid device pointer",
    InvalidTexture = 18 "invalid texture reference",
    InvalidTextureBinding = 19 "invalid texture binding",
    InvalidChannelDescriptor = 20 "invalid channel descriptor",
    InvalidMemcpyDirection = 21 "invalid copy direction for memcpy",
    AddressOfConstant = 22 "address of constant",
    TextureFetchFailed = 23 "texture fetch failed",
    TextureNotBound = 24 "texture not bound",
    SynchronizationError = 25 "synchronization error",
    InvalidFilterSetting = 26 "invalid filter setting",
    InvalidNormSetting = 27 "invalid norm setting",
    MixedDeviceExecution = 28 "mixed device execution",
    NotYetImplemented = 31 "not yet implemented",
    MemoryValueTooLarge = 32 "memory value too large",
    StubLibrary = 34 "stub library",
    InsufficientDriver = 35 "CUDA driver version is insufficient for CUDA runtime version",
    CallRequiresNewerDriver = 36 "call requires newer driver",
    InvalidSurface = 37 "invalid surface reference",
    DuplicateVariableName = 43 "duplicate variable name",
    DuplicateTextureName = 44 "duplicate texture name",
    DuplicateSurfaceName = 45 "duplicate surface name",
    DevicesUnavailable = 46 "devices unavailable",
    IncompatibleDriverContext = 49 "incompatible driver context",
    MissingConfiguration = 52 "__global__ function call is not configured",
    PriorLaunchFailure = 53 "prior launch failure",
    LaunchMaxDepthExceeded = 65 "launch max depth exceeded",
    LaunchFileScopedTex = 66 "launch file scoped tex",
    LaunchFileScopedSurf = 67 "launch file scoped surf",
    SyncDepthExceeded = 68 "sync depth exceeded",
    LaunchPendingCountExceeded = 69 "launch pending count exceeded",
    InvalidDeviceFunction = 98 "invalid device function",
    NoDevice = 100 "no CUDA-capable device is detected",
    InvalidDevice = 101 "invalid device ordinal",
    DeviceNotLicensed = 102 "device not licensed",
    SoftwareValidityNotEstablished = 103 "software validity not established",
    StartupFailure = 127 "startup failure",
    InvalidKernelImage = 200 "device kernel image is invalid",
    DeviceUninitialized = 201 "invalid device context",
    MapBufferObjectFailed = 205 "map buffer object failed",
    UnmapBufferObjectFailed = 206 "unmap buffer object failed",
    ArrayIsMapped = 207 "array is mapped",
    AlreadyMapped = 208 "already mapped",
    NoKernelImageForDevice = 209 "no kernel image is available for execution on the device",
    AlreadyAcquired = 210 "already acquired",
    NotMapped = 211 "not mapped",
    NotMappedAsArray = 212 "not mapped as array",
    NotMappedAsPointer = 213 "not mapped as pointer",
    ECCUncorrectable = 214 "ecc uncorrectable",
    UnsupportedLimit = 215 "limit is not supported on this architecture",
    DeviceAlreadyInUse = 216 "device already in use",
    PeerAccessUnsupported = 217 "peer access is not supported between these two devices",
    InvalidPtx = 218 "a PTX JIT compilation failed",
    InvalidGraphicsContext = 219 "invalid graphics context",
    NvlinkUncorrectable = 220 "nvlink uncorrectable",
    JitCompilerNotFound = 221 "jit compiler not found",
    UnsupportedPtxVersion = 222 "the provided PTX was compiled with an unsupported toolchain.",
    JitCompilationDisabled = 223 "jit compilation disabled",
    UnsupportedExecAffinity = 224 "unsupported exec affinity",
    UnsupportedDevSideSync = 225 "unsupported dev side sync",
    Contained = 226 "contained",
    InsufficientLoaderVersion = 227 "insufficient loader version",
    InvalidSource = 300 "invalid source",
    FileNotFound = 301 "file not found",
    SharedObjectSymbolNotFound = 302 "shared object symbol not found",
    SharedObjectInitFailed = 303 "shared object init failed",
    OperatingSystem = 304 "OS call failed or operation not supported on this OS",
    InvalidResourceHandle = 400 "invalid resource handle",
    IllegalState = 401 "the operation cannot be performed in the present state",
    LossyQuery = 402 "lossy query",
    SymbolNotFound = 500 "named symbol not found",
    NotReady = 600 "device not ready",
    IllegalAddress = 700 "an illegal memory access was encountered",
    LaunchOutOfResources = 701 "too many resources requested for launch",
    LaunchTimeout = 702 "the launch timed out and was terminated",
    LaunchIncompatibleTexturing = 703 "launch incompatible texturing",
    PeerAccessAlreadyEnabled = 704 "peer access is already enabled",
    PeerAccessNotEnabled = 705 "peer access has not been enabled",
    SetOnActiveProcess = 708 "cannot set while device is active in this process",
    ContextIsDestroyed = 709 "context is destroyed",
    Assert = 710 "device-side assert triggered",
    TooManyPeers = 711 "too many peers",
    HostMemoryAlreadyRegistered = 712 "part or all of the requested memory range is already mapped",
    HostMemoryNotRegistered = 713 "pointer does not correspond to a registered memory region",
    HardwareStackError = 714 "hardware stack error",
    IllegalInstruction = 715 "an illegal instruction was encountered",
    MisalignedAddress = 716 "misaligned address",
    InvalidAddressSpace = 717 "operation not supported on global/shared address space",
    InvalidPc = 718 "invalid program counter",
    LaunchFailure = 719 "unspecified launch failure",
    CooperativeLaunchTooLarge = 720 "too many blocks in cooperative launch",
    TensorMemoryLeak = 721 "tensor memory leak",
    NotPermitted = 800 "operation not permitted",
    NotSupported = 801 "operation not supported",
    SystemNotReady = 802 "system not ready",
    SystemDriverMismatch = 803 "system driver mismatch",
    CompatNotSupportedOnDevice = 804 "compat not supported on device",
    MpsConnectionFailed = 805 "mps connection failed",
    MpsRpcFailure = 806 "mps rpc failure",
    MpsServerNotReady = 807 "mps server not ready",
    MpsMaxClientsReached = 808 "mps max clients reached",
    MpsMaxConnectionsReached = 809 "mps max connections reached",
    MpsClientTerminated = 810 "mps client terminated",
    CdpNotSupported = 811 "cdp not supported",
    CdpVersionMismatch = 812 "cdp version mismatch",
    StreamCaptureUnsupported = 900 "operation not permitted when stream is capturing",
    StreamCaptureInvalidated = 901 "operation failed due to a previous error during capture",
    StreamCaptureMerge = 902 "operation would result in a merge of separate capture sequences",
    StreamCaptureUnmatched = 903 "capture was not ended in the same stream as it began",
    StreamCaptureUnjoined = 904 "capturing stream has unjoined work",
    StreamCaptureIsolation = 905 "dependency created on uncaptured work in another stream",
    StreamCaptureImplicit = 906 "operation would make the legacy stream depend on a capturing blocking stream",
    CapturedEvent = 907 "operation not permitted on an event last recorded in a capturing stream",
    StreamCaptureWrongThread = 908 "attempt to terminate a thread-local capture sequence from another thread",
    Timeout = 909 "wait operation timed out",
    GraphExecUpdateFailure = 910 "the graph update was not performed because it included changes which violated constraints specific to instantiated graph update",
    ExternalDevice = 911 "external device",
    InvalidClusterSize = 912 "cluster misconfiguration",
    FunctionNotLoaded = 913 "function not loaded",
    InvalidResourceType = 914 "invalid resource type",
    InvalidResourceConfiguration = 915 "invalid resource configuration",
    StreamDetached = 917 "stream detached",
    GraphRecaptureFailure = 918 "graph recapture failure",
    FabricNotReady = 919 "fabric not ready",
    Unknown = 999 "unknown error",
}

impl Status {
    /// The number that goes over the C interface.
    #[must_use]
    pub fn code(self) -> i32 {
        self as i32
    }

    /// `Ok` for [`Status::Success`].
    ///
    /// # Errors
    /// Every other status is the error.
    pub fn ok(self) -> Result<(), Status> {
        if self == Status::Success { Ok(()) } else { Err(self) }
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(text(*self as i32).trim_end_matches('\0'))
    }
}

impl std::error::Error for Status {}

/// The name of a code as CUDA writes it, with the zero byte that C wants; as `cudaGetErrorName` answers.
#[must_use]
pub fn name(code: i32) -> &'static str {
    match row(code) {
        Some((0, ..)) => "cudaSuccess\0",
        Some((_, name, _)) => name,
        None => "unrecognized error code\0",
    }
}

/// The name of a code as the driver's interface writes it: `CUDA_ERROR_ILLEGAL_ADDRESS`, with the zero byte that C
/// wants.
#[must_use]
pub fn driver_name(code: i32) -> &'static str {
    DRIVER_NAMES.iter().find(|row| row.0 == code).map_or("CUDA_ERROR_UNKNOWN\0", |row| row.1)
}

/// The codes that this library gives, as the driver writes them.
const DRIVER_NAMES: &[(i32, &str)] = &[
    (0, "CUDA_SUCCESS\0"),
    (1, "CUDA_ERROR_INVALID_VALUE\0"),
    (2, "CUDA_ERROR_OUT_OF_MEMORY\0"),
    (3, "CUDA_ERROR_NOT_INITIALIZED\0"),
    (4, "CUDA_ERROR_DEINITIALIZED\0"),
    (100, "CUDA_ERROR_NO_DEVICE\0"),
    (101, "CUDA_ERROR_INVALID_DEVICE\0"),
    (200, "CUDA_ERROR_INVALID_IMAGE\0"),
    (201, "CUDA_ERROR_INVALID_CONTEXT\0"),
    (209, "CUDA_ERROR_NO_BINARY_FOR_GPU\0"),
    (218, "CUDA_ERROR_INVALID_PTX\0"),
    (301, "CUDA_ERROR_FILE_NOT_FOUND\0"),
    (400, "CUDA_ERROR_INVALID_HANDLE\0"),
    (401, "CUDA_ERROR_ILLEGAL_STATE\0"),
    (500, "CUDA_ERROR_NOT_FOUND\0"),
    (600, "CUDA_ERROR_NOT_READY\0"),
    (700, "CUDA_ERROR_ILLEGAL_ADDRESS\0"),
    (701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES\0"),
    (702, "CUDA_ERROR_LAUNCH_TIMEOUT\0"),
    (710, "CUDA_ERROR_ASSERT\0"),
    (712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED\0"),
    (713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED\0"),
    (714, "CUDA_ERROR_HARDWARE_STACK_ERROR\0"),
    (715, "CUDA_ERROR_ILLEGAL_INSTRUCTION\0"),
    (716, "CUDA_ERROR_MISALIGNED_ADDRESS\0"),
    (719, "CUDA_ERROR_LAUNCH_FAILED\0"),
    (720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE\0"),
    (800, "CUDA_ERROR_NOT_PERMITTED\0"),
    (801, "CUDA_ERROR_NOT_SUPPORTED\0"),
    (912, "CUDA_ERROR_INVALID_CLUSTER_SIZE\0"),
];

/// The sentence of a code, with the zero byte that C wants; as `cudaGetErrorString` answers.
#[must_use]
pub fn text(code: i32) -> &'static str {
    row(code).map_or("unrecognized error code\0", |(_, _, text)| *text)
}

fn row(code: i32) -> Option<&'static (i32, &'static str, &'static str)> {
    TABLE.iter().find(|row| row.0 == code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_their_names() {
        assert_eq!(name(0), "cudaSuccess\0");
        assert_eq!(name(700), "cudaErrorIllegalAddress\0");
        assert_eq!(text(2), "out of memory\0");
        assert_eq!(text(-5), "unrecognized error code\0");
        assert_eq!(Status::NotReady.code(), 600);
    }
}
