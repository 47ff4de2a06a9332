// TypeBox: `Type`, and its functions by their own names. Some of them are names of globals, which this file does not use.

import { Type } from "osier:modules/typebox-builder.js";

export * from "osier:modules/typebox-builder.js";
export const {
	Any, Array, Boolean, Composite, Date, Enum, Function, Integer, Intersect, KeyOf, Literal, Never, Null, Number, Object, Omit, Optional, Partial, Pick, Readonly,
	ReadonlyOptional, Record, Ref, RegExp, Required, String, TemplateLiteral, Tuple, Undefined, Union, Unknown, Unsafe,
} = Type;
export default Type;
