// The accuracy of trainings after the last epoch, the best first, with the runs of each.
const LEARNING_EPOCHS = 5; // shorter runs time a training
const TRAINING = ["layers", "activation", "source", "images", "batch", "rate", "momentum", "scale", "epochs"];
const DATA_NAMES = { mnist: "MNIST", digits: "scikit-learn's digits" };
const accuracyText = (share) => `${(100 * share).toFixed(2)} %`;

function showLearning(section) {
  const [learning, timing] = [true, false].map((learns) => trainings().filter((training) => training.values.epochs >= LEARNING_EPOCHS === learns));
  const target = section.querySelector("[data-table]");
  if (!learning.length && !timing.length) return target.replaceChildren(element("p", {}, "No training was measured."));
  target.replaceChildren(
    ...learning.slice(0, 1).map((best) => element("p", { className: "answer" }, answerOf(best))),
    ...(learning.length ? [element("h2", {}, `Trainings of at least ${LEARNING_EPOCHS} epochs`), ...learning.map((training, place) => trainingPart(training, place === 0))] : []),
    ...(timing.length ? [element("h2", {}, "Timing runs"), element("p", {}, `They have fewer than ${LEARNING_EPOCHS} epochs: they measure the time of an epoch, not the accuracy.`), ...timing.map((training) => trainingPart(training, false))] : []),
  );
}

// The runs, {row, curve, accuracy, loss}, by training, [{system, values, runs}]; the best accuracy comes first.
function trainings() {
  const groups = new Map();
  for (const curve of study.curves.filter((other) => other.names.includes("accuracy"))) {
    const row = study.cases[curve.case];
    const last = (name) => curve.points.at(-1)[curve.names.indexOf(name)];
    const values = Object.fromEntries(TRAINING.filter((name) => name in row.values).map((name) => [name, row.values[name]]));
    const key = JSON.stringify([row.workload, values]);
    if (!groups.has(key)) groups.set(key, { system: row.workload, values, runs: [] });
    groups.get(key).runs.push({ row, number: curve.case, accuracy: last("accuracy"), loss: last("loss") });
  }
  const allTrainings = [...groups.values()];
  for (const { runs } of allTrainings) runs.sort((a, b) => b.accuracy - a.accuracy);
  return allTrainings.sort((a, b) => b.runs[0].accuracy - a.runs[0].accuracy);
}

function answerOf({ system, values, runs: [best] }) {
  return `The best training, a network ${values.layers} of ${system}, recognises ${accuracyText(best.accuracy)} of the test images of ${DATA_NAMES[values.source] ?? values.source} after ${values.epochs} epochs.`;
}

// A training: its accuracy, what it trains, and its runs, which open by a click.
function trainingPart({ system, values, runs }, open) {
  const [high, low] = [runs[0], runs.at(-1)].map((run) => accuracyText(run.accuracy));
  const settings = Object.entries(values).filter(([name]) => name !== "layers").map(([name, value]) => `${name} ${value}`).join(", ");
  const count = `${runs.length} ${runs.length === 1 ? "run" : "runs"}`;
  const title = `${high === low ? high : `${high} to ${low}`}: ${system}, ${values.layers}, ${settings} (${count})`;
  return element("details", { className: "training", open }, element("summary", {}, title), runTable(runs));
}

// Its columns are the sizes and tunings in which the runs differ.
function runTable(runs) {
  const names = [...new Set(runs.flatMap(({ row }) => Object.keys(row.values)))];
  const varying = names.filter((name) => new Set(runs.map(({ row }) => row.values[name])).size > 1);
  const table = tableOf([
    { title: "Variant", cell: ({ row, number }) => link(`#case?row=${number}`, row.variant) },
    { title: "Machine", cell: ({ row }) => row.machine },
    ...varying.map((name) => ({ title: name, cell: ({ row }) => row.values[name] ?? "" })),
    { title: "Loss", cell: ({ loss }) => format.number(loss), value: ({ loss }) => loss },
    { title: "Accuracy", cell: ({ accuracy }) => accuracyText(accuracy), value: ({ accuracy }) => accuracy },
  ], runs);
  return element("div", { className: "scroll", role: "region", tabIndex: 0, ariaLabel: "Runs of a training" }, table);
}

// The elements of a case's curve, its quantity against the axis with the numbers of the last point, and what draws it.
function curveOf(firstNumber) {
  const curve = study.curves.find((other) => other.case === firstNumber);
  if (!curve) return { elements: [], draw: () => {} };
  const [axis, quantity] = curve.names;
  const text = (name, value) => (name === "accuracy" ? accuracyText(value) : format.exact(value));
  const end = curve.names.map((name, i) => `${name.replaceAll("_", " ")} ${text(name, curve.points.at(-1)[i])}`).join(", ");
  const chart = element("div", { className: "chart" });
  const values = curve.points.map(([x, y]) => ({ x, y })).filter((point) => point.y !== null);
  const y = values.map((point) => point.y);
  const specification = {
    data: { values },
    height: 220,
    mark: { type: "line", point: true },
    encoding: {
      x: { field: "x", type: "quantitative", scale: { zero: false }, axis: axisOf(axis) },
      y: { field: "y", type: "quantitative", scale: y.every((value) => value > 0) ? scaleOf(y) : {}, axis: axisOf(quantity) },
    },
  };
  return {
    elements: [element("h3", {}, "Curve"), element("p", {}, `At its end: ${end}.`), chart],
    draw: () => draw(chart, specification, `${quantity} by ${axis}`),
  };
}
