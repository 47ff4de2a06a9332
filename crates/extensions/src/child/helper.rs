//! What a Node process with an extension asks of its helper, a process like this one: modules of the library, TypeScript without
//! its types, and text as a terminal shows it.

use std::path::PathBuf;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::probe::{self, ProbeParams};
use super::{handler_parameter, highlight, markdown, resolve, runtime_library, strip, text};

/// The answer to a request, or `None` if the method is not one of the helper's.
pub(super) fn answer(method: &str, params: &RawValue) -> Option<Result<Value, String>> {
    Some(match method {
        "librarySource" => read(params).map(|name: String| json!(runtime_library::source(&name))),
        "libraryModule" => read(params).map(|name: String| json!(runtime_library::find(&name))),
        "libraryModules" => Ok(json!(runtime_library::package_modules())),
        "findModule" => read(params).map(|Import { base, name }| json!(resolve::find_file(&base, &name))),
        "strip" => {
            read(params).and_then(|Source { path, source }| strip::strip(&path, &source).map(Value::String))
        }
        "isContext" => read(params).map(|handler: String| json!(handler_parameter::is_context(&handler))),
        "declareMissing" => {
            read(params).map(|Source { path, source }| json!(strip::declare_missing_imports(&path, source)))
        }
        "text" => read(params).and_then(text_function),
        "probe" => read(params).map(|params: ProbeParams| json!(probe::probe(&params))),
        _ => return None,
    })
}

fn read<T: DeserializeOwned>(params: &RawValue) -> Result<T, String> {
    serde_json::from_str(params.get()).map_err(|error| error.to_string())
}

#[derive(Debug, Deserialize)]
struct Import {
    base: String,
    name: String,
}

#[derive(Debug, Deserialize)]
struct Source {
    path: PathBuf,
    source: String,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "name", content = "args", rename_all = "camelCase")]
enum TextFunction {
    Width((String,)),
    Truncate(String, usize, String, bool),
    Slice(String, usize, usize, bool),
    Wrap(String, usize),
    Markdown((String,)),
    Highlight(String, String),
}

/// The functions of `native.text` that Node lacks.
fn text_function(function: TextFunction) -> Result<Value, String> {
    Ok(match function {
        TextFunction::Width((value,)) => json!(text::width(&value)),
        TextFunction::Truncate(value, max, ellipsis, pad) => {
            json!(text::truncate(&value, max, &ellipsis, pad))
        }
        TextFunction::Slice(value, start, length, strict) => {
            json!(text::slice(&value, start, length, strict))
        }
        TextFunction::Wrap(value, max) => json!(text::wrap(&value, max)),
        TextFunction::Markdown((value,)) => json!(markdown::parse(&value)),
        TextFunction::Highlight(code, language) => json!(highlight::tokens(&code, &language)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::to_raw;

    fn answered(method: &str, params: Value) -> Value {
        answer(method, &to_raw(&params)).unwrap().unwrap()
    }

    #[test]
    fn node_gets_text_functions_and_stripped_sources() {
        assert_eq!(answered("text", json!({ "name": "width", "args": ["日本"] })), 4);
        assert_eq!(answered("text", json!({ "name": "wrap", "args": ["a b", 1] })), json!(["a", "b"]));
        let code = json!({ "path": "/x/a.js", "source": "import { Text, Absent as B } from '@earendil-works/pi-tui';" });
        assert_eq!(answered("declareMissing", code), "import { Text } from '@earendil-works/pi-tui'; var B;");
        assert_eq!(answered("libraryModule", json!("@mariozechner/pi-tui")), "osier:modules/pi-tui.js");
        let code = answered("strip", json!({ "path": "/x/a.ts", "source": "const a: number = 1;" }));
        assert_eq!(code, "const a         = 1;");
        assert!(answer("load", &to_raw(&json!({}))).is_none());
    }
}
