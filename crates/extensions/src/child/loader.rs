//! Reads modules: TypeScript without its types, JavaScript, JSON, and CommonJS as modules.

use std::path::Path;

use rquickjs::loader::{ImportAttributes, Loader};
use rquickjs::module::Declared;
use rquickjs::{Ctx, Error, Module};

use super::strip::{declare_missing_imports, strip};
use super::{commonjs, runtime_library};

/// The largest file that is loaded as a module.
const MAX_FILE: u64 = 16 << 20;

pub(super) struct ModuleLoader;

impl Loader for ModuleLoader {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<Module<'js, Declared>> {
        if let Some(source) = runtime_library::source(name) {
            return Module::declare(ctx.clone(), name, source);
        }
        let failed = |reason: String| Error::new_loading_message(name, reason);
        let path = Path::new(name);
        let source = read(path).map_err(failed)?;
        let code = match extension(path) {
            "json" => format!("export default {source};"),
            "ts" | "tsx" | "mts" | "cts" => strip(path, &source).map_err(failed)?,
            _ if commonjs::is_commonjs(path, &source) => commonjs::as_module(ctx, name)?,
            _ => declare_missing_imports(path, source),
        };
        let module = Module::declare(ctx.clone(), name, code)?;
        let meta = module.meta()?;
        meta.set("url", format!("file://{name}"))?;
        meta.set("filename", name)?;
        meta.set("dirname", path.parent().map(|folder| folder.to_string_lossy().into_owned()))?;
        Ok(module)
    }
}

pub(super) fn extension(path: &Path) -> &str {
    path.extension().and_then(|extension| extension.to_str()).unwrap_or_default()
}

pub(super) fn read(path: &Path) -> Result<String, String> {
    let size = std::fs::metadata(path).map_err(|error| error.to_string())?.len();
    if size > MAX_FILE {
        return Err(format!("it is larger than {MAX_FILE} bytes"));
    }
    std::fs::read_to_string(path).map_err(|error| error.to_string())
}
