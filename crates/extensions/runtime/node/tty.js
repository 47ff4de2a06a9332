// The module `tty` of Node. An extension has no terminal of its own.

export const isatty = () => false;
export default { isatty };
