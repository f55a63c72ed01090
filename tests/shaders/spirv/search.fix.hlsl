// All leave the loop together.
RWStructuredBuffer<uint> data : register(u0);
cbuffer Settings : register(b1) { uint count; uint mode; };
groupshared uint tile[64];
groupshared uint flag;
[numthreads(64, 1, 1)]
void main(uint3 id : SV_DispatchThreadID, uint3 group : SV_GroupID, uint index : SV_GroupIndex)
{
    uint found = 0;
    while (true) {
        if (found == count) {
            break;
        }
        tile[index] = found;
        found += 1;
        GroupMemoryBarrierWithGroupSync();
    }
    data[id.x] = found;
}
