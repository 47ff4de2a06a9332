// Skills and instruction files, as far as the extension may read files.

import { requireModule } from "osier:commonjs.js";
import { environment } from "osier:context.js";
import { parseFrontmatter } from "osier:modules/pi-coding-agent/text.js";
import * as path from "osier:node/path.js";

const files = () => requireModule("osier:node/fs.js");
const NAMES_OF_INSTRUCTIONS = ["AGENTS.md", "CLAUDE.md"];

function entriesOf(folder) {
	try {
		return files().readdirSync(folder).sort();
	} catch {
		return [];
	}
}
const isFolder = (name) => {
	try {
		return files().statSync(name).isDirectory();
	} catch {
		return false;
	}
};

/** One skill, or why its file is none. */
function readSkill(filePath, source) {
	const baseDir = path.dirname(filePath);
	const { frontmatter } = parseFrontmatter(files().readFileSync(filePath, "utf8"));
	const { name = path.basename(baseDir), description } = frontmatter;
	if (!description) throw new Error("description is required");
	const sourceInfo = { path: filePath, source, scope: "temporary", origin: "top-level", baseDir };
	return { name: String(name), description: String(description), filePath, baseDir, sourceInfo, disableModelInvocation: frontmatter["disable-model-invocation"] === true };
}

/** The files of skills in a folder: its SKILL.md, or those below it and, at the top, other Markdown files. */
function skillFiles(folder, isTop = true) {
	const names = entriesOf(folder);
	if (names.includes("SKILL.md")) return [path.join(folder, "SKILL.md")];
	return names
		.filter((name) => !name.startsWith(".") && name !== "node_modules")
		.flatMap((name) => {
			const full = path.join(folder, name);
			if (isFolder(full)) return skillFiles(full, false);
			return isTop && name.endsWith(".md") ? [full] : [];
		});
}

export function loadSkillsFromDir({ dir, source = "path" }) {
	const found = { skills: [], diagnostics: [] };
	for (const file of skillFiles(dir)) {
		try {
			found.skills.push(readSkill(file, source));
		} catch (error) {
			found.diagnostics.push({ type: "warning", message: error.message, path: file });
		}
	}
	return found;
}

export function loadSkills({ cwd = environment().cwd, agentDir = environment().agentDir, skillPaths = [], includeDefaults = true } = {}) {
	const found = { skills: [], diagnostics: [] };
	const add = ({ skills, diagnostics }) => {
		for (const skill of skills) {
			const known = found.skills.find(({ name }) => name === skill.name);
			if (!known) found.skills.push(skill);
			else found.diagnostics.push({ type: "collision", message: `name "${skill.name}" collision`, path: skill.filePath, collision: { resourceType: "skill", name: skill.name, winnerPath: known.filePath, loserPath: skill.filePath } });
		}
		found.diagnostics.push(...diagnostics);
	};
	if (includeDefaults) {
		add(loadSkillsFromDir({ dir: path.join(agentDir, "skills"), source: "user" }));
		for (const folder of [".osier", ".agents"]) add(loadSkillsFromDir({ dir: path.join(cwd, folder, "skills"), source: "project" }));
	}
	for (const named of skillPaths) {
		const full = path.resolve(cwd, named);
		if (isFolder(full)) add(loadSkillsFromDir({ dir: full, source: "path" }));
		else {
			try {
				add({ skills: [readSkill(full, "path")], diagnostics: [] });
			} catch (error) {
				add({ skills: [], diagnostics: [{ type: "warning", message: error.message, path: full }] });
			}
		}
	}
	return found;
}

const escapeXml = (text) => text.replace(/[&<>"']/g, (character) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;" })[character]);

/** The list of skills that a system prompt contains. */
export function formatSkillsForPrompt(skills, tool = "read") {
	const shown = skills.filter(({ disableModelInvocation }) => !disableModelInvocation);
	if (!shown.length) return "";
	const item = ({ name, description, filePath }) => `  <skill>\n    <name>${escapeXml(name)}</name>\n    <description>${escapeXml(description)}</description>\n    <location>${escapeXml(filePath)}</location>\n  </skill>`;
	const reading = tool === "indirect" ? "Read" : `Use the ${tool} tool to read`;
	return `\n\nThese skills have instructions for special tasks. ${reading} the file of a skill when its description fits the task. Relative paths in it start at the folder of the file.\n\n<available_skills>\n${shown.map(item).join("\n")}\n</available_skills>`;
}

/** The instruction files of the user and of the folders from the root down to the project. */
export function loadProjectContextFiles({ cwd = environment().cwd, agentDir = environment().agentDir } = {}) {
	const folders = [];
	for (let folder = path.resolve(cwd); ; folder = path.dirname(folder)) {
		folders.unshift(folder);
		if (folder === path.dirname(folder)) break;
	}
	return [agentDir, ...folders].flatMap((folder) => {
		const names = entriesOf(folder);
		const name = NAMES_OF_INSTRUCTIONS.find((known) => names.includes(known));
		if (!name) return [];
		try {
			return [{ path: path.join(folder, name), content: files().readFileSync(path.join(folder, name), "utf8") }];
		} catch {
			return [];
		}
	});
}

/** Whether a project has something that is only used if it is trusted. */
export const hasTrustRequiringProjectResources = (cwd = environment().cwd) => entriesOf(path.join(cwd, ".osier")).length > 0;
