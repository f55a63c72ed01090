// A barrier in a case that some invocations take.
RWStructuredBuffer<uint> data : register(u0);
cbuffer Settings : register(b1) { uint count; uint mode; };
groupshared uint tile[64];
groupshared uint flag;
[numthreads(64, 1, 1)]
void main(uint3 id : SV_DispatchThreadID, uint3 group : SV_GroupID, uint index : SV_GroupIndex)
{
    tile[index] = data[id.x];
    switch (index & 3) {
    case 1:
        tile[index] += 3;
        GroupMemoryBarrierWithGroupSync(); //~ E0009
        break;
    case 2:
        tile[index] += 4;
        break;
    default:
        break;
    }
    data[id.x] = tile[index];
}
