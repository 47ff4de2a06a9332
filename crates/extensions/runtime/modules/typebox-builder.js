// `Type`: builds JSON schemas, as TypeBox does. The optional marker is not part of the schema.

const Optional = Symbol.for("TypeBox.Optional");
const make = (schema, options) => ({ ...schema, ...options });
const clone = (schema, change) => Object.defineProperties(change, Object.getOwnPropertyDescriptors(schema));

function object(properties = {}, options) {
	const required = Object.keys(properties).filter((key) => !properties[key]?.[Optional]);
	return make({ type: "object", ...(required.length ? { required } : {}), properties }, options);
}

function pickProperties(schema, keep, options) {
	const entries = Object.entries(schema.properties ?? {}).filter(([key]) => keep(key));
	return object(Object.fromEntries(entries), options);
}

const keysOf = (keys) => (Array.isArray(keys) ? keys : (keys?.anyOf?.map((item) => item.const) ?? [keys?.const]));

function optional(schema, options) {
	const copy = clone(schema, {});
	Object.assign(copy, options);
	Object.defineProperty(copy, Optional, { value: true, enumerable: false, configurable: true });
	return copy;
}

function required(schema) {
	const copy = clone(schema, {});
	delete copy[Optional];
	return copy;
}

export const Type = {
	String: (options) => make({ type: "string" }, options),
	Number: (options) => make({ type: "number" }, options),
	Integer: (options) => make({ type: "integer" }, options),
	Boolean: (options) => make({ type: "boolean" }, options),
	Null: (options) => make({ type: "null" }, options),
	Any: (options) => make({}, options),
	Unknown: (options) => make({}, options),
	Never: (options) => make({ not: {} }, options),
	Undefined: (options) => make({ type: "undefined" }, options),
	Literal: (value, options) => make({ const: value, type: value === null ? "null" : typeof value }, options),
	Array: (items, options) => make({ type: "array", items }, options),
	Tuple: (items, options) =>
		make({ type: "array", items, additionalItems: false, minItems: items.length, maxItems: items.length }, options),
	Object: object,
	Record: (key, value, options) =>
		make({ type: "object", patternProperties: { [key?.pattern ?? "^(.*)$"]: value } }, options),
	Union: (schemas, options) => make({ anyOf: schemas }, options),
	Intersect: (schemas, options) => make({ allOf: schemas }, options),
	Composite: (schemas, options) => object(Object.assign({}, ...schemas.map((schema) => schema.properties)), options),
	Enum: (values, options) => {
		const all = Object.entries(values).filter(([key]) => Number.isNaN(Number(key)));
		return make({ anyOf: all.map(([, value]) => ({ const: value, type: typeof value })) }, options);
	},
	Optional: optional,
	Required: (schema, options) =>
		object(Object.fromEntries(Object.entries(schema.properties ?? {}).map(([key, value]) => [key, required(value)])), options),
	Partial: (schema, options) =>
		object(Object.fromEntries(Object.entries(schema.properties ?? {}).map(([key, value]) => [key, optional(value)])), options),
	Pick: (schema, keys, options) => pickProperties(schema, (key) => keysOf(keys).includes(key), options),
	Omit: (schema, keys, options) => pickProperties(schema, (key) => !keysOf(keys).includes(key), options),
	KeyOf: (schema, options) => make({ anyOf: Object.keys(schema.properties ?? {}).map((key) => ({ const: key, type: "string" })) }, options),
	Unsafe: (schema = {}) => ({ ...schema }),
	Ref: (schema, options) => make({ $ref: typeof schema === "string" ? schema : schema.$id }, options),
	Readonly: (schema) => schema,
	ReadonlyOptional: optional,
	Date: (options) => make({ type: "string", format: "date-time" }, options),
	RegExp: (pattern, options) => make({ type: "string", pattern: pattern.source ?? String(pattern) }, options),
	TemplateLiteral: (parts, options) => make({ type: "string" }, options),
	Function: () => make({}),
};

/** An enumeration of strings that every provider accepts. */
export function StringEnum(values, options) {
	return make({ type: "string", enum: [...values] }, options);
}

export const Kind = Symbol.for("TypeBox.Kind");
export const OptionalKind = Optional;
export default Type;
