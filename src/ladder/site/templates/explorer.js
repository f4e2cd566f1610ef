// The explorer: the cases of a system by machine, variant, sizes and tuning; a chart, and a table that sorts.
const MAX_BARS = 40; // more would fill several screens
const MEASURES = {
  time: { title: "time", format: format.time, of: (row) => [row.seconds, row.low, row.high] },
  flops: { title: "FLOP/s", format: format.flops, of: (row) => rates(row, row.flops) },
  bandwidth: { title: "B/s", format: format.bandwidth, of: (row) => rates(row, row.bytes) },
  share: { title: "share of the ceiling", format: format.percent, of: (row) => rates(row, row.share ? row.share * row.seconds : 0) },
};
const rates = (row, work) => (work ? [work / row.seconds, row.high && work / row.high, row.low && work / row.low] : [null, null, null]);
const PLAIN_COLUMNS = { machine: (row) => row.machine, variant: (row) => row.variant };
const valueOf = (name) => PLAIN_COLUMNS[name] ?? ((row) => row.values[name]);
const rowName = (row, names) => [row.variant, ...names.map((name) => [name, row.values[name]]).filter(([, value]) => value !== undefined).map(([name, value]) => `${name} ${value}`)].join(", ");

function explorerState(choice) {
  const systems = distinct(study.cases, (row) => row.workload);
  const system = systems.includes(choice.system) ? choice.system : systems[0];
  const ofSystem = study.cases.filter((row) => row.workload === system);
  const questions = distinct(ofSystem, (row) => row.experiment);
  const question = choice.question === "all" || questions.includes(choice.question) ? choice.question : questions[0];
  const pool = ofSystem.filter((row) => question === "all" || row.experiment === question);
  const keys = [...new Set(pool.flatMap((row) => Object.keys(row.values)))];
  const varying = keys.filter((name) => distinct(pool, valueOf(name)).length > 1 || pool.some((row) => (name in row.values) !== (name in pool[0].values)));
  const facets = ["machine", "variant", ...varying];
  const rows = pool.filter((row) => facets.every((name) => valuesOf(choice, name)?.includes(valueOf(name)(row)) ?? true));
  const against = varying.filter((name) => isNumeric(distinct(pool, valueOf(name))) && distinct(pool, valueOf(name)).length > 1);
  return { systems, system, questions, question, pool, facets, varying, against, rows, measure: MEASURES[choice.show] ? choice.show : "time" };
}

function showExplorer(section, choice) {
  const status = section.querySelector("[data-status]");
  if (!study.cases.length) {
    status.textContent = "No case was measured.";
    return;
  }
  const state = explorerState(choice);
  const setChoice = (name) => (value) => choose("explore", { ...choice, [name]: value });
  const measures = Object.entries(MEASURES).map(([name, { title }]) => [name, title]);
  fill(section.querySelector("form"), [
    selection("system", "System", state.systems, state.system, (system) => choose("explore", { system, show: choice.show })),
    selection("question", "Experiment", [...state.questions, "all"], state.question, (question) => choose("explore", { system: state.system, question, show: choice.show })),
    selection("show", "Show", measures, state.measure, setChoice("show")),
    selection("against", "Against", [["", "bars"], ...state.against], choice.against, setChoice("against")),
    ...state.facets.map((name) => facet(name, sorted(distinct(state.pool, valueOf(name))), valuesOf(choice, name), setChoice(name))),
  ]);
  const shown = points(state);
  const hasCurves = state.against.includes(choice.against);
  const bars = [...shown].sort((a, b) => (state.measure === "time" ? a.value - b.value : b.value - a.value)).slice(0, MAX_BARS);
  const hiddenCount = shown.length - bars.length;
  const more = hiddenCount > 0 && !hasCurves ? ` The chart has the best ${MAX_BARS}; the table has all.` : "";
  status.textContent = `${state.rows.length} ${state.rows.length === 1 ? "case" : "cases"}.${more}`;
  const specification = shown.length === 0 ? null : hasCurves ? curves(shown, state, choice.against) : barChart(bars, state);
  draw(section.querySelector("[data-chart]"), specification, `${state.system}: ${MEASURES[state.measure].title} of ${shown.length} cases`);
  section.querySelector("[data-table]").replaceChildren(caseTable(state.rows, state.varying));
}

// What the chart shows of each case that has the measure.
function points(state) {
  const measure = MEASURES[state.measure];
  return state.rows.map((row) => {
    const [value, low, high] = measure.of(row);
    return { ...row.values, row: row.number, machine: row.machine, variant: row.variant, name: rowName(row, state.varying), value, low, high, text: value && measure.format(value), interval: format.interval(low, high, measure.format) };
  }).filter((point) => point.value);
}

const TOOLTIP = [{ field: "name", title: "case" }, { field: "machine" }, { field: "text", title: "median" }, { field: "interval", title: "95 %" }];

