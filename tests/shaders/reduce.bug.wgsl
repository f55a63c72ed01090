// A sum over a workgroup whose barrier only half of the invocations reach.
@group(0) @binding(0) var<storage, read> input: array<f32>;
@group(0) @binding(1) var<storage, read_write> output: array<f32>;
var<workgroup> tile: array<f32, 256>;

@compute @workgroup_size(256)
fn sum(@builtin(local_invocation_index) index: u32, @builtin(workgroup_id) group: vec3<u32>) {
    tile[index] = input[group.x * 256u + index];
    workgroupBarrier();
    for (var stride = 128u; stride > 0u; stride >>= 1u) {
        if (index < stride) {
            tile[index] += tile[index + stride];
            workgroupBarrier();  //~ divergent-barrier
        }
    }
    if (index == 0u) {
        output[group.x] = tile[0];
    }
}
