// Which language the page is in, known before Gradio begins: this is a plain script and no module, so that it runs first.
// The choice of this browser (Settings, under Appearance) goes before the browser's own wishes. Our modules find what it
// found in `timbreLanguage`: {code, tag, known: [[code, name, direction]], choice, catalogue: promise of its catalogue}.
{
  const { known: given, catalogues } = document.currentScript.dataset;
  const known = JSON.parse(given);
  const primary = (tag) => tag.replace("_", "-").split("-")[0].toLowerCase();
  const find = (tag) => known.find(([code]) => primary(code) === primary(tag));
  const kept = () => {
    try {
      return localStorage.getItem("timbre-language");
    } catch {
      return null; // storage is blocked
    }
  };
  const choice = known.some(([code]) => code === kept()) ? kept() : null;
  const wishes = choice ? [choice] : [...(navigator.languages ?? [])];
  const wish = wishes.find(find) ?? "en";
  const [code, , direction] = find(wish);
  // of dates and of Gradio's own texts: with the region that the browser names, and as Gradio names Chinese
  const tag = code === "zh-Hans" ? "zh-CN" : choice ?? wish;
  document.documentElement.lang = code;
  document.documentElement.dir = direction;
  Object.defineProperty(navigator, "language", { get: () => tag, configurable: true });
  Object.defineProperty(navigator, "languages", { get: () => [tag], configurable: true });
  // what is in the page's first HTML must not set them back
  const catalogue = fetch(`${catalogues}/${code}.json`).then((answer) => (answer.ok ? answer.json() : null)).catch(() => null);
  globalThis.timbreLanguage = { code, tag, known, choice, catalogue };
}
