// What trainings have learnt: their loss and accuracy after the last epoch, the most accurate first.
function showLearning(section) {
  const last = (curve, name) => curve.points.at(-1)[curve.names.indexOf(name)];
  const row = (curve) => study.cases[curve.case];
  const trainings = study.curves.filter((curve) => curve.names.includes("accuracy")).sort((a, b) => last(b, "accuracy") - last(a, "accuracy"));
  const target = section.querySelector("[data-table]");
  if (!trainings.length) return target.replaceChildren(element("p", {}, "No training was measured."));
  target.replaceChildren(tableOf([
    { title: "Variant", cell: (curve) => link(`#case?row=${curve.case}`, row(curve).variant) },
    { title: "System", cell: (curve) => row(curve).workload },
    { title: "Machine", cell: (curve) => row(curve).machine },
    ...["layers", "images", "dtype", "source"].map((name) => ({ title: name, cell: (curve) => row(curve).values[name] ?? "" })),
    { title: "Epochs", cell: (curve) => String(last(curve, "epoch")), value: (curve) => last(curve, "epoch") },
    { title: "Loss", cell: (curve) => format.number(last(curve, "loss")), value: (curve) => last(curve, "loss") },
    { title: "Accuracy", cell: (curve) => `${(100 * last(curve, "accuracy")).toFixed(2)} %`, value: (curve) => last(curve, "accuracy") },
  ], trainings));
}

// The curve of a case: its quantity against the axis, and the numbers of the last point.
function curveOf(first) {
  const curve = study.curves.find((other) => other.case === first);
  if (!curve) return [];
  const [axis, quantity] = curve.names;
  const end = curve.names.map((name, i) => `${name} ${format.number(curve.points.at(-1)[i])}`).join(", ");
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
  return [element("h3", {}, "Curve"), element("p", {}, `At its end: ${end}.`), chart, () => draw(chart, specification, `${quantity} by ${axis}`)];
}
