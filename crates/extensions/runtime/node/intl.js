// The part of Intl that extensions use: Segmenter, and numbers and dates in American English.

import { native, parse } from "osier:primitives.js";

class Segments {
	#text;
	#granularity;
	constructor(text, granularity) {
		this.#text = text;
		this.#granularity = granularity;
	}
	#all() {
		const isWord = this.#granularity === "word";
		return parse(native.text.segments(this.#text, this.#granularity)).map(([index, segment, isWordLike]) =>
			isWord ? { segment, index, input: this.#text, isWordLike } : { segment, index, input: this.#text },
		);
	}
	containing(index = 0) {
		return this.#all().findLast((part) => part.index <= index && index < part.index + part.segment.length);
	}
	[Symbol.iterator]() {
		return this.#all()[Symbol.iterator]();
	}
}
class Segmenter {
	#granularity;
	constructor(_locales, options = {}) {
		this.#granularity = options.granularity ?? "grapheme";
	}
	segment(text) {
		return new Segments(String(text), this.#granularity);
	}
	resolvedOptions() {
		return { locale: "en-US", granularity: this.#granularity };
	}
}

const group = (digits) => digits.replace(/\B(?=(\d{3})+(?!\d))/g, ",");

class NumberFormat {
	#options;
	constructor(_locales, options = {}) {
		this.#options = options;
		this.format = (value) => this.#format(value);
	}
	#format(value) {
		const { style, currency, notation, useGrouping = true } = this.#options;
		let number = Number(value);
		let suffix = "";
		if (notation === "compact") {
			const step = Math.abs(number) >= 1e9 ? [1e9, "B"] : Math.abs(number) >= 1e6 ? [1e6, "M"] : Math.abs(number) >= 1e3 ? [1e3, "K"] : [1, ""];
			number /= step[0];
			suffix = step[1];
		}
		if (style === "percent") number *= 100;
		if (!Number.isFinite(number)) return Number.isNaN(number) ? "NaN" : number > 0 ? "∞" : "-∞";
		const fallback = style === "currency" ? 2 : style === "percent" ? 0 : notation === "compact" ? (Math.abs(number) < 100 && suffix ? 1 : 0) : 3;
		const least = this.#options.minimumFractionDigits ?? (style === "currency" ? 2 : 0);
		const most = Math.max(least, this.#options.maximumFractionDigits ?? fallback);
		const [whole, fraction = ""] = Math.abs(number).toFixed(most).split(".");
		const kept = fraction.replace(/0+$/, "").padEnd(least, "0");
		const sign = number < 0 ? "-" : "";
		const symbol = style === "currency" ? ({ USD: "$", EUR: "€", GBP: "£", JPY: "¥" }[currency] ?? `${currency} `) : "";
		return `${sign}${symbol}${useGrouping ? group(whole) : whole}${kept ? `.${kept}` : ""}${suffix}${style === "percent" ? "%" : ""}`;
	}
	resolvedOptions() {
		return { locale: "en-US", ...this.#options };
	}
}

const MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const two = (number) => String(number).padStart(2, "0");

class DateTimeFormat {
	#options;
	constructor(_locales, options = {}) {
		this.#options = options;
		this.format = (value) => this.#format(value === undefined ? new Date() : new Date(value));
	}
	#format(date) {
		const { dateStyle, timeStyle, hour12 = true } = this.#options;
		let { weekday, year, month, day, hour, minute, second } = this.#options;
		if (dateStyle) [year, month, day] = ["numeric", dateStyle === "short" ? "numeric" : dateStyle === "medium" ? "short" : "long", "numeric"];
		if (dateStyle === "full") weekday = "long";
		if (timeStyle) [hour, minute, second] = ["numeric", "2-digit", timeStyle === "short" ? undefined : "2-digit"];
		if (!weekday && !year && !month && !day && !hour && !minute && !second) [year, month, day] = ["numeric", "numeric", "numeric"];
		const utc = this.#options.timeZone === "UTC";
		const get = (name) => date[`get${utc ? "UTC" : ""}${name}`]();
		const monthIndex = get("Month");
		const isText = month === "long" || month === "short";
		const dayText = day && (day === "2-digit" ? two(get("Date")) : String(get("Date")));
		const yearText = year && (year === "2-digit" ? two(get("FullYear") % 100) : String(get("FullYear")));
		const monthText = month && (isText ? MONTHS[monthIndex].slice(0, month === "short" ? 3 : undefined) : month === "2-digit" ? two(monthIndex + 1) : String(monthIndex + 1));
		const dayName = weekday && DAYS[get("Day")].slice(0, weekday === "long" ? undefined : 3);
		const calendar = isText ? [[monthText, dayText].filter(Boolean).join(" "), yearText].filter(Boolean).join(", ") : [monthText, dayText, yearText].filter(Boolean).join("/");
		const hours = get("Hours");
		const shown = hour12 ? hours % 12 || 12 : hours;
		const clock = [hour && (hour === "2-digit" || !hour12 ? two(shown) : String(shown)), minute && two(get("Minutes")), second && two(get("Seconds"))].filter(Boolean).join(":");
		const time = clock && hour && hour12 ? `${clock} ${hours < 12 ? "AM" : "PM"}` : clock;
		return [[dayName, calendar].filter(Boolean).join(", "), time].filter(Boolean).join(", ");
	}
	formatToParts(date) {
		return [{ type: "literal", value: this.format(date) }];
	}
	resolvedOptions() {
		return { locale: "en-US", calendar: "gregory", numberingSystem: "latn", timeZone: this.#options.timeZone ?? "UTC" };
	}
}

class Collator {
	#options;
	constructor(_locales, options = {}) {
		this.#options = options;
		this.compare = (a, b) => this.#compare(String(a), String(b));
	}
	#compare(a, b) {
		const fold = (text) => (this.#options.sensitivity === "base" || this.#options.sensitivity === "accent" ? text.toLowerCase() : text);
		if (!this.#options.numeric) return fold(a).localeCompare(fold(b));
		const [x, y] = [fold(a), fold(b)].map((text) => text.match(/\d+|\D+/g) ?? []);
		for (let at = 0; at < Math.min(x.length, y.length); at += 1) {
			const isNumber = /^\d/.test(x[at]) && /^\d/.test(y[at]);
			const order = isNumber ? Number(x[at]) - Number(y[at]) : x[at].localeCompare(y[at]);
			if (order) return Math.sign(order);
		}
		return Math.sign(x.length - y.length);
	}
}
class PluralRules {
	select(number) {
		return number === 1 ? "one" : "other";
	}
}
class RelativeTimeFormat {
	format(value, unit) {
		const name = String(unit).replace(/s$/, "");
		const count = Math.abs(value);
		const text = `${group(String(count))} ${name}${count === 1 ? "" : "s"}`;
		return value < 0 ? `${text} ago` : `in ${text}`;
	}
}
class ListFormat {
	#word;
	constructor(_locales, options = {}) {
		this.#word = options.type === "disjunction" ? "or" : "and";
	}
	format(list) {
		const items = [...list];
		if (items.length < 3) return items.join(` ${this.#word} `);
		return `${items.slice(0, -1).join(", ")}, ${this.#word} ${items.at(-1)}`;
	}
}

export const Intl = { Segmenter, NumberFormat, DateTimeFormat, Collator, PluralRules, RelativeTimeFormat, ListFormat, getCanonicalLocales: () => ["en-US"] };
