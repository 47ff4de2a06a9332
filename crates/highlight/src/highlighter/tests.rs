//! Code as tokens, in languages that people use, and code that is hostile.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(language: &str, code: &str, expected: Expect) {
    let mut highlighter = Highlighter::new(language);
    let mut out = String::new();
    for line in code.split('\n') {
        highlighter.line(line, |class, token| match class {
            TokenClass::Plain => out.push_str(token),
            _ => out.push_str(&format!("{class:?}[{token}]")),
        });
        out.push('\n');
    }
    expected.assert_eq(&out);
}

#[test]
fn rust() {
    check(
        "rust",
        "/* a\nb */ pub fn f<'a>(s: &'a str) -> Vec<u8> { // x\n    println!(\"{s} \\n\", 'x', 0xff); Self::g(true)\n}",
        expect![[r#"
            Comment[/* a]
            Comment[b */] Keyword[pub] Keyword[fn] Function[f]<Type['a]>(s: &Type['a] Type[str]) -> Type[Vec]<Type[u8]> { Comment[// x]
                Function[println!](Literal["{s} \n"], Literal['x'], Number[0xff]); Keyword[Self]::g(Keyword[true])
            }
        "#]],
    );
}

#[test]
fn python() {
    check(
        "py",
        "class A(B):\n    def f(self, x=1):\n        \"\"\"doc\n        more\"\"\"\n        return not x and g(f\"{x}\") # no",
        expect![[r#"
        Keyword[class] Type[A](Type[B]):
            Keyword[def] Function[f](self, x=Number[1]):
                Comment["""doc]
        Comment[        more"""]
                Keyword[return] Keyword[not] x Keyword[and] Function[g](Keyword[f]Literal["]{x}Literal["]) Comment[# no]
    "#]],
    );
}

#[test]
fn javascript_and_typescript() {
    check(
        "js",
        "const f = async (x) => `a ${x} b`; // c\nnew Map().get(/a[b]/g)",
        expect![[r#"
        Keyword[const] Function[f] = Keyword[async] (x) Keyword[=>] Literal[`a ]${x}Literal[ b`]; Comment[// c]
        Keyword[new] Type[Map]().Function[get](Literal[/a[b]/]Keyword[g])
    "#]],
    );
    check(
        "ts",
        "export interface A { b?: string }\nlet x: number = 1;",
        expect![[r#"
        Keyword[export] Keyword[interface] Type[A] { b?: Type[string] }
        Keyword[let] x: Type[number] = Number[1];
    "#]],
    );
}

#[test]
fn data() {
    check(
        "json",
        "{ \"a\": 1, \"b\": [true, \"c\\n\"] }",
        expect![[r#"
        { Property["a"]: Number[1], Property["b"]: [Keyword[true], Literal["c\n"]] }
    "#]],
    );
    check(
        "toml",
        "[a]\nb = \"c\" # d",
        expect![[r#"
        [a]
        Property[b] = Literal["c"] Comment[# d]
    "#]],
    );
    check(
        "yaml",
        "a: b # c\n- d: 1",
        expect![[r#"
        Property[a]: Literal[b] Comment[# c]
        - Property[d]: Number[1]
    "#]],
    );
}

#[test]
fn shell() {
    check(
        "bash",
        "for f in *.rs; do echo \"$f ${HOME}\" | wc -l; done # x",
        expect![[r#"
            Keyword[for] f Keyword[in] *.rs; Keyword[do] Function[echo] Literal["]Property[$f]Literal[ ]Property[${HOME}]Literal["] | Function[wc] -l; Keyword[done] Comment[# x]
        "#]],
    );
}

#[test]
fn markup() {
    check(
        "html",
        "<a href=\"b\">c</a> <!-- d -->\n<script>let x = 1;</script>",
        expect![[r#"
        <Keyword[a] Property[href]=Literal["b"]>c</Keyword[a]> Comment[<!-- d -->]
        <Keyword[script]>Keyword[let] x = Number[1];</Keyword[script]>
    "#]],
    );
    check(
        "css",
        "a.b { color: red; } /* c */",
        expect![[r#"
        Keyword[a]Property[.b] { Property[color]: red; } Comment[/* c */]
    "#]],
    );
    check(
        "sql",
        "SELECT a FROM b WHERE c = 'd' -- e",
        expect![[r#"
        Keyword[SELECT] a Keyword[FROM] b Keyword[WHERE] c = Literal['d'] Comment[-- e]
    "#]],
    );
}

#[test]
fn unknown_languages_are_plain() {
    check(
        "no-such-language",
        "let x = 1;",
        expect![[r#"
        let x = 1;
    "#]],
    );
}

fn classes(highlighter: &mut Highlighter, line: &str) -> usize {
    let mut count = 0;
    highlighter.line(line, |class, _| count += usize::from(class != TokenClass::Plain));
    count
}

#[test]
fn a_long_line_is_plain_and_the_next_one_is_not() {
    let mut highlighter = Highlighter::new("rust");
    assert_eq!(classes(&mut highlighter, &format!("let x = \"{}\";", "a".repeat(MAX_LINE_BYTES))), 0);
    assert_eq!(classes(&mut highlighter, "let x = 1;"), 2);
}

#[test]
fn the_end_of_long_code_is_plain() {
    let mut highlighter = Highlighter::new("rust");
    let line = "let x = 1;";
    let colored = (0..MAX_CODE_BYTES).take_while(|_| classes(&mut highlighter, line) > 0).count();
    assert_eq!(colored, MAX_CODE_BYTES / (line.len() + 1));
}

/// Not by `line`: compiling the patterns of all languages would use up the budget of the other tests.
#[test]
fn strange_code_is_read_in_every_language() {
    let lines =
        ["", "(", "[{<(", "\"'`", "<a <b", "\\", "\u{0}", "é🙂", "/*", "<!--", "$({", "#", "@@", "%%"];
    for grammar in GRAMMARS.syntaxes() {
        let mut highlighter = Highlighter { state: Some(ParseState::new(grammar)), ..Highlighter::new("") };
        for line in lines {
            assert!(highlighter.parse(line).is_some(), "{} {line:?}", grammar.name);
        }
    }
}

proptest! {
    #[test]
    fn highlighting_keeps_the_text(code in "[a-z\"'`/*#<!\\-\\\\$ é\u{1f600}\n]{0,80}", language in 0usize..9) {
        let names = ["rust", "python", "sql", "html", "json", "css", "lisp", "text", "bash"];
        let mut highlighter = Highlighter::new(names[language]);
        for line in code.split('\n') {
            let (mut joined, mut last) = (String::new(), None);
            highlighter.line(line, |class, token| {
                assert_ne!(last.replace(class), Some(class));
                assert!(!token.is_empty());
                joined.push_str(token);
            });
            prop_assert_eq!(joined, line);
        }
    }
}
