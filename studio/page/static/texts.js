// Texts for people, in the page's language: `tr("Take {number}", { number })` marks one where it is written.
//
// The catalogue (studio/page/catalogues.py): {code, plurals, texts: {template: [a form, or one for each plural]}}. What it
// lacks is in English. Texts that the server sends are in the language already.

const FIELD = /\{(\w+)\}/g;
const { code, plurals, texts } = (await globalThis.timbreLanguage?.catalogue) ?? { code: "en", plurals: ["one", "other"], texts: {} };
const rules = new Intl.PluralRules(code);
const MARK = new Intl.NumberFormat(code, { numberingSystem: "latn" }).format(0.5)[1];

/** A number as the language writes it, with so many digits after the mark. */
class Numeral {
  constructor(value, digits, plus = "") {
    this.value = value;
    this.written = (value > 0 ? plus : "") + (digits === undefined ? String(value) : value.toFixed(digits));
  }

  toString() {
    return this.written.replace("-", "\u2212").replace(".", MARK);
  }
}

/** Return a number with so many digits after the decimal mark, as the language writes it. */
export function fixed(value, digits) {
  return new Numeral(value, digits);
}

/** Return such a number with its sign, also where it is positive. */
export function signed(value, digits) {
  return new Numeral(value, digits, "+");
}

/** Return a text in the language, its {fields} filled with values. */
export function tr(template, values = {}) {
  return filled(texts[template]?.at(-1) ?? template, values);
}

/** Return a text that counts: the first value says how many. */
export function ntr(one, other, values) {
  const first = Object.values(values)[0], count = Math.abs(first?.value ?? Number(first));
  const forms = texts[one] ?? [count === 1 ? one : other];
  return filled(forms[plurals.indexOf(rules.select(count))] ?? forms.at(-1), values);
}

function filled(template, values) {
  return template.replace(FIELD, (field, name) => (name in values ? String(said(values[name])) : field));
}

function said(value) {
  return typeof value === "number" ? new Numeral(value) : value;
}
