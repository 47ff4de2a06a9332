//! The JavaScript library that the binary contains: the modules that extensions import from pi, TypeBox and Node, and what
//! builds `pi` and `ctx`.

macro_rules! library {
    ($($name:literal,)*) => {
        /// The names of all modules of the library.
        const NAMES: &[&str] = &[$($name,)*];

        /// The source of a module of the library, by its name with `osier:`.
        pub(crate) fn source(name: &str) -> Option<&'static str> {
            match name.strip_prefix("osier:")? {
                $($name => Some(include_str!(concat!("../../runtime/", $name))),)*
                _ => None,
            }
        }
    };
}

library! {
    "main.js",
    "lockdown.js",
    "primitives.js",
    "globals.js",
    "timers.js",
    "abort.js",
    "console.js",
    "api.js",
    "bus.js",
    "events.js",
    "context.js",
    "lifetime.js",
    "models.js",
    "providers.js",
    "session.js",
    "ui.js",
    "virtual-models.js",
    "theme.js",
    "screen.js",
    "overlays.js",
    "renderers.js",
    "editor.js",
    "tools.js",
    "commonjs.js",
    "modules/pi-coding-agent.js",
    "modules/pi-ai.js",
    "modules/pi-ai/names.js",
    "modules/pi-ai/stream.js",
    "modules/pi-coding-agent/built-in-tools.js",
    "modules/pi-coding-agent/components.js",
    "modules/pi-coding-agent/conversation.js",
    "modules/pi-coding-agent/diff.js",
    "modules/pi-coding-agent/file-session.js",
    "modules/pi-coding-agent/memory-session.js",
    "modules/pi-coding-agent/sdk.js",
    "modules/pi-coding-agent/settings.js",
    "modules/pi-coding-agent/skills.js",
    "modules/pi-coding-agent/summaries.js",
    "modules/pi-coding-agent/text.js",
    "modules/pi-coding-agent/unavailable.js",
    "modules/pi-tui.js",
    "modules/pi-tui/unavailable.js",
    "modules/pi-tui/boxes.js",
    "modules/pi-tui/colors.js",
    "modules/pi-tui/fuzzy.js",
    "modules/pi-tui/editor.js",
    "modules/pi-tui/input.js",
    "modules/pi-tui/keybindings.js",
    "modules/pi-tui/keys.js",
    "modules/pi-tui/lists.js",
    "modules/pi-tui/loader.js",
    "modules/pi-tui/markdown.js",
    "modules/pi-tui/text.js",
    "modules/pi-agent-core.js",
    "modules/typebox.js",
    "modules/typebox-builder.js",
    "modules/typebox-value.js",
    "node/assert.js",
    "node/async_hooks.js",
    "node/buffer.js",
    "node/child_process.js",
    "node/crypto.js",
    "node/encoding.js",
    "node/events.js",
    "node/fetch.js",
    "node/fs.js",
    "node/fs/promises.js",
    "node/intl.js",
    "node/module.js",
    "node/os.js",
    "node/path.js",
    "node/perf_hooks.js",
    "node/process.js",
    "node/readline.js",
    "node/stream.js",
    "node/stream/promises.js",
    "node/string_decoder.js",
    "node/timers.js",
    "node/timers/promises.js",
    "node/tty.js",
    "sidecar/abort.js",
    "sidecar/commonjs.js",
    "sidecar/loader.js",
    "sidecar/main.js",
    "sidecar/nothing.js",
    "sidecar/start.js",
    "node/url.js",
    "node/util.js",
}

/// The packages that extensions import by the names of pi. The old and the new scope mean the same.
const PACKAGES: &[(&str, &str)] = &[
    ("@earendil-works/pi-coding-agent", "osier:modules/pi-coding-agent.js"),
    ("@earendil-works/pi-agent-core", "osier:modules/pi-agent-core.js"),
    ("@earendil-works/pi-tui", "osier:modules/pi-tui.js"),
    ("@earendil-works/pi-ai", "osier:modules/pi-ai.js"),
    ("@earendil-works/pi-ai/compat", "osier:modules/pi-ai.js"),
    ("@earendil-works/pi-ai/models", "osier:modules/pi-ai.js"),
    ("@earendil-works/pi-ai/oauth", "osier:modules/pi-ai.js"),
    ("@earendil-works/pi-ai/providers/all", "osier:modules/pi-ai.js"),
    ("typebox", "osier:modules/typebox.js"),
    ("typebox/value", "osier:modules/typebox-value.js"),
    ("typebox/compile", "osier:modules/typebox-value.js"),
    ("typebox/compiler", "osier:modules/typebox-value.js"),
];

/// The modules of Node that exist here, without `node:`.
const NODE_MODULES: &[&str] = &[
    "assert",
    "async_hooks",
    "buffer",
    "child_process",
    "crypto",
    "events",
    "fs",
    "fs/promises",
    "module",
    "os",
    "path",
    "perf_hooks",
    "process",
    "readline",
    "stream",
    "stream/promises",
    "string_decoder",
    "timers",
    "timers/promises",
    "tty",
    "url",
    "util",
];

/// The modules that extensions import from pi's packages and TypeBox, and their parts, with `osier:`.
pub(super) fn package_modules() -> Vec<String> {
    NAMES.iter().filter(|name| name.starts_with("modules/")).map(|name| format!("osier:{name}")).collect()
}

/// The module of the library that an extension means with `name`.
pub(crate) fn find(name: &str) -> Option<String> {
    if source(name).is_some() {
        return Some(name.to_owned());
    }
    let renamed = [("@mariozechner/", "@earendil-works/"), ("@sinclair/typebox", "typebox")];
    let current = renamed.iter().find_map(|(old, new)| Some(format!("{new}{}", name.strip_prefix(old)?)));
    let current = current.as_deref().unwrap_or(name);
    if let Some((_, module)) = PACKAGES.iter().find(|(package, _)| *package == current) {
        return Some((*module).to_owned());
    }
    let node = name.strip_prefix("node:").unwrap_or(name);
    NODE_MODULES.contains(&node).then(|| format!("osier:node/{node}.js"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_to_a_source() {
        let node = NODE_MODULES.iter().flat_map(|name| [(*name).to_owned(), format!("node:{name}")]);
        let packages = PACKAGES.iter().map(|(name, _)| (*name).to_owned());
        for name in node.chain(packages) {
            assert!(find(&name).is_some_and(|module| source(&module).is_some()), "{name}");
        }
    }

    #[test]
    fn old_scopes_mean_the_same_modules() {
        assert_eq!(find("@mariozechner/pi-tui"), find("@earendil-works/pi-tui"));
        assert_eq!(find("@sinclair/typebox/value"), find("typebox/value"));
        assert_eq!(find("left-pad"), None);
    }
}