function barChart(values, state) {
  const scale = scaleOf(values.map((point) => point.value));
  const axisStart = Math.min(...values.map((point) => point.low || point.value)) / 2;
  if (scale.type) scale.domainMin = axisStart;
  const x = { field: "value", type: "quantitative", scale, axis: axisOf(MEASURES[state.measure].title, state.measure, values.map((point) => point.value)) };
  const y = { field: "id", type: "nominal", sort: null, title: null, axis: { labelExpr: "split(datum.label, '\\u0001')[0]" } };
  // Several machines have letters, too, so that no reader depends on colours.
  const machines = distinct(values, (point) => point.machine);
  const letter = (point) => String.fromCharCode(65 + machines.indexOf(point.machine));
  const named = values.map((point) => ({
    ...point,
    id: `${point.name}\u0001${point.row}`,
    end: point.high || point.value,
    place: machines.length > 1 ? `${letter(point)}: ${point.machine}` : point.machine,
    label: machines.length > 1 ? `${point.text}, ${letter(point)}` : point.text,
  }));
  scale.domainMax = Math.max(...named.map((point) => point.end)) * (scale.type ? (isNarrow() ? 20 : 2) : isNarrow() ? 1.7 : 1.12);
  return {
    data: { values: named },
    height: 22 * named.length + 4,
    encoding: { y, tooltip: TOOLTIP },
    layer: [
      { mark: { type: "bar", height: { band: 0.6 }, fillOpacity: 0.75 }, encoding: { x: { ...x, stack: null }, ...(scale.type ? { x2: { datum: axisStart } } : {}), color: { field: "place", type: "nominal", title: null } } },
      { transform: [{ filter: "datum.low && datum.high" }], mark: { type: "rule", strokeWidth: 2 }, encoding: { x: { ...x, field: "low" }, x2: { field: "high" } } },
      { mark: { type: "text", align: "left", dx: 6, fontSize: 11 }, encoding: { x: { ...x, field: "end" }, text: { field: "label" } } },
    ],
  };
}

function curves(values, state, against) {
  const others = state.varying.filter((name) => name !== against);
  const named = values
    .map((point) => ({ ...point, x: Number(point[against]), series: rowName(study.cases[point.row], others) }))
    .filter((point) => Number.isFinite(point.x));
  // A colour for each curve, or where these are too many for each variant.
  const series = distinct(named, (point) => point.series).length <= 2 * COLOURS.length ? "series" : "variant";
  const hasManyColours = distinct(named, (point) => point[series]).length > COLOURS.length;
  const numbers = named.map((point) => point.x);
  const x = { field: "x", type: "quantitative", scale: isWide(numbers) ? scaleOf(numbers) : { zero: false }, axis: { ...axisOf(against), values: distinct(named, (point) => point.x) } };
  const heights = named.map((point) => point.value);
  const y = { field: "value", type: "quantitative", scale: scaleOf(heights), axis: axisOf(MEASURES[state.measure].title, state.measure, heights) };
  return {
    data: { values: named },
    height: 420,
    encoding: { x, color: { field: series, type: "nominal", title: null, ...(hasManyColours ? { scale: { scheme: "tableau20" } } : {}) }, tooltip: TOOLTIP },
    layer: [
      { mark: { type: "line", strokeWidth: 1.5 }, encoding: { y, detail: [{ field: "series" }, { field: "machine" }], strokeDash: { field: "machine", type: "nominal", title: null, legend: { orient: "bottom" } } } },
      { transform: [{ filter: "datum.low && datum.high" }], mark: { type: "rule" }, encoding: { y: { ...y, field: "low" }, y2: { field: "high" } } },
      { mark: { type: "point", filled: true, size: 45, opacity: 1 }, encoding: { y, shape: { field: "machine", type: "nominal", legend: null } } },
    ],
  };
}

function caseTable(rows, varying) {
  const ratesOf = (row, work) => (work ? work / row.seconds : null);
  return tableOf([
    { title: "Variant", cell: (row) => link(`#case?row=${row.number}`, row.variant) },
    { title: "Machine", cell: (row) => row.machine },
    ...varying.map((name) => ({ title: name, cell: (row) => row.values[name] ?? "" })),
    { title: "Time", cell: (row) => format.time(row.seconds), value: (row) => row.seconds },
    { title: "95 % interval", cell: (row) => format.interval(row.low, row.high, format.time), value: (row) => row.low },
    { title: "FLOP/s", cell: (row) => format.flops(ratesOf(row, row.flops)), value: (row) => ratesOf(row, row.flops) },
    { title: "B/s", cell: (row) => format.bandwidth(ratesOf(row, row.bytes)), value: (row) => ratesOf(row, row.bytes) },
    { title: "Share", cell: (row) => format.percent(row.share), value: (row) => row.share },
    { title: "Energy", cell: (row) => format.joules(row.joules), value: (row) => row.joules },
  ], rows);
}
