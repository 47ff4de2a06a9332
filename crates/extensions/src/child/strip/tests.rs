//! TypeScript and what becomes of it.

use std::path::Path;

use super::strip;

/// The code without the spaces at the ends of its lines.
fn stripped(source: &str) -> String {
    let code = strip(Path::new("a.ts"), source).unwrap();
    assert_eq!(code.matches('\n').count(), source.matches('\n').count(), "lines moved:\n{code}");
    let lines: Vec<_> =
        code.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    lines.join("\n")
}

#[test]
fn annotations_become_spaces() {
    assert_eq!(stripped("const a: number = 1;"), "const a = 1;");
    assert_eq!(stripped("let a!: string;"), "let a ;");
    assert_eq!(
        stripped("function f<T>(this: X, a?: T, ...b: T[]): a is string { return a!; }"),
        "function f ( a , ...b ) { return a ; }"
    );
    assert_eq!(stripped("try {} catch (e: unknown) {}"), "try {} catch (e ) {}");
    assert_eq!(stripped("f<A, B>(x as any, y satisfies Z, <T>z);"), "f (x , y , z);");
    assert_eq!(stripped("new Map<string, () => void>();"), "new Map ();");
    assert_eq!(stripped("(a as any).b = c!.d![0];"), "(a ).b = c .d [0];");
}

#[test]
fn declarations_of_types_become_empty_statements() {
    assert_eq!(stripped("const a = 1\ntype T = string\n(b)()"), "const a = 1\n;\n(b)()");
    assert_eq!(stripped("interface A {\n x: number;\n}\nexport type { B } from 'b';"), ";\n\n\n;");
    assert_eq!(
        stripped("declare const x: number;\ndeclare function g(): void;\nexport declare class C {}"),
        ";\n;\n;"
    );
    assert_eq!(
        stripped("declare global { interface X {} }\ndeclare module 'm' { export const a: 1; }"),
        ";\n;"
    );
    assert_eq!(stripped("function f(a: string): void;\nfunction f(a: any) {}"), ";\nfunction f(a ) {}");
}

#[test]
fn the_statement_after_an_erased_type_is_a_statement_of_its_own() {
    assert_eq!(stripped("let a = b as T\n(c)()"), "let a = b ;\n(c)()");
    assert_eq!(stripped("class A { x: T\n [y]: T = 1 }"), "class A { x ;\n[y] = 1 }");
    assert_eq!(stripped("class A { x = 1\n private [y] = 2 }"), "class A { x = 1\n; [y] = 2 }");
    assert_eq!(stripped("for (let i = 0 as number; i < 1; i++) {}"), "for (let i = 0 ; i < 1; i++) {}");
}

#[test]
fn an_arrow_stays_on_the_line_of_its_parameters() {
    assert_eq!(
        stripped("const f = async <\n T,\n>(a: T): Promise<\n T\n> => a;"),
        "const f = async (\n\na )=>\n\na;"
    );
    assert_eq!(stripped("const f = (): T => <T>{ a: 1 };"), "const f = () => ({ a: 1 });");
}

#[test]
fn imports_that_are_only_types_are_not_loaded() {
    assert_eq!(
        stripped("import type { A } from 'a';\nimport { B, c } from 'b';\nc as B;"),
        ";\nimport { c } from 'b';\nc ;"
    );
    assert_eq!(
        stripped("import D, { type A, b as c } from 'b';\nc(D);"),
        "import D, { b as c } from 'b';\nc(D);"
    );
    assert_eq!(stripped("import { A } from './types';\nlet a: A;"), ";\nlet a ;");
    assert_eq!(
        stripped("import 'side';\nimport * as x from 'x';\nx.y;"),
        "import 'side';\nimport * as x from 'x';\nx.y;"
    );
    assert_eq!(stripped("import {\n A,\n b,\n} from 'b';\nb;"), "import { b } from\n\n\n'b';\nb;");
}

#[test]
fn exports_of_types_are_left_out() {
    assert_eq!(stripped("interface A {}\nconst b = 1;\nexport { A, b };"), ";\nconst b = 1;\nexport { b };");
    assert_eq!(
        stripped("export { type A, b } from 'b';\nexport * from 'c';"),
        "export { b } from 'b';\nexport * from 'c';"
    );
    assert_eq!(
        stripped("import type { A } from 'a';\nexport { A };\nexport default interface B {}"),
        ";\n;\n;"
    );
}

#[test]
fn classes_keep_what_runs() {
    assert_eq!(
        stripped(
            "export abstract class A<T> extends B<T> implements C<T>, D {\n abstract m(): void;\n declare x: number;\n [key: string]: any;\n protected static async y?(): Promise<void> {}\n}"
        ),
        "export class A extends B {\n;\n;\n;\n; static async y () {}\n}"
    );
}

#[test]
fn parameter_properties_are_assigned() {
    assert_eq!(
        stripped("class A { constructor(private readonly a: string, b: number, public c = 1) { b; } }"),
        "class A { constructor( a , b , c = 1) { this.a = a; this.c = c; b; } }"
    );
    assert_eq!(
        stripped("class A extends B { constructor(private a: string) { super(a)\n x() } }"),
        "class A extends B { constructor( a ) { super(a); this.a = a;\nx() } }"
    );
    assert!(
        strip(Path::new("a.ts"), "class A extends B {\n constructor(private a) { if (a) super(); } }")
            .unwrap_err()
            .starts_with("a.ts:2: ")
    );
}

#[test]
fn enums_become_objects() {
    let code = stripped("export const enum E {\n A = 1 << 1,\n B,\n C = A | B,\n 'd-e' = 'x',\n}");
    let lines: Vec<_> = code.lines().collect();
    assert!(lines[0].starts_with("export var E = ((E) => {"), "{code}");
    assert_eq!(lines[1], "$member(\"A\", 1 << 1),");
    assert_eq!(lines[2], "$member(\"B\", $last + 1),");
    assert_eq!(lines[3], "$member(\"C\", E.A | E.B),");
    assert_eq!(lines[4], "$member('d-e', 'x'),");
    assert_eq!(lines[5], "]; return E; })(E || {});");
}

#[test]
fn namespaces_become_objects() {
    assert_eq!(stripped("namespace N { export type T = 1 }"), ";");
    assert_eq!(
        stripped("namespace N { export const a = 1; export function f() {} }"),
        "var N = ((N) => { const a = 1; function f() {} ; N.a = a; N.f = f; return N; })(N || {});"
    );
}

#[test]
fn modules_of_node_can_be_imported_the_old_way() {
    assert_eq!(
        stripped("import fs = require('fs');\nexport = fs;"),
        "const fs = require('fs');\nexport default fs;"
    );
}

#[test]
fn a_syntax_error_names_its_line() {
    let error = strip(Path::new("dir/a.ts"), "const a = 1;\nconst b = ;\n").unwrap_err();
    assert!(error.starts_with("dir/a.ts:2: "), "{error}");
}
