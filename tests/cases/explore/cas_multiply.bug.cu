// case: cas_multiply
// rule: lost-update
// where: explore
// explore: --grid 4 --expect acc==210
// steps: 8
// why: what another block multiplied between the read and the write is overwritten
__device__ int acc = 1;
__device__ const int factors[4] = {2, 3, 5, 7};
__global__ void multiply() {
  int factor = factors[blockIdx.x];
  int old = *(volatile int *)&acc;       //~| read before
  *(volatile int *)&acc = old * factor;  //~ lost-update
}
