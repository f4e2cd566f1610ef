// One case: its median, samples by process and campaign, checks, and the commands that measure it again.
function showCase(section, choice) {
  const row = study.cases[choice.row];
  const content = section.querySelector("[data-content]");
  if (!row) return content.replaceChildren(element("p", {}, "There is no such case: choose one in the explorer."));
  const chart = element("div", { className: "chart" });
  // A case has a row for each of its experiments; its checks and its curve are those of the first.
  const firstNumber = study.cases.findIndex((other) => ["machine", "workload", "variant", "case"].every((name) => other[name] === row[name]));
  const curve = curveOf(firstNumber);
  content.replaceChildren(
    element("h2", {}, `${row.workload}/${row.variant}`),
    element("p", {}, row.case.replaceAll(",", ", ")),
    factsOf(row),
    element("h3", {}, "Samples"),
    element("p", {}, "Every mark is a timed call; a column is a process, by its number in its file. Processes are the unit of replication."),
    chart,
    element("h3", {}, "Checks"),
    checksOf(firstNumber),
    ...curve.elements,
    element("h3", {}, "The same case elsewhere"),
    otherMeasurements(row),
    element("h3", {}, "Measure it again"),
    ...commandOf(row),
  );
  draw(chart, samplesChart(row), `Samples of ${row.workload}/${row.variant} by process`);
  curve.draw();
}

function factsOf(row) {
  const sources = sourcesOf(row);
  const lines = (name) => distinct(sources, (source) => source[name] ?? "");
  const pairs = [
    ["Machine", row.machine],
    ["CPU", lines("cpu").join("; ") || "not recorded"],
    ["GPU", row.device === "host" || row.device === "mpi" ? "none is used" : lines("gpus").map((gpus) => `${gpus} in the machine`).join("; ") || "not recorded"],
    ["Measured on", lines("when").join("; ") || "not recorded"],
    ["File", lines("file").join(", ")],
    ["Experiment", link(addressOf("explore", { system: row.workload, question: row.experiment }), row.experiment)],
    ["Median", `${format.time(row.seconds)} ${format.interval(row.low, row.high, format.time)}, 95 % interval over ${row.processes.length} processes`],
    ["Rate", `${format.flops(row.flops / row.seconds)}, ${format.bandwidth(row.bytes / row.seconds)}`],
    ["Share of the ceiling", row.share ? format.percent(row.share) : "no ceiling was measured for these ranks, threads or precision"],
    ["Energy of a run", row.joules ? format.joules(row.joules) : "not measured"],
    ["Converged", row.converged ? "yes" : "no: its time was over before the interval was narrow enough"],
    ["Campaigns", distinct(row.processes, ([campaign]) => campaign).join(", ") || "measured outside of campaigns"],
    ["Commits", distinct(row.processes, ([, commit]) => commit).join(", ") || "not recorded"],
  ];
  return element("dl", {}, ...pairs.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
}

// Where its samples are and what measured them: its campaigns, or else its machine, whose new cases have records.
function sourcesOf(row) {
  const named = (name) => study.sources.find((source) => source.name === name);
  const record = `results/records/${row.machine}/${[row.workload, row.variant, row.case].join("/").replaceAll(",", "+")}.json`;
  return distinct(row.processes, ([campaign]) => named(campaign) ?? named(row.machine) ?? {}).map((source) => ({ ...source, file: source.file ?? record }));
}

function samplesChart(row) {
  // A number occurs once in each campaign; the text behind it tells the columns apart and isn't shown.
  const values = row.processes.flatMap(([campaign, , number, samples]) => samples.map((micro) => ({ process: `${number}\u0001${campaign}`, seconds: micro / 1e6, campaign: campaign || "no campaign", text: format.time(micro / 1e6) })));
  const scale = { zero: false, nice: true };
  return {
    data: { values },
    height: 260,
    layer: [
      { mark: { type: "point", size: 30, opacity: 0.7 }, encoding: { x: { field: "process", type: "ordinal", sort: null, axis: { labelAngle: 0, labelOverlap: true, labelExpr: "split(datum.label, '\\u0001')[0]" } }, y: { field: "seconds", type: "quantitative", scale, axis: axisOf("time", "time") }, color: { field: "campaign", type: "nominal", title: null }, shape: { field: "campaign", type: "nominal", title: null }, tooltip: [{ field: "text", title: "time" }, { field: "campaign" }] } },
      { data: { values: [{ median: row.seconds }] }, mark: { type: "rule", strokeDash: [4, 3] }, encoding: { y: { field: "median", type: "quantitative" } } },
    ],
  };
}

function checksOf(firstNumber) {
  const rows = study.checks.filter((check) => check.case === firstNumber);
  if (!rows.length) return element("p", {}, "Its publication has no checks.");
  return tableOf([
    { title: "Check", cell: (check) => check.check },
    { title: "Comparisons", cell: (check) => String(check.count), value: (check) => check.count },
    { title: "Largest error", cell: (check) => format.number(check.error), value: (check) => check.error },
    { title: "Bound", cell: (check) => format.number(check.bound), value: (check) => check.bound },
    { title: "Error over bound", cell: (check) => (check.bound ? format.percent(check.error / check.bound) : DASH), value: (check) => (check.bound ? check.error / check.bound : null) },
  ], rows);
}

function otherMeasurements(row) {
  const others = study.cases.filter((other) => other !== row && ["workload", "variant", "case"].every((name) => other[name] === row[name]));
  if (!others.length) return element("p", {}, "No other machine or experiment has measured it.");
  return tableOf([
    { title: "Machine", cell: (other) => link(`#case?row=${other.number}`, other.machine) },
    { title: "Experiment", cell: (other) => other.experiment },
    { title: "Measured on", cell: (other) => distinct(sourcesOf(other), (source) => source.when ?? "").join("; ") || DASH },
    { title: "Time", cell: (other) => format.time(other.seconds), value: (other) => other.seconds },
  ], others);
}

function commandOf(row) {
  const reference = row.needs.split(" ").find((path) => path.endsWith(".npz") && path.includes("/references/"));
  const options = [reference ? ` --reference '${reference}'` : "", row.device.startsWith("mpi") ? " --launcher mpiexec" : ""].join("");
  const files = row.needs ? `.venv/bin/snakemake --cores all ${row.needs.split(" ").map((path) => `'${path}'`).join(" ")}\n` : "";
  const text = `${files}.venv/bin/python -m ladder measure ${row.workload} ${row.variant} '${row.case}'${options} --out record.json`;
  const button = element("button", { type: "button", className: "copy" }, "Copy");
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  });
  return [element("pre", {}, text), button];
}
