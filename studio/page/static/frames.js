// Gradio's loading indicator keeps updating its timer after it is gone, at every frame and for ever (6.31): an idle page
// would keep a core busy. Such timers are therefore called only twice a second, as fast as anybody can read. This is a
// plain script and no module, so that it runs before Gradio.
{
  const atNextFrame = window.requestAnimationFrame.bind(window);
  const APART_MS = 500;
  const LONGEST = 120; // characters of a function that only sets the time and requests the next frame
  const counts = (text) => text.length < LONGEST && text.includes("performance.now()-") && text.includes("/1e3");
  window.requestAnimationFrame = (callback) =>
    counts(String(callback)) ? setTimeout(() => callback(performance.now()), APART_MS) : atNextFrame(callback);
}
