// A barrier in a case that all invocations of a workgroup take.
RWStructuredBuffer<uint> data : register(u0);
cbuffer Settings : register(b1) { uint count; uint mode; };
groupshared uint tile[64];
groupshared uint flag;
[numthreads(64, 1, 1)]
void main(uint3 id : SV_DispatchThreadID, uint3 group : SV_GroupID, uint index : SV_GroupIndex)
{
    tile[index] = data[id.x];
    switch (mode) {
    case 1:
        tile[index] += 3;
        GroupMemoryBarrierWithGroupSync();
        break;
    case 2:
        tile[index] += 4;
        break;
    default:
        break;
    }
    data[id.x] = tile[index];
}
