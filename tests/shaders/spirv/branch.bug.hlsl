// A barrier under a condition on the index.
RWStructuredBuffer<uint> data : register(u0);
cbuffer Settings : register(b1) { uint count; uint mode; };
groupshared uint tile[64];
groupshared uint flag;
[numthreads(64, 1, 1)]
void main(uint3 id : SV_DispatchThreadID, uint3 group : SV_GroupID, uint index : SV_GroupIndex)
{
    tile[index] = data[id.x];
    if (index < 32) {
        GroupMemoryBarrierWithGroupSync(); //~ E0009
    }
    data[id.x] = tile[63 - index];
}
