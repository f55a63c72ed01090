// Each invocation takes as many rounds as its index says.
RWStructuredBuffer<uint> data : register(u0);
cbuffer Settings : register(b1) { uint count; uint mode; };
groupshared uint tile[64];
groupshared uint flag;
[numthreads(64, 1, 1)]
void main(uint3 id : SV_DispatchThreadID, uint3 group : SV_GroupID, uint index : SV_GroupIndex)
{
    for (uint round = 0; round < index; ++round) {
        tile[index] += data[round];
        GroupMemoryBarrierWithGroupSync(); //~ E0009
    }
    data[id.x] = tile[index];
}
