// The verdicts of a group with one verdict, both chosen by lists or by a link, which may also name a claim.
const isInGroup = (row, group) => !group || row.dataset.group === group || (group === "studies" && row.dataset.group !== "own");

function showVerdicts(section, choice) {
  const rows = [...section.querySelectorAll("#verdict-table tbody tr")];
  for (const select of section.querySelectorAll("[data-filter]")) {
    select.value = choice[select.name] ?? "";
    select.onchange = () => choose("verdicts", { ...choice, claim: undefined, [select.name]: select.value });
  }
  for (const row of rows) {
    row.hidden = !isInGroup(row, choice.group) || (Boolean(choice.verdict) && row.dataset.verdict !== choice.verdict);
    const isMarked = row.dataset.claim === choice.claim;
    row.classList.toggle("marked", isMarked);
    const why = row.querySelector(".why");
    if (isMarked && why) why.open = true;
  }
  section.querySelector(".filter [data-status]").textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length}`;
}
