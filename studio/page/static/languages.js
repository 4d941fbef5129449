// Translates what the page shows, Gradio's own parts included. All texts are made in English; here each is recognised
// where it is shown, by itself or by its template ("take {number} of {takes}"), as studio/languages/translation.py does.
//
// The catalogue (studio/page/catalogues.py): {code, plurals, comma, names, texts: {english: text}, templates: [[pattern, keyword,
// fields, forms, place of the counted field or -1]]}, the surest template first.
// Texts of users are not ours: elements with translate="no" stay as they are, and in a list of Gradio's with the class
// "names" the choices do. Texts that are drawn on a canvas go through `translated`.

const SHOWN = ["aria-label", "aria-description", "aria-valuetext", "title", "placeholder", "alt", "label", "data-label"];
const KEPT = "[translate=no], code, pre, script, style, .names :is([role=option], .token)";
const KEPT_TEXT = `textarea, ${KEPT}`;
const NO_NAMES = new Set(["All voices"]); // among the choices of a list with names
const LETTER = /\p{L}/u, WORD = /[\p{L}]{3,}/gu, FIELD = /\{(\w+)\}/g;
const NUMBER = /^[-+\u2212]?\d+(\.\d+)?$/;
const PLAIN = /^([-+\u2212~]?\d[\d.:]*( ?(s|ms|min|h|Hz|kHz|dB|%|ct|MB|GB|kB|LUFS))?|[A-G]#?-?\d)$/; // as in templates.py
const MEASURE = /^[-+\u2212~]?\d+\.\d+( ?(s|ms|min|h|Hz|kHz|dB|%|ct|MB|GB|kB|LUFS))?$/; // numbers, and numbers with a unit
const SENTENCE_END = /(?<=[.!?:;])\s+/g;
const DEEPEST = 4; // values in values
const MOST_KEPT = 4000; // results

/** The texts of the studio in one language. */
export class Translator {
  #texts;
  #templates = new Map(); // by keyword: [{rank, pattern, fields, forms, counted}]
  #comma; // between the parts of a list
  #names;
  #plurals;
  #rules;
  #mark;
  #results = new Map();

  constructor({ code, plurals, comma, names, texts, templates }) {
    this.#comma = comma;
    this.#texts = new Map(Object.entries(texts));
    templates.forEach(([pattern, keyword, fields, forms, counted], rank) => {
      const same = this.#templates.get(keyword) ?? [];
      same.push({ rank, pattern, keyword, fields, forms, counted });
      this.#templates.set(keyword, same);
    });
    this.#names = new Set(names);
    this.#plurals = plurals;
    this.#rules = new Intl.PluralRules(code);
    this.#mark = new Intl.NumberFormat(code, { numberingSystem: "latn" }).format(0.5)[1];
  }

  /** Return a text in the language; what is in no catalogue (names, other people's words) stays. */
  translate(text) {
    if (!LETTER.test(text)) return MEASURE.test(text.trim()) ? this.#number(text) : text;
    let result = this.#results.get(text);
    if (result === undefined) {
      const whole = text.replace(/\s+/g, " ").trim(); // as catalogues have them
      const found = this.#found(whole, 0) ?? (MEASURE.test(whole) ? this.#number(whole) : null);
      result = found === null ? text : text.match(/^\s*/)[0] + found + text.match(/\s*$/)[0];
      if (this.#results.size >= MOST_KEPT) this.#results.clear();
      this.#results.set(text, result);
    }
    return result;
  }

  #number(text) {
    return text.replace(".", this.#mark);
  }

  #found(text, depth) {
    const whole = this.#whole(text, depth);
    if (whole !== null || depth >= DEEPEST) return whole;
    const isList = () => this.#parts(text, " · ", " · ", depth) ?? this.#parts(text, ", ", this.#comma, depth);
    return this.#sentences(text, depth) ?? isList() ?? this.#labelled(text, depth);
  }

  #whole(text, depth) {
    return this.#texts.get(text) ?? (depth < DEEPEST ? this.#filled(text, depth) : null);
  }

  /** The text of the surest template that fits. */
  #filled(text, depth) {
    const words = [...new Set(text.match(WORD)), ""];
    const candidates = words.flatMap((word) => this.#templates.get(word) ?? []).sort((one, other) => one.rank - other.rank);
    for (const one of candidates) {
      one.expression ??= new RegExp(`^${one.pattern}$`);
      const values = one.expression.exec(text)?.slice(1);
      // what a template without a word says besides is too little to know it by
      if (!values || (!one.keyword && !values.every((value) => PLAIN.test(value)))) continue;
      const form = this.#form(one, values[one.counted]);
      return form.replace(FIELD, (field, name) => {
        const place = one.fields.indexOf(name);
        return place < 0 ? field : this.#value(name, values[place], depth + 1);
      });
    }
    return null;
  }

  #value(name, value, depth) {
    if (NUMBER.test(value)) return this.#number(value);
    if (this.#names.has(name.replace(/\d+$/, ""))) return value;
    return this.#found(value.trim(), depth) ?? (MEASURE.test(value) ? this.#number(value) : value);
  }

  #form({ forms }, count = "") {
    if (!NUMBER.test(count)) return forms.at(-1);
    const category = this.#rules.select(Math.abs(Number(count.replace("\u2212", "-"))));
    return forms[this.#plurals.indexOf(category)] ?? forms.at(-1);
  }

  /** Translate the longest known beginning of several sentences, and then the rest. */
  #sentences(text, depth) {
    for (const end of [...text.matchAll(SENTENCE_END)].reverse()) {
      const first = this.#whole(text.slice(0, end.index), depth);
      if (first === null) continue;
      const rest = text.slice(end.index + end[0].length);
      return `${first} ${this.#found(rest, depth) ?? rest}`;
    }
    return null;
  }

  /** Translate a known label before a colon, and then the rest. */
  #labelled(text, depth) {
    const [label, ...others] = text.split(": "), rest = others.join(": ");
    const known = others.length ? this.#whole(label, depth) : null;
    return known === null ? null : `${known}: ${this.#found(rest, depth + 1) ?? rest}`;
  }

  /** Translate those parts of a list that are known. */
  #parts(text, mark, markThere, depth) {
    const parts = text.split(mark);
    if (parts.length < 2) return null;
    const found = parts.map((part) => this.#found(part, depth + 1) ?? (MEASURE.test(part) ? this.#number(part) : null));
    return found.every((one) => one === null) ? null : found.map((one, place) => one ?? parts[place]).join(markThere);
  }
}

