// The settings of both programs for a prepared model, `prepared/first` and `prepared/second`. Only the second one thinks.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const MODELS = ["first", "second"];

/** Writes pi's settings and returns its arguments and environment. `others` are further models: `[provider, id]`. */
export function configurePi(home, url, others = []) {
	mkdirSync(home, { recursive: true });
	const models = MODELS.map((id) => ({ id, name: id, reasoning: id === "second", input: ["text", "image"], contextWindow: 100_000, maxTokens: 4096 }));
	const provider = { baseUrl: url, api: "openai-completions", apiKey: "none", models };
	const further = others.map(([name, id]) => [name, { ...provider, models: [{ ...models[0], id, name: id }] }]);
	writeFileSync(join(home, "models.json"), JSON.stringify({ providers: { prepared: provider, ...Object.fromEntries(further) } }));
	// The package that makes images smaller is not installed.
	const settings = { retry: { baseDelayMs: 10 }, compaction: { keepRecentTokens: 20 }, images: { autoResize: false } };
	writeFileSync(join(home, "settings.json"), JSON.stringify(settings));
	const off = ["--no-extensions", "--no-skills", "--no-prompt-templates", "--no-themes", "--no-context-files", "--no-mcp", "--offline"];
	return { args: ["--model", "prepared/first", ...off], env: { PI_CODING_AGENT_DIR: home, PI_OFFLINE: "1" } };
}

/** Writes Osier's settings and returns its arguments and environment. */
export function configureOsier(home, url, others = []) {
	mkdirSync(home, { recursive: true });
	const thinking = (id) => (id === "second" ? '{ style = "effort", levels = ["off", "minimal", "low", "medium", "high"] }' : "false");
	const table = (id, name = "prepared") => `[[providers.${name}.models]]\nid = "${id}"\nname = "${id}"\nthinking = ${thinking(id)}\nimages = true\ncontext_window = 100000\nmax_output = 4096\n`;
	const provider = (name) => `[providers.${name}]\napi = "openai-completions"\nbase_url = "${url}"\n`;
	const further = others.map(([name, id]) => provider(name) + table(id, name));
	const settings = `[compaction]\nkeep_recent_tokens = 20\n`;
	writeFileSync(join(home, "config.toml"), settings + provider("prepared") + MODELS.map((id) => table(id)).join("") + further.join(""));
	return { args: ["--model", "prepared/first"], env: { OSIER_HOME: home } };
}
