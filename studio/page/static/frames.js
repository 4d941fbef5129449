// Gradio's sign that the page is loading goes on counting its own time after it is gone, at every frame and for ever
// (6.31): a page that does nothing would keep a core busy. What counts the time of something that waits is therefore
// called twice a second, which is what people can read. A script that is no module, so that it runs before Gradio.
{
  const atNextFrame = window.requestAnimationFrame.bind(window);
  const APART_MS = 500;
  const LONGEST = 120; // characters of the function that only sets the time and asks for the next frame
  const counts = (text) => text.length < LONGEST && text.includes("performance.now()-") && text.includes("/1e3");
  window.requestAnimationFrame = (callback) =>
    counts(String(callback)) ? setTimeout(() => callback(performance.now()), APART_MS) : atNextFrame(callback);
}
