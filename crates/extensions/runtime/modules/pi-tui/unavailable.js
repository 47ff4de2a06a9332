// Names of pi-tui that concern the terminal itself, which Osier draws.

import { notConstructible, unavailable } from "osier:modules/pi-coding-agent/unavailable.js";

export const ProcessTerminal = notConstructible("ProcessTerminal");
export const StdinBuffer = notConstructible("StdinBuffer");
export const TUI = notConstructible("TUI", "use the one that ctx.ui.custom gives you");
export const allocateImageId = unavailable("allocateImageId");
export const calculateImageRows = unavailable("calculateImageRows");
export const decodeKittyPrintable = () => undefined;
export const deleteAllKittyImages = unavailable("deleteAllKittyImages");
export const deleteKittyImage = unavailable("deleteKittyImage");
export const encodeITerm2 = unavailable("encodeITerm2");
export const encodeKitty = unavailable("encodeKitty");
export const getGifDimensions = () => null;
export const getJpegDimensions = () => null;
export const getPngDimensions = () => null;
export const getWebpDimensions = () => null;
export const renderImage = () => null;
export const resetCapabilitiesCache = () => {};
export const setCapabilities = () => {};
export const setCellDimensions = () => {};
export const setKittyProtocolActive = () => {};
