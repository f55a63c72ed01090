// A barrier under a condition on an element that all read, and nobody writes before.
RWStructuredBuffer<uint> data : register(u0);
cbuffer Settings : register(b1) { uint count; uint mode; };
groupshared uint tile[64];
groupshared uint flag;
[numthreads(64, 1, 1)]
void main(uint3 id : SV_DispatchThreadID, uint3 group : SV_GroupID, uint index : SV_GroupIndex)
{
    uint value = data[count];
    if (value > 5) {
        tile[index] = value;
        GroupMemoryBarrierWithGroupSync();
    }
    data[id.x + count + 1] = tile[index];
}