let translator = null;

/** Return a text in the language of the page. */
export function translated(text) {
  return translator?.translate(text) ?? text;
}

// ---- the document

const written = new WeakMap(); // what was written into a text, or into the attributes of an element

function showText(node) {
  const { data } = node;
  if (written.get(node) === data || !data.trim()) return;
  const text = translator.translate(data);
  if (text === data) return;
  written.set(node, text);
  node.data = text;
}

function showAttribute(element, name) {
  const now = element.getAttribute(name);
  const before = written.get(element) ?? {};
  if (!now || before[name] === now) return;
  const text = translator.translate(now);
  if (text === now) return;
  written.set(element, { ...before, [name]: text });
  element.setAttribute(name, text);
}

const isNoName = (text) => NO_NAMES.has(text?.trim());

function show(node) {
  if (node.nodeType === Node.TEXT_NODE) {
    if (node.parentElement && (!node.parentElement.closest(KEPT_TEXT) || isNoName(node.data))) showText(node);
    return;
  }
  if (node.nodeType !== Node.ELEMENT_NODE) return;
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
  for (let one = node; one; one = walker.nextNode()) {
    if (one.nodeType === Node.TEXT_NODE) show(one);
    else for (const name of one.getAttributeNames()) if (SHOWN.includes(name)) look(one, name);
  }
}

function look(element, name) {
  if (!element.closest(KEPT) || isNoName(element.getAttribute(name))) showAttribute(element, name);
}

function changed(records) {
  for (const { type, target, attributeName, addedNodes } of records) {
    if (type === "attributes") look(target, attributeName);
    else if (type === "characterData") show(target);
    else for (const node of addedNodes) show(node);
  }
}

/** Show the choice of Gradio's lists, which stands in an input, and return to Gradio the English text that it knows. */
function showChoices() {
  const { get, set } = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value");
  const english = new WeakMap();
  Object.defineProperty(HTMLInputElement.prototype, "value", {
    configurable: true,
    enumerable: true,
    get() {
      const now = get.call(this), known = english.get(this);
      return known?.shown === now ? known.value : now;
    },
    set(value) {
      const isOurs = this.role === "combobox" && typeof value === "string" && (!this.closest(".names") || isNoName(value));
      const shown = isOurs ? translator.translate(value) : value;
      if (isOurs) english.set(this, { value, shown });
      set.call(this, shown);
    },
  });
  for (const one of document.querySelectorAll("input[role=combobox]")) one.value = get.call(one);
}

/** Translate the document, now and whenever it changes. */
export function begin(catalogue) {
  if (!catalogue || !(Object.keys(catalogue.texts).length + catalogue.templates.length)) return;
  translator = new Translator(catalogue);
  showChoices();
  show(document.documentElement);
  const changes = { subtree: true, childList: true, characterData: true, attributes: true, attributeFilter: SHOWN };
  new MutationObserver(changed).observe(document, changes);
}

globalThis.timbreLanguage?.catalogue.then(begin);
