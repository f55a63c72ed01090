// All invocations take as many rounds as a constant buffer says.
RWStructuredBuffer<uint> data : register(u0);
cbuffer Settings : register(b1) { uint count; uint mode; };
groupshared uint tile[64];
groupshared uint flag;
[numthreads(64, 1, 1)]
void main(uint3 id : SV_DispatchThreadID, uint3 group : SV_GroupID, uint index : SV_GroupIndex)
{
    for (uint round = 0; round < count; ++round) {
        tile[index] = data[id.x] + round;
        GroupMemoryBarrierWithGroupSync();
        data[id.x] = tile[63 - index];
        GroupMemoryBarrierWithGroupSync();
    }
}
