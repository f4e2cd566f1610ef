// Two sides, machines or campaigns of one machine: the ratio of the times of each case that both have measured.
const inverse = (pair) => ({ ...pair, a: pair.b, b: pair.a, ratio: 1 / pair.ratio, low: pair.high && 1 / pair.high, high: pair.low && 1 / pair.low, verdict: { faster: "slower", slower: "faster" }[pair.verdict] ?? pair.verdict });

function comparisonState(choice) {
  const partners = (a) => [...new Set(study.pairs.filter((pair) => pair.a === a || pair.b === a).map((pair) => (pair.a === a ? pair.b : pair.a)))].sort((x, y) => x - y);
  const firstSides = study.sides.map((_, side) => side).filter((side) => partners(side).length);
  const a = firstSides.find((side) => study.sides[side] === choice.a) ?? mostShared(firstSides)?.a;
  const secondSides = a === undefined ? [] : partners(a);
  const b = secondSides.find((side) => study.sides[side] === choice.b) ?? (choice.a ? secondSides[0] : mostShared(firstSides)?.b);
  const both = study.pairs.filter((pair) => pair.a === a && pair.b === b).concat(study.pairs.filter((pair) => pair.a === b && pair.b === a).map(inverse));
  const systems = distinct(both, (pair) => study.cases[pair.case].workload);
  const system = systems.includes(choice.system) ? choice.system : "all";
  const rows = both.filter((pair) => system === "all" || study.cases[pair.case].workload === system);
  return { firstSides, secondSides, a, b, systems, system, rows };
}

// The pair of sides that share the most cases.
function mostShared(firstSides) {
  const counts = new Map();
  for (const { a, b } of study.pairs) counts.set(`${a} ${b}`, (counts.get(`${a} ${b}`) ?? 0) + 1);
  const [best] = [...counts].sort(([, x], [, y]) => y - x)[0] ?? [];
  if (!best || !firstSides.length) return undefined;
  const [a, b] = best.split(" ").map(Number);
  return { a, b };
}

function showComparison(section, choice) {
  const state = comparisonState(choice);
  const name = (side) => [study.sides[side], study.sides[side]];
  const status = section.querySelector("[data-status]");
  if (state.a === undefined) {
    status.textContent = "No case was measured on two machines or in two campaigns.";
    return;
  }
  const [a, b] = [study.sides[state.a], study.sides[state.b]];
  fill(section.querySelector("form"), [
    selection("a", "First", state.firstSides.map(name), a, (first) => choose("compare", { ...choice, a: first, b: undefined })),
    selection("b", "Second", state.secondSides.map(name), b, (second) => choose("compare", { ...choice, a, b: second })),
    selection("system", "System", [...state.systems, "all"], state.system, (system) => choose("compare", { ...choice, a, b, system })),
  ]);
  const words = distinct(state.rows, (pair) => pair.verdict).map((word) => `${state.rows.filter((pair) => pair.verdict === word).length} ${word}`);
  status.textContent = `${state.rows.length} cases; the first is ${words.join(", ")}.`;
  draw(section.querySelector("[data-chart]"), ratioChart(state.rows), `Ratios of ${a} over ${b}`);
  section.querySelector("[data-table]").replaceChildren(ratioTable(state.rows));
}

function ratioChart(rows) {
  const values = rows.map((pair) => ({ ...pair, system: study.cases[pair.case].workload, name: `${study.cases[pair.case].variant}, ${study.cases[pair.case].case}`, text: format.ratio(pair.ratio), interval: format.interval(pair.low, pair.high, threeDigits) }))
    .sort((x, y) => x.ratio - y.ratio).map((pair, rank) => ({ ...pair, rank }));
  const x = { field: "ratio", type: "quantitative", scale: { type: "log", nice: false, domain: [0.8 * Math.min(1, ...values.map((pair) => pair.ratio)), 1.25 * Math.max(1, ...values.map((pair) => pair.ratio))] }, axis: { title: "time on the first over time on the second", format: "~g" } };
  const y = { field: "rank", type: "quantitative", axis: null, scale: { nice: false } };
  const isShown = "datum.low && datum.high && datum.high < 100 * datum.low";
  return {
    data: { values },
    height: Math.min(420, 40 + 9 * values.length),
    encoding: { y, tooltip: [{ field: "name", title: "case" }, { field: "text", title: "ratio" }, { field: "interval", title: "99 %" }, { field: "verdict" }] },
    layer: [
      { data: { values: [{ one: 1 }] }, mark: { type: "rule", strokeDash: [4, 3] }, encoding: { x: { field: "one", type: "quantitative" }, y: null, tooltip: null } },
      { transform: [{ filter: isShown }], mark: { type: "rule", clip: true, strokeOpacity: 0.5 }, encoding: { x: { ...x, field: "low" }, x2: { field: "high" } } },
      { mark: { type: "point", filled: true, size: 45, opacity: 1 }, encoding: { x, color: { field: "system", type: "nominal", title: null }, shape: { field: "system", type: "nominal", title: null } } },
    ],
  };
}

function ratioTable(pairs) {
  const row = (pair) => study.cases[pair.case];
  return tableOf([
    { title: "System", cell: (pair) => row(pair).workload },
    { title: "Variant", cell: (pair) => link(`#case?row=${pair.case}`, row(pair).variant) },
    { title: "Case", cell: (pair) => row(pair).case.replaceAll(",", ", ") },
    { title: "Ratio", cell: (pair) => format.ratio(pair.ratio), value: (pair) => pair.ratio },
    { title: "99 % interval", cell: (pair) => format.interval(pair.low, pair.high, threeDigits), value: (pair) => pair.low },
    { title: "The first is", cell: (pair) => pair.verdict },
  ], pairs);
}
