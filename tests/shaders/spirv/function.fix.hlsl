// A function with a barrier is called for all or none.
RWStructuredBuffer<uint> data : register(u0);
cbuffer Settings : register(b1) { uint count; uint mode; };
groupshared uint tile[64];
groupshared uint flag;
void meet(uint at)
{
    tile[at] += 1;
    GroupMemoryBarrierWithGroupSync();
}

[numthreads(64, 1, 1)]
void main(uint3 id : SV_DispatchThreadID, uint3 group : SV_GroupID, uint index : SV_GroupIndex)
{
    tile[index] = data[id.x];
    if (mode == 2) {
        meet(index);
    }
    data[id.x] = tile[index];
}
