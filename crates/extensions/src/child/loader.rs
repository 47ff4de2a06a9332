//! Reads modules: TypeScript without its types, JavaScript, JSON, and CommonJS as modules.

use std::path::Path;
use std::rc::Rc;

use rquickjs::loader::{ImportAttributes, Loader};
use rquickjs::module::Declared;
use rquickjs::{CatchResultExt, Ctx, Error, Module};

use super::primitives::RuntimeState;
use super::strip::{declare_missing_imports, strip};
use super::{commonjs, runtime_library};

/// The largest file that is loaded as a module.
const MAX_FILE: u64 = 16 << 20;

pub(super) struct ModuleLoader {
    state: Rc<RuntimeState>,
}

impl ModuleLoader {
    pub(super) fn new(state: Rc<RuntimeState>) -> ModuleLoader {
        ModuleLoader { state }
    }

    /// QuickJS never ends the import of a module that imports one without `await` that waited for another one, so all of them
    /// get one.
    fn finish(&self, path: &Path, code: String) -> String {
        if self.state.awaits(path) { format!("{code}\n;await undefined;") } else { code }
    }
}

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
        let source = read(&self.state, path).map_err(failed)?;
        let (code, exported) = match extension(path) {
            "json" => {
                let value = ctx.json_parse(source).catch(ctx).map_err(|error| failed(error.to_string()))?;
                (commonjs::module_of_value(&[]), Some(value))
            }
            "ts" | "tsx" | "mts" | "cts" => (self.finish(path, strip(path, &source).map_err(failed)?), None),
            _ if commonjs::is_commonjs(path, &source) => {
                let (exported, names) = commonjs::exports(ctx, name)?;
                (commonjs::module_of_value(&names), Some(exported))
            }
            _ => (self.finish(path, declare_missing_imports(path, source)), None),
        };
        let module = Module::declare(ctx.clone(), name, code)?;
        let meta = module.meta()?;
        if let Some(exported) = exported {
            meta.set(commonjs::EXPORTED, exported)?;
        }
        meta.set("url", format!("file://{name}"))?;
        meta.set("filename", name)?;
        meta.set("dirname", path.parent().map(|folder| folder.to_string_lossy().into_owned()))?;
        Ok(module)
    }
}

pub(super) fn extension(path: &Path) -> &str {
    path.extension().and_then(|extension| extension.to_str()).unwrap_or_default()
}

/// The source of a file that belongs to the extension and was inspected.
pub(super) fn read(state: &RuntimeState, path: &Path) -> Result<String, String> {
    let size = std::fs::metadata(path).map_err(|error| error.to_string())?.len();
    if size > MAX_FILE {
        return Err(format!("it is larger than {MAX_FILE} bytes"));
    }
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    state.check_code(path, &bytes)?;
    String::from_utf8(bytes).map_err(|_| format!("{} is not UTF-8", path.display()))
}
