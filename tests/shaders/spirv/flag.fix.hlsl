// A flag in workgroup memory decides, written before a barrier.
RWStructuredBuffer<uint> data : register(u0);
cbuffer Settings : register(b1) { uint count; uint mode; };
groupshared uint tile[64];
groupshared uint flag;
[numthreads(64, 1, 1)]
void main(uint3 id : SV_DispatchThreadID, uint3 group : SV_GroupID, uint index : SV_GroupIndex)
{
    if (index == 0) {
        flag = data[group.x];
    }
    GroupMemoryBarrierWithGroupSync();
    bool ready = flag == 1;
    tile[index] = data[id.x + 64];
    if (ready) {
        GroupMemoryBarrierWithGroupSync();
    }
    data[id.x + 64] = tile[index];
}
