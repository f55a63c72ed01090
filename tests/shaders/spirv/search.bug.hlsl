// Who has found it leaves the loop, and the others meet.
RWStructuredBuffer<uint> data : register(u0);
cbuffer Settings : register(b1) { uint count; uint mode; };
groupshared uint tile[64];
groupshared uint flag;
[numthreads(64, 1, 1)]
void main(uint3 id : SV_DispatchThreadID, uint3 group : SV_GroupID, uint index : SV_GroupIndex)
{
    uint found = 0;
    while (true) {
        if (data[found] == index) {
            break;
        }
        found += 1;
        GroupMemoryBarrierWithGroupSync(); //~ E0009
    }
    data[id.x] = found;
}
