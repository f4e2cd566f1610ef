// What a reader has chosen, kept in the address: #view?name=value&name=value; several values are separated by `|`.
function readAddress() {
  const [view, query = ""] = location.hash.slice(1).split("?");
  return { view: view || "results", choice: Object.fromEntries(new URLSearchParams(query)) };
}

function addressOf(view, choice) {
  const entries = Object.entries(choice).filter(([, value]) => value !== undefined && value !== "");
  const query = new URLSearchParams(entries).toString();
  return query ? `#${view}?${query}` : `#${view}`;
}

// A change of the choice replaces the address, and the view is drawn again.
function choose(view, choice) {
  history.replaceState(null, "", addressOf(view, choice));
  show();
}

const valuesOf = (choice, name) => (choice[name] ? choice[name].split("|") : null);

// A labelled list; `options` are texts or [value, text].
function selection(name, title, options, value, onChange) {
  const pairs = options.map((option) => (Array.isArray(option) ? option : [option, option]));
  const select = element("select", { name }, ...pairs.map(([key, text]) => element("option", { value: key, selected: key === value }, text)));
  select.addEventListener("change", () => onChange(select.value));
  return element("label", {}, title, select);
}

// Boxes to tick, one for each value; none ticked means all.
function facet(name, values, chosenValues, onChange) {
  const boxes = values.map((value) => element("input", { type: "checkbox", value, name, checked: chosenValues?.includes(value) ?? false }));
  const update = () => onChange(boxes.filter((box) => box.checked).map((box) => box.value).join("|"));
  boxes.forEach((box) => box.addEventListener("change", update));
  const labels = boxes.map((box) => element("label", {}, box, ` ${box.value}`));
  const summary = element("summary", {}, `${name}: ${chosenValues ? chosenValues.join(", ") : "all"}`);
  return element("details", { open: openFacets.has(name) }, summary, element("fieldset", {}, ...labels));
}

// Facets stay open while the form is made again, and the element that had the focus gets it back.
const openFacets = new Set();
function fill(form, children) {
  const focus = form.contains(document.activeElement) ? document.activeElement : null;
  form.replaceChildren(...children);
  form.onsubmit = (event) => event.preventDefault();
  for (const details of form.querySelectorAll("details")) {
    const name = details.querySelector("input").name;
    details.addEventListener("toggle", () => openFacets[details.open ? "add" : "delete"](name));
  }
  if (!focus) return;
  const same = [...form.elements].find((other) => other.name === focus.name && (other.type !== "checkbox" || other.value === focus.value));
  same?.focus();
}
