//! Functions of the CUDA runtime that are not provided: each says so, with its name, at its first call.

use std::collections::HashSet;
use std::ffi::c_int;
use std::sync::{Mutex, PoisonError};

use standstill_cuda_driver::Status;

use crate::call::enter_always;
use crate::layout::ChannelFormatDesc;
use crate::runtime::runtime;

pub fn refuse(name: &'static str) -> c_int {
    static TOLD: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let first = TOLD.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().insert(name);
    enter_always(name, || {
        if first {
            runtime().tell(format!(
                "{name} is not provided by the software GPU; the program is told that it is not supported"
            ));
        }
        Err(Status::NotSupported)
    })
}

macro_rules! unprovided {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> c_int {
            refuse(stringify!($name))
        }
    )*};
}

unprovided! {
    __cudaGetProcAddress
    __cudaRegisterHostVar
    __cudaRegisterUnifiedTable
    cudaArrayGetInfo
    cudaArrayGetMemoryRequirements
    cudaArrayGetPlane
    cudaArrayGetSparseProperties
    cudaCreateSurfaceObject
    cudaCreateTextureObject
    cudaDestroyExternalMemory
    cudaDestroyExternalSemaphore
    cudaDestroySurfaceObject
    cudaDestroyTextureObject
    cudaDevResourceGenerateDesc
    cudaDevSmResourceSplit
    cudaDevSmResourceSplitByCount
    cudaDeviceGetDevResource
    cudaDeviceGetExecutionCtx
    cudaDeviceGetGraphMemAttribute
    cudaDeviceGetHostAtomicCapabilities
    cudaDeviceGetNvSciSyncAttributes
    cudaDeviceGetP2PAtomicCapabilities
    cudaDeviceGetTexture1DLinearMaxWidth
    cudaDeviceGraphMemTrim
    cudaDeviceRegisterAsyncNotification
    cudaDeviceSetGraphMemAttribute
    cudaDeviceUnregisterAsyncNotification
    cudaEGLStreamConsumerAcquireFrame
    cudaEGLStreamConsumerConnect
    cudaEGLStreamConsumerConnectWithFlags
    cudaEGLStreamConsumerDisconnect
    cudaEGLStreamConsumerReleaseFrame
    cudaEGLStreamProducerConnect
    cudaEGLStreamProducerDisconnect
    cudaEGLStreamProducerPresentFrame
    cudaEGLStreamProducerReturnFrame
    cudaEventCreateFromEGLSync
    cudaExecutionCtxDestroy
    cudaExecutionCtxGetDevResource
    cudaExecutionCtxGetDevice
    cudaExecutionCtxGetId
    cudaExecutionCtxRecordEvent
    cudaExecutionCtxStreamCreate
    cudaExecutionCtxSynchronize
    cudaExecutionCtxWaitEvent
    cudaExternalMemoryGetMappedBuffer
    cudaExternalMemoryGetMappedMipmappedArray
    cudaFreeArray
    cudaFreeMipmappedArray
    cudaGLGetDevices
    cudaGLMapBufferObject
    cudaGLMapBufferObjectAsync
    cudaGLRegisterBufferObject
    cudaGLSetBufferObjectMapFlags
    cudaGLSetGLDevice
    cudaGLUnmapBufferObject
    cudaGLUnmapBufferObjectAsync
    cudaGLUnregisterBufferObject
    cudaGetChannelDesc
    cudaGetDriverEntryPointByVersion_ptsz
    cudaGetDriverEntryPoint_ptsz
    cudaGetExportTable
    cudaGetMipmappedArrayLevel
    cudaGetSurfaceObjectResourceDesc
    cudaGetTextureObjectResourceDesc
    cudaGetTextureObjectResourceViewDesc
    cudaGetTextureObjectTextureDesc
    cudaGraphAddExternalSemaphoresSignalNode
    cudaGraphAddExternalSemaphoresWaitNode
    cudaGraphAddMemAllocNode
    cudaGraphAddMemFreeNode
    cudaGraphAddNode
    cudaGraphAddNode_v2
    cudaGraphChildGraphNodeGetGraph
    cudaGraphConditionalHandleCreate
    cudaGraphConditionalHandleCreate_v2
    cudaGraphDebugDotPrint
    cudaGraphEventRecordNodeGetEvent
    cudaGraphEventRecordNodeSetEvent
    cudaGraphEventWaitNodeGetEvent
    cudaGraphEventWaitNodeSetEvent
    cudaGraphExecChildGraphNodeSetParams
    cudaGraphExecEventRecordNodeSetEvent
    cudaGraphExecEventWaitNodeSetEvent
    cudaGraphExecExternalSemaphoresSignalNodeSetParams
    cudaGraphExecExternalSemaphoresWaitNodeSetParams
    cudaGraphExecGetId
    cudaGraphExecMemcpyNodeSetParamsFromSymbol
    cudaGraphExecMemcpyNodeSetParamsToSymbol
    cudaGraphExecNodeSetParams
    cudaGraphExternalSemaphoresSignalNodeGetParams
    cudaGraphExternalSemaphoresSignalNodeSetParams
    cudaGraphExternalSemaphoresWaitNodeGetParams
    cudaGraphExternalSemaphoresWaitNodeSetParams
    cudaGraphGetEdges_v2
    cudaGraphGetId
    cudaGraphHostNodeGetParams
    cudaGraphKernelNodeCopyAttributes
    cudaGraphKernelNodeGetAttribute
    cudaGraphKernelNodeGetParams
    cudaGraphKernelNodeSetAttribute
    cudaGraphMemAllocNodeGetParams
    cudaGraphMemFreeNodeGetParams
    cudaGraphMemcpyNodeGetParams
    cudaGraphMemcpyNodeSetParamsFromSymbol
    cudaGraphMemcpyNodeSetParamsToSymbol
    cudaGraphMemsetNodeGetParams
    cudaGraphNodeFindInClone
    cudaGraphNodeGetContainingGraph
    cudaGraphNodeGetDependencies_v2
    cudaGraphNodeGetDependentNodes_v2
    cudaGraphNodeGetLocalId
    cudaGraphNodeGetParams
    cudaGraphNodeGetToolsId
    cudaGraphNodeSetParams
    cudaGraphReleaseUserObject
    cudaGraphRetainUserObject
    cudaGraphicsEGLRegisterImage
    cudaGraphicsGLRegisterBuffer
    cudaGraphicsGLRegisterImage
    cudaGraphicsMapResources
    cudaGraphicsResourceGetMappedEglFrame
    cudaGraphicsResourceGetMappedMipmappedArray
    cudaGraphicsResourceGetMappedPointer
    cudaGraphicsResourceSetMapFlags
    cudaGraphicsSubResourceGetMappedArray
    cudaGraphicsUnmapResources
    cudaGraphicsUnregisterResource
    cudaGraphicsVDPAURegisterOutputSurface
    cudaGraphicsVDPAURegisterVideoSurface
    cudaGreenCtxCreate
    cudaImportExternalMemory
    cudaImportExternalSemaphore
    cudaIpcCloseMemHandle
    cudaIpcGetEventHandle
    cudaIpcGetMemHandle
    cudaIpcOpenEventHandle
    cudaIpcOpenMemHandle
    cudaLaunchCooperativeKernelMultiDevice
    cudaLibraryGetUnifiedFunction
    cudaLogsCurrent
    cudaLogsDumpToFile
    cudaLogsDumpToMemory
    cudaLogsRegisterCallback
    cudaLogsUnregisterCallback
    cudaMalloc3DArray
    cudaMallocArray
    cudaMallocMipmappedArray
    cudaMemDiscardAndPrefetchBatchAsync
    cudaMemDiscardAndPrefetchBatchAsync_ptsz
    cudaMemDiscardBatchAsync
    cudaMemDiscardBatchAsync_ptsz
    cudaMemGetDefaultMemPool
    cudaMemGetLocationInfo
    cudaMemGetMemPool
    cudaMemPoolExportPointer
    cudaMemPoolExportToShareableHandle
    cudaMemPoolImportFromShareableHandle
    cudaMemPoolImportPointer
    cudaMemPrefetchBatchAsync
    cudaMemPrefetchBatchAsync_ptsz
    cudaMemRangeGetAttributes
    cudaMemSetMemPool
    cudaMemcpy2DArrayToArray
    cudaMemcpy2DArrayToArray_ptds
    cudaMemcpy2DFromArray
    cudaMemcpy2DFromArrayAsync
    cudaMemcpy2DFromArrayAsync_ptsz
    cudaMemcpy2DFromArray_ptds
    cudaMemcpy2DToArray
    cudaMemcpy2DToArrayAsync
    cudaMemcpy2DToArrayAsync_ptsz
    cudaMemcpy2DToArray_ptds
    cudaMemcpy3DBatchAsync
    cudaMemcpy3DBatchAsync_ptsz
    cudaMemcpy3DPeer
    cudaMemcpy3DPeerAsync
    cudaMemcpy3DPeerAsync_ptsz
    cudaMemcpy3DPeer_ptds
    cudaMemcpy3DWithAttributesAsync
    cudaMemcpy3DWithAttributesAsync_ptsz
    cudaMemcpyArrayToArray
    cudaMemcpyArrayToArray_ptds
    cudaMemcpyBatchAsync
    cudaMemcpyBatchAsync_ptsz
    cudaMemcpyFromArray
    cudaMemcpyFromArrayAsync
    cudaMemcpyFromArrayAsync_ptsz
    cudaMemcpyFromArray_ptds
    cudaMemcpyToArray
    cudaMemcpyToArrayAsync
    cudaMemcpyToArrayAsync_ptsz
    cudaMemcpyToArray_ptds
    cudaMemcpyWithAttributesAsync
    cudaMemcpyWithAttributesAsync_ptsz
    cudaMipmappedArrayGetMemoryRequirements
    cudaMipmappedArrayGetSparseProperties
    cudaSetDoubleForDevice
    cudaSetDoubleForHost
    cudaSignalExternalSemaphoresAsync
    cudaSignalExternalSemaphoresAsync_ptsz
    cudaSignalExternalSemaphoresAsync_v2
    cudaSignalExternalSemaphoresAsync_v2_ptsz
    cudaStreamBeginRecaptureToGraph
    cudaStreamBeginRecaptureToGraph_ptsz
    cudaStreamGetAttribute
    cudaStreamGetAttribute_ptsz
    cudaStreamGetDevResource
    cudaStreamGetDevResource_ptsz
    cudaStreamUpdateCaptureDependencies
    cudaStreamUpdateCaptureDependencies_ptsz
    cudaStreamUpdateCaptureDependencies_v2
    cudaStreamUpdateCaptureDependencies_v2_ptsz
    cudaSubgridCreate
    cudaSubgridWorkerGridCreate
    cudaSubgridWorksetCreate
    cudaThreadExit
    cudaThreadGetCacheConfig
    cudaThreadGetLimit
    cudaThreadSetCacheConfig
    cudaThreadSetLimit
    cudaUserObjectCreate
    cudaUserObjectRelease
    cudaUserObjectRetain
    cudaVDPAUGetDevice
    cudaVDPAUSetVDPAUDevice
    cudaWaitExternalSemaphoresAsync
    cudaWaitExternalSemaphoresAsync_ptsz
    cudaWaitExternalSemaphoresAsync_v2
    cudaWaitExternalSemaphoresAsync_v2_ptsz
}

/// A description is only made here; what would use it is not provided.
#[unsafe(no_mangle)]
pub extern "C" fn cudaCreateChannelDesc(
    x: c_int,
    y: c_int,
    z: c_int,
    w: c_int,
    f: c_int,
) -> ChannelFormatDesc {
    ChannelFormatDesc { x, y, z, w, f }
}
