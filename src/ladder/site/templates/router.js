// One view at a time, named by the address.
const VIEWS = { results: showVerdicts, explore: showExplorer, case: showCase, compare: showComparison, roofline: showRoofline, learning: showLearning };
let shownView = null;

// A link may lead to a part of a view or a row of it; a change of a choice leaves the window where it is.
function show(isLink = false) {
  const { view: requestedView, choice } = readAddress();
  const anchor = document.getElementById(requestedView);
  const section = anchor?.closest("[data-view]") ?? document.getElementById("results");
  const isNew = shownView !== section.id;
  shownView = section.id;
  for (const other of document.querySelectorAll("[data-view]")) other.hidden = other !== section;
  for (const item of document.querySelectorAll("nav a")) {
    if (item.hash === `#${section.id}`) item.setAttribute("aria-current", "page");
    else item.removeAttribute("aria-current");
  }
  document.title = `ladder: ${section.querySelector("h1").textContent}`;
  VIEWS[section.id]?.(section, choice);
  if (anchor?.tagName === "DETAILS") anchor.open = true;
  if ((isNew || isLink) && anchor !== section && anchor) (section.querySelector(".marked") ?? anchor).scrollIntoView();
  else if (isNew) window.scrollTo(0, 0);
}

for (const table of document.querySelectorAll("table[data-sortable]")) sortable(table);
// Inside Snakemake's report the documents are elsewhere.
if (location.pathname.includes("/data/raw/")) document.querySelector("[data-documents]")?.remove();
document.querySelector("[data-skip]").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main").focus();
});
window.addEventListener("hashchange", () => show(true));
let resizing;
let width = window.innerWidth;
window.addEventListener("resize", () => {
  clearTimeout(resizing);
  resizing = setTimeout(() => {
    if (window.innerWidth !== width) show();
    width = window.innerWidth;
  }, 200);
});
show();
