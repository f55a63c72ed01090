// Trailing invocations return before a barrier.
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
var<workgroup> tile: array<u32, 64>;

@compute @workgroup_size(64)
fn reverse(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    if (id.x >= arrayLength(&data)) {
        return;
    }
    tile[local.x] = data[id.x];
    workgroupBarrier();  //~ early-exit-barrier
    data[id.x] = tile[63u - local.x];
}
