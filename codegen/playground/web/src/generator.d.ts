// The interface of the module that wasm-bindgen writes.

export function initSync(options: { module: WebAssembly.Module }): unknown;
export function handleRequest(request: string): string;
