// case: cas_multiply
// rule: none
// where: explore
// explore: --grid 2 --expect acc==6
// explore: --grid 3 --expect acc==30
// explore: --grid 4 --expect acc==210
// explore: --grid 5 --no-schedulers --expect acc==2310
// explore: --grid 6 --no-schedulers --races off --expect acc==30030
// why: a compare-and-swap that fails tries again with what it found
__device__ int acc = 1;
__device__ const int factors[6] = {2, 3, 5, 7, 11, 13};
__global__ void multiply() {
  int factor = factors[blockIdx.x], old = *(volatile int *)&acc, seen;
  while ((seen = atomicCAS(&acc, old, old * factor)) != old) old = seen;
}
