/* The CUDA runtime of the stand-in `launching.cpp`, and its kernels. */
#pragma once
void once(int *p);
void twice(int *p);
void cooperative(int *p);
void never(int *p);
extern "C" void plain(int *p);
extern "C" {
int cudaLaunchKernel(const void *kernel, void *arguments);
int cudaLaunchCooperativeKernel(const void *kernel, void **arguments);
int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel);
int __cudaPushCallConfiguration(int configuration);
int __cudaRegisterFunction(const void *kernel, const char *name);
}
int work(int *p);
