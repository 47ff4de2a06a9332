// Fuzzy matching: all characters of a query in order, the closer together the better. Lower scores are better.

export function fuzzyMatch(query, text) {
	const [wanted, candidate] = [query.toLowerCase(), text.toLowerCase()];
	if (!wanted) return { matches: true, score: 0 };
	let at = -1;
	let score = 0;
	for (const char of wanted) {
		const found = candidate.indexOf(char, at + 1);
		if (found < 0) return { matches: false, score: 0 };
		const isWordStart = found === 0 || /[\s\-_./:]/.test(candidate[found - 1]);
		score += found - at - 1;
		if (found === at + 1) score -= 5;
		if (isWordStart) score -= 10;
		score += found * 0.1;
		at = found;
	}
	return { matches: true, score };
}

/** The items that match all words of a query, best first. */
export function fuzzyFilter(items, query, getText) {
	const words = query.trim().split(/\s+/).filter(Boolean);
	if (!words.length) return items;
	const scored = [];
	for (const item of items) {
		const results = words.map((word) => fuzzyMatch(word, getText(item)));
		if (results.every(({ matches }) => matches)) {
			scored.push({ item, score: results.reduce((sum, { score }) => sum + score, 0) });
		}
	}
	return scored.sort((a, b) => a.score - b.score).map(({ item }) => item);
}
