const code = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0, 0,
  10, 9, 1, 7, 0, 3, 64, 12, 0, 11, 11]);
const made = new WebAssembly.Instance(new WebAssembly.Module(code));
onload = () => setTimeout(made.exports.f, 10);
