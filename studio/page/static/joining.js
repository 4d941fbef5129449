// all.js, which studio/page/served_files.py fills with the sources of all modules, each after those that it imports. Of each
// the browser makes a file of its own, under the name and with the lines that it has at the server.

/** @type {[string, string][]} */
const FILES = [];
/** @type {Record<string, string>} */
const made = {};
for (const [name, source] of FILES) {
  const address = new URL(name, import.meta.url).href;
  const text = source.replace(/(from|import) "\.\/([\w-]+\.js)"/g, (_, word, other) => `${word} "${made[other]}"`).replaceAll("import.meta.url", JSON.stringify(address));
  made[name] = URL.createObjectURL(new Blob([text, `\n//# sourceURL=${address}\n`], { type: "text/javascript" }));
}
Object.assign(globalThis, { timbreModules: made }); // for whoever wants one of them, and not a second one
await import(made["elements.js"]);
