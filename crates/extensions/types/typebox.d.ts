declare module "typebox" {
	/** A JSON schema that knows the type of its values. */
	export interface TSchema {
		[key: string]: any;
	}
	export interface TValue<T> extends TSchema {
		static: T;
	}
	export interface TOptional<T> extends TValue<T | undefined> {
		optional: true;
	}
	export interface TObject<P = any> extends TValue<ObjectValue<P>> {
		properties: P;
	}
	export type Static<S> = S extends { static: infer T } ? T : any;
	type OptionalKeys<P> = { [K in keyof P]: P[K] extends TOptional<any> ? K : never }[keyof P];
	type ObjectValue<P> = { [K in Exclude<keyof P, OptionalKeys<P>>]: Static<P[K]> } & { [K in OptionalKeys<P>]?: Static<P[K]> };
	type Options = Record<string, any>;
	export const Type: {
		Object<P extends Record<string, TSchema>>(properties: P, options?: Options): TObject<P>;
		String(options?: Options): TValue<string>;
		Number(options?: Options): TValue<number>;
		Integer(options?: Options): TValue<number>;
		Boolean(options?: Options): TValue<boolean>;
		Null(options?: Options): TValue<null>;
		Any(options?: Options): TValue<any>;
		Unknown(options?: Options): TValue<unknown>;
		Literal<const T extends string | number | boolean>(value: T, options?: Options): TValue<T>;
		Enum<const T>(values: T, options?: Options): TValue<T extends readonly (infer V)[] ? V : T[keyof T]>;
		Array<S extends TSchema>(items: S, options?: Options): TValue<Static<S>[]>;
		Tuple<S extends TSchema[]>(items: [...S], options?: Options): TValue<any[]>;
		Union<S extends TSchema[]>(options: [...S], settings?: Options): TValue<Static<S[number]>>;
		Intersect<S extends TSchema[]>(parts: [...S], options?: Options): TValue<any>;
		Record<V extends TSchema>(key: TSchema, value: V, options?: Options): TValue<Record<string, Static<V>>>;
		Optional<S extends TSchema>(schema: S): TOptional<Static<S>>;
		Partial<S extends TSchema>(schema: S, options?: Options): TValue<Partial<Static<S>>>;
		Ref(name: string, options?: Options): TValue<any>;
		Unsafe<T = unknown>(schema: Options): TValue<T>;
	};
	export const Kind: unique symbol;
}
declare module "typebox/value" {
	import type { Static, TSchema } from "typebox";
	export const Value: {
		Check<S extends TSchema>(schema: S, value: unknown): value is Static<S>;
		Convert(schema: TSchema, value: unknown): unknown;
		Default(schema: TSchema, value: unknown): unknown;
		Clean(schema: TSchema, value: unknown): unknown;
		Parse<S extends TSchema>(schema: S, value: unknown): Static<S>;
		Errors(schema: TSchema, value: unknown): Iterable<{ path: string; message: string; value: unknown }>;
	};
	export const Check: typeof Value.Check;
	export const Convert: typeof Value.Convert;
	export const Default: typeof Value.Default;
	export const Clean: typeof Value.Clean;
	export const Parse: typeof Value.Parse;
	export const Errors: typeof Value.Errors;
}
declare module "typebox/compile" {
	import type { Static, TSchema } from "typebox";
	export function Compile<S extends TSchema>(schema: S): { Check(value: unknown): value is Static<S>; Errors(value: unknown): { path: string; message: string }[] };
}
declare module "@sinclair/typebox" {
	export * from "typebox";
}
declare module "@sinclair/typebox/value" {
	export * from "typebox/value";
}
declare module "@sinclair/typebox/compiler" {
	export * from "typebox/compile";
}
