// Light or dark as chosen in Settings of the page, which keeps it in this browser; and a short list on a phone.
try {
  const theme = localStorage.getItem("timbre-theme");
  if (theme === "light" || theme === "dark") document.documentElement.style.colorScheme = theme;
} catch {
  // storage is blocked: as the system has it
}
addEventListener("DOMContentLoaded", () => {
  if (innerWidth < 800) document.querySelector("nav details").open = false;
});
