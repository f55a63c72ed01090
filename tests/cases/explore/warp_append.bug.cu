// case: warp_append
// rule: lost-update
// where: explore
// explore: --grid 2 --block 2 --param 0=i32[1,1,1,1] --races off --expect count==4
// steps: 8
// progress: guaranteed
// why: a leader adds for its whole warp, but by a read and a write that the leader of the other block can come between
__device__ int count;
__device__ volatile int out[8];
__global__ void append(const int *in) {
  int me = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned all = (1u << blockDim.x) - 1;
  bool keep = in[me] != 0;
  unsigned votes = __ballot_sync(all, keep);
  int leader = __ffs(votes) - 1;
  int base = 0;
  if ((int)threadIdx.x == leader) {
    base = *(volatile int *)&count;
    *(volatile int *)&count = base + __popc(votes);  //~ lost-update
  }
  base = __shfl_sync(all, base, leader);
  if (keep) out[base + __popc(votes & ((1u << threadIdx.x) - 1))] = me + 1;
}
