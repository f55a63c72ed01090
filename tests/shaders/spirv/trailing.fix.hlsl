// Trailing invocations load a neutral value and come along.
RWStructuredBuffer<uint> data : register(u0);
cbuffer Settings : register(b1) { uint count; uint mode; };
groupshared uint tile[64];
groupshared uint flag;
[numthreads(64, 1, 1)]
void main(uint3 id : SV_DispatchThreadID, uint3 group : SV_GroupID, uint index : SV_GroupIndex)
{
    uint value = 0;
    if (id.x < count) {
        value = data[id.x];
    }
    tile[index] = value;
    GroupMemoryBarrierWithGroupSync();
    if (id.x < count) {
        data[id.x] = tile[63 - index];
    }
}
