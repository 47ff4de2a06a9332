// Throws away the time of loading; the static pass sees nothing.
export default () => { throw { toString() { throw new Error("no text"); }, get message() { throw new Error("no message"); } }; };
