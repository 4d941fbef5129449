// The language of the page, which the server found in its cookie or in the browser's wishes: this is a plain script and no
// module, so that it runs before Gradio, whose own texts and dates follow it too. Our modules find it in `timbreLanguage`:
// {known: [[code, name]], choice: code or "", catalogue: promise of its catalogue}.
{
  const LONGEST_MS = 60_000; // where something has failed, what is there is seen
  // Gradio builds no page without a storage, which is blocked in frames of other sites and where cookies are: then what
  // the page remembers lasts until it is closed
  try {
    localStorage.getItem("");
  } catch {
    const kept = new Map();
    const storage = {
      getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, String(value)),
      removeItem: (key) => kept.delete(key), clear: () => kept.clear(),
    };
    Object.defineProperty(window, "localStorage", { value: storage });
  }
  const { code, direction, choice, known, catalogue } = document.currentScript.dataset;
  const primary = (tag) => tag.split("-")[0].toLowerCase();
  // with the region that the browser names, and as Gradio names Chinese
  const own = [...(navigator.languages ?? [])].find((tag) => primary(tag) === primary(code));
  const tag = code === "zh-Hans" ? "zh-CN" : choice || own || code;
  document.documentElement.lang = code;
  document.documentElement.dir = direction;
  Object.defineProperty(navigator, "language", { get: () => tag, configurable: true });
  Object.defineProperty(navigator, "languages", { get: () => [tag], configurable: true });
  // what is in the page's first HTML must not set them back
  const fetched = fetch(catalogue).then((answer) => (answer.ok ? answer.json() : null)).catch(() => null);
  globalThis.timbreLanguage = { known: JSON.parse(known), choice, catalogue: fetched };

  // the skeleton in the page's first HTML goes when the elements that it stands for are there
  const stands = () => {
    const one = document.getElementById("skeleton");
    const came = document.querySelectorAll("#convert-voices .card, #tabs > [role=tabpanel]:not(:has(#convert)) button");
    const isThere = document.querySelector("timbre-instrument > *, timbre-instrument[data-settled]") && [...came].some((one) => one.checkVisibility());
    if (isThere || (one && performance.now() > LONGEST_MS)) one?.remove();
    else requestAnimationFrame(stands);
    if (!one || one.style.colorScheme) return;
    const theme = localStorage.getItem("timbre-theme");
    one.style.colorScheme = theme in { light: 1, dark: 1 } ? theme : "light dark";
    one.toggleAttribute("data-own", localStorage.getItem("timbre-picture") !== null);
    one.toggleAttribute("data-elsewhere", location.hash.length > 1);
  };
  stands();
}
