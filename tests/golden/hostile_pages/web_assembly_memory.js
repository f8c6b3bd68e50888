for (let i = 0; i < 40; i++) new WebAssembly.Memory({initial: 1000, maximum: 2000})
