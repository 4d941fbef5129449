// A lane that is dragged out of the window, into a folder or another program, is a file there.

const TAKES_FILES = "userAgentData" in navigator; // Chromium, which alone knows DownloadURL

/** Let this button be dragged as the file of a track. save(): called at the end where the browser knows no such files. */
export function draggedOut(button, { url, file }, save) {
  button.draggable = true;
  button.addEventListener("dragstart", ({ dataTransfer }) => {
    const { href, pathname } = new URL(url, location.href), suffix = pathname.split(".").at(-1);
    dataTransfer.effectAllowed = "copy";
    dataTransfer.setData("DownloadURL", `audio/${suffix}:${`${file}.${suffix}`.replaceAll(/[:\\/]/g, "-")}:${href}`);
    dataTransfer.setData("text/uri-list", href);
  });
  if (!TAKES_FILES) button.addEventListener("dragend", save);
}
