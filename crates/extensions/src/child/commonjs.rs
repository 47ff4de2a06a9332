//! CommonJS: files that use `require` and `module.exports`. `runtime/commonjs.js` has the cache and calls them.

use std::path::Path;
use std::rc::Rc;

use rquickjs::context::EvalOptions;
use rquickjs::prelude::Func;
use rquickjs::{Ctx, Exception, Function, Module, Object, Value};

use super::loader::{extension, read};
use super::primitives::RuntimeState;
use super::resolve::resolve;
use super::strip::strip;

/// Whether a JavaScript file is CommonJS: by its extension, its `package.json`, or what it contains.
pub(super) fn is_commonjs(path: &Path, source: &str) -> bool {
    match extension(path) {
        "cjs" | "cts" => return true,
        "mjs" | "mts" => return false,
        _ => {}
    }
    let has_module_syntax = source.lines().any(|line| {
        let line = line.trim_start();
        line.starts_with("import ")
            || line.starts_with("import{")
            || line.starts_with("export ")
            || line.starts_with("export{")
    });
    let uses_require = ["module.exports", "exports.", "require("].iter().any(|word| source.contains(word));
    uses_require && !has_module_syntax
}

/// What a CommonJS file exports, and the names in it. The file runs now, because only then they are known.
pub(super) fn exports<'js>(ctx: &Ctx<'js>, name: &str) -> rquickjs::Result<(Value<'js>, Vec<String>)> {
    let library = import_now(ctx.clone(), "osier:commonjs.js".to_owned())?;
    let names: Vec<String> = library.get::<_, Function<'js>>("exportedNames")?.call((name,))?;
    let exported = library.get::<_, Function<'js>>("requireFile")?.call((name,))?;
    Ok((exported, names))
}

/// The property of `import.meta` from which [`module_of_value`] takes the value.
pub(super) const EXPORTED: &str = "exported";

/// The code of a module that exports a value, and what has these names in it.
pub(super) fn module_of_value(names: &[String]) -> String {
    let mut code = format!(
        "const exported = import.meta.{EXPORTED};\ndelete import.meta.{EXPORTED};\nexport default exported;\n"
    );
    for name in names.iter().filter(|name| is_identifier(name)) {
        code.push_str(&format!("const $_{name} = exported.{name}; export {{ $_{name} as {name} }};\n"));
    }
    code
}

fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    let starts = chars.next().is_some_and(|first| first.is_ascii_alphabetic() || "_$".contains(first));
    starts && chars.all(|c| c.is_ascii_alphanumeric() || "_$".contains(c)) && name != "default"
}

/// `resolve(base, name)` and `readSource(path)`, for `require`.
pub(super) fn install(native: &Object<'_>, state: &Rc<RuntimeState>) -> rquickjs::Result<()> {
    let own = state.clone();
    let find = move |ctx: Ctx<'_>, base: String, name: String| {
        // `require` is for files. A module of the library as the base could load private ones.
        let found = match base.starts_with('/') {
            true => resolve(&own, &base, &name),
            false => Err(format!("Cannot find module '{name}'")),
        };
        found.map_err(|reason| Exception::throw_message(&ctx, &reason))
    };
    native.set("resolve", Func::from(find))?;
    let own = state.clone();
    let read_source = move |ctx: Ctx<'_>, name: String| {
        let path = Path::new(&name);
        let source = own.check_root(path).and_then(|()| read(&own, path));
        let code = source.and_then(|source| match extension(path) {
            "ts" | "tsx" | "cts" => strip(path, &source),
            _ => Ok(source),
        });
        code.map_err(|reason| Exception::throw_message(&ctx, &reason))
    };
    native.set("readSource", Func::from(read_source))?;
    native.set("importNow", Func::from(import_now))?;
    native.set("compileFunction", Func::from(compile))
}

/// The exports of a module of the library. It is evaluated before this returns, because none of them waits.
fn import_now<'js>(ctx: Ctx<'js>, name: String) -> rquickjs::Result<Object<'js>> {
    let code = format!("import * as all from {};\nexport {{ all }};", serde_json::json!(name));
    let (module, promise) = Module::declare(ctx, format!("osier:now/{name}"), code)?.eval()?;
    promise.finish::<()>()?;
    module.get("all")
}

/// The function that runs a CommonJS file. The first line of the file stays the first line.
fn compile<'js>(ctx: Ctx<'js>, name: String, source: String) -> rquickjs::Result<Function<'js>> {
    let source = source.strip_prefix("#!").map_or(source.clone(), |rest| format!("//{rest}"));
    let code = format!("(function (exports, require, module, __filename, __dirname) {{{source}\n}})");
    let mut options = EvalOptions::default();
    (options.strict, options.filename) = (false, Some(name));
    ctx.eval_with_options(code, options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commonjs_is_recognized_by_its_content() {
        let js = Path::new("a.js");
        assert!(is_commonjs(js, "exports.a = 1;\n"));
        assert!(is_commonjs(js, "const a = require('b');\n"));
        assert!(!is_commonjs(js, "import a from 'b';\nconst text = 'module.exports';\n"));
        assert!(!is_commonjs(js, "export default 1;\n"));
        assert!(is_commonjs(Path::new("a.cjs"), ""));
        assert!(!is_commonjs(Path::new("a.mjs"), "exports.a = 1"));
    }
}
