// `Value.Check` and the like, for the schemas that `Type` builds.

const matchesType = (type, value) => {
	switch (type) {
		case "string":
		case "boolean":
		case "number":
			return typeof value === type;
		case "integer":
			return Number.isInteger(value);
		case "null":
			return value === null;
		case "undefined":
			return value === undefined;
		case "array":
			return Array.isArray(value);
		case "object":
			return typeof value === "object" && value !== null && !Array.isArray(value);
		default:
			return true;
	}
};

export function* problems(schema, value, path = "") {
	const wrong = (message) => ({ path, instancePath: path, message, value });
	if ("const" in schema && schema.const !== value) yield wrong(`Expected ${JSON.stringify(schema.const)}`);
	if (schema.enum && !schema.enum.includes(value)) yield wrong(`Expected one of ${schema.enum.join(", ")}`);
	if (schema.anyOf && !schema.anyOf.some((option) => check(option, value))) yield wrong("Expected union value");
	for (const part of schema.allOf ?? []) yield* problems(part, value, path);
	if (schema.not && check(schema.not, value)) yield wrong("Value is not allowed");
	if (schema.type && ![schema.type].flat().some((type) => matchesType(type, value))) {
		yield wrong(`Expected ${schema.type}`);
		return;
	}
	if (typeof value === "string") {
		if (value.length < (schema.minLength ?? 0)) yield wrong("Expected a longer string");
		if (value.length > (schema.maxLength ?? Infinity)) yield wrong("Expected a shorter string");
		if (schema.pattern && !new RegExp(schema.pattern).test(value)) yield wrong("Expected string to match pattern");
	}
	if (typeof value === "number") {
		if (value < (schema.minimum ?? -Infinity)) yield wrong(`Expected at least ${schema.minimum}`);
		if (value > (schema.maximum ?? Infinity)) yield wrong(`Expected at most ${schema.maximum}`);
	}
	if (Array.isArray(value)) {
		if (value.length < (schema.minItems ?? 0)) yield wrong("Expected more items");
		if (value.length > (schema.maxItems ?? Infinity)) yield wrong("Expected fewer items");
		const items = (index) => (Array.isArray(schema.items) ? schema.items[index] : schema.items);
		for (const [index, item] of value.entries()) if (items(index)) yield* problems(items(index), item, `${path}/${index}`);
	} else if (typeof value === "object" && value !== null) {
		const properties = schema.properties ?? {};
		for (const key of schema.required ?? []) if (!(key in value)) yield { path: `${path}/${key}`, instancePath: `${path}/${key}`, message: "Expected required property", value: undefined };
		for (const [key, inner] of Object.entries(properties)) if (value[key] !== undefined) yield* problems(inner, value[key], `${path}/${key}`);
		for (const key of Object.keys(value)) {
			if (key in properties) continue;
			const pattern = Object.entries(schema.patternProperties ?? {}).find(([text]) => new RegExp(text).test(key));
			if (pattern) yield* problems(pattern[1], value[key], `${path}/${key}`);
			else if (schema.additionalProperties === false) yield { path: `${path}/${key}`, instancePath: `${path}/${key}`, message: "Unexpected property", value: value[key] };
			else if (typeof schema.additionalProperties === "object") yield* problems(schema.additionalProperties, value[key], `${path}/${key}`);
		}
	}
}

function check(schema, value) {
	return problems(schema, value).next().done === true;
}

function withDefaults(schema, value) {
	if (value === undefined && "default" in schema) return structuredClone(schema.default);
	if (typeof value !== "object" || value === null || !schema.properties) return value;
	for (const [key, inner] of Object.entries(schema.properties)) {
		const filled = withDefaults(inner, value[key]);
		if (filled !== undefined) value[key] = filled;
	}
	return value;
}

function clean(schema, value) {
	if (typeof value !== "object" || value === null || !schema.properties) return value;
	for (const key of Object.keys(value)) {
		if (schema.properties[key]) clean(schema.properties[key], value[key]);
		else if (!schema.patternProperties && !schema.additionalProperties) delete value[key];
	}
	return value;
}

export function convert(schema, value) {
	if (schema.type === "number" || schema.type === "integer") {
		return typeof value === "string" && value.trim() !== "" && !Number.isNaN(Number(value)) ? Number(value) : value;
	}
	if (schema.type === "boolean" && (value === "true" || value === "false")) return value === "true";
	if (schema.type === "string" && (typeof value === "number" || typeof value === "boolean")) return String(value);
	if (Array.isArray(value) && schema.items) return value.map((item) => convert(schema.items, item));
	if (typeof value === "object" && value !== null && schema.properties) {
		for (const [key, inner] of Object.entries(schema.properties)) if (key in value) value[key] = convert(inner, value[key]);
	}
	return value;
}

function parse(schema, value) {
	const prepared = convert(schema, withDefaults(schema, structuredClone(value)));
	const first = problems(schema, prepared).next();
	if (!first.done) throw new Error(`${first.value.path || "/"}: ${first.value.message}`);
	return clean(schema, prepared);
}

export const Value = {
	Check: check,
	Errors: (schema, value) => {
		const all = [...problems(schema, value)];
		all.First = () => all[0];
		return all;
	},
	Default: withDefaults,
	Clean: clean,
	Convert: convert,
	Parse: parse,
	Decode: parse,
	Encode: parse,
	Assert: (schema, value) => {
		const first = problems(schema, value).next();
		if (!first.done) throw new Error(`${first.value.path || "/"}: ${first.value.message}`);
	},
	Create: (schema) => withDefaults(schema, schema.type === "object" ? {} : undefined),
	Cast: (schema, value) => convert(schema, withDefaults(schema, value)),
	Clone: (value) => structuredClone(value),
	Equal: (a, b) => JSON.stringify(a) === JSON.stringify(b),
};

export const TypeCompiler = {
	Compile: (schema) => ({ Check: (value) => check(schema, value), Errors: (value) => Value.Errors(schema, value), Parse: (value) => parse(schema, value) }),
};
export const Compile = TypeCompiler.Compile;
export const { Assert, Cast, Check, Clean, Clone, Convert, Create, Decode, Default, Encode, Equal, Errors, Parse } = Value;
export default Value;
