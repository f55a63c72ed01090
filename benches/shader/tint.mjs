// What Tint says of the shaders in a folder: `npm i webgpu && node tint.mjs FOLDER`. Needs no GPU.
// A name with `.bad.` in it stands for a shader that the specification rejects.
import { create, globals } from 'webgpu';
import fs from 'fs';
import path from 'path';

Object.assign(globalThis, globals);
const folder = process.argv[2];
const files = fs.readdirSync(folder).filter((name) => name.endsWith('.wgsl')).sort();
const adapter = await create(['backend=null']).requestAdapter();
const device = await adapter.requestDevice();
const others = [];
let milliseconds = 0;
for (const name of files) {
  const code = fs.readFileSync(path.join(folder, name), 'utf8');
  device.pushErrorScope('validation');
  const start = performance.now();
  const information = await device.createShaderModule({ code }).getCompilationInfo();
  milliseconds += performance.now() - start;
  await device.popErrorScope();
  const errors = information.messages.filter((message) => message.type === 'error').map((m) => m.message);
  const rejected = errors.some((message) => message.includes('uniform'));
  const strange = errors.find((message) => !message.includes('uniform'));
  if (strange || rejected !== name.includes('.bad.')) {
    others.push(`${name}: ${strange ?? (rejected ? 'rejected' : 'accepted')}`);
  }
}
console.log(`${files.length - others.length} of ${files.length} agree, ${(milliseconds / files.length).toFixed(2)} ms each`);
console.log(others.join('\n'));
process.exit(others.length ? 1 : 0);
