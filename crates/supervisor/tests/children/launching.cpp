/* A stand-in for a program that nvcc compiled: host functions of kernels with the names and the bodies that nvcc gives
 * them, and launches of every form. Lines are marked with the kernel that is launched there. */
#include "launching.h"

__attribute__((section(".nv_fatbin"), used)) static const char device_code[] = "stands for device code";

void __device_stub__Z4oncePi(int *p) { cudaLaunchKernel((void *)((void (*)(int *))once), &p); }
void once(int *p) { __device_stub__Z4oncePi(p); }
void __device_stub__Z5twicePi(int *p) { cudaLaunchKernel((void *)((void (*)(int *))twice), &p); }
void twice(int *p) { __device_stub__Z5twicePi(p); }
static void hidden(int *p);
static void __device_stub__Z6hiddenPi(int *p) { cudaLaunchKernel((void *)((void (*)(int *))hidden), &p); }
static void hidden(int *p) { __device_stub__Z6hiddenPi(p); }
template <class T> void generic(T *p);
static void __device_stub__Z7genericIiEvPT_(int *p) { cudaLaunchKernel((void *)((void (*)(int *))generic<int>), &p); }
template <class T> void generic(T *p) { __device_stub__Z7genericIiEvPT_((int *)p); }
void __device_stub__Z11cooperativePi(int *p) { cudaLaunchKernel((void *)((void (*)(int *))cooperative), &p); }
void cooperative(int *p) { __device_stub__Z11cooperativePi(p); }
void __device_stub__Z5neverPi(int *p) { cudaLaunchKernel((void *)((void (*)(int *))never), &p); }
void never(int *p) { __device_stub__Z5neverPi(p); }
void __device_stub__Z5plainPi(int *p) { cudaLaunchKernel((void *)((void (*)(int *))plain), &p); }
extern "C" void plain(int *p) { __device_stub__Z5plainPi(p); }

/* What nvcc's start-up code does with every kernel. */
__attribute__((constructor)) static void __sti____cudaRegisterAll() {
  __cudaRegisterFunction((void *)((void (*)(int *))once), "_Z4oncePi");
  __cudaRegisterFunction((void *)((void (*)(int *))twice), "_Z5twicePi");
  __cudaRegisterFunction((void *)((void (*)(int *))hidden), "_Z6hiddenPi");
  __cudaRegisterFunction((void *)((void (*)(int *))cooperative), "_Z11cooperativePi");
  __cudaRegisterFunction((void *)((void (*)(int *))never), "_Z5neverPi");
}

int helper(int *p) {
  __cudaPushCallConfiguration(1) ? (void)0 : twice(p); // launches twice
  return 1;
}

int work(int *p) {
  __cudaPushCallConfiguration(1) ? (void)0 : once(p); // launches once
  __cudaPushCallConfiguration(2) ? (void)0 : twice(p); // launches twice
  __cudaPushCallConfiguration(3) ? (void)0 : hidden(p); // launches hidden
  __cudaPushCallConfiguration(4) ? (void)0 : generic<int>(p); // launches generic
  __cudaPushCallConfiguration(5) ? (void)0 : plain(p); // launches plain
  int blocks = 0;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void *)cooperative);
  void *arguments[] = {&p};
  cudaLaunchCooperativeKernel((const void *)cooperative, arguments); // launches cooperative
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void *)never);
  return helper(p) + blocks;
}
