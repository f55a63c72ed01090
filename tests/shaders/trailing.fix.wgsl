// Trailing invocations bring a zero, reach the barrier, and store nothing.
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
var<workgroup> tile: array<u32, 64>;

@compute @workgroup_size(64)
fn reverse(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let inside = id.x < arrayLength(&data);
    var own = 0u;
    if (inside) {
        own = data[id.x];
    }
    tile[local.x] = own;
    workgroupBarrier();
    if (inside) {
        data[id.x] = tile[63u - local.x];
    }
}
