// The roofline of a device of a machine: its measured roofs, and the rates of its cases over their intensity.
function rooflineState(choice) {
  const name = (roof) => `${roof.machine}, ${roof.device === "cuda" ? "GPU" : "CPU"}`;
  const places = distinct(study.roofs, name);
  const place = places.includes(choice.place) ? choice.place : places[0];
  const roofs = study.roofs.filter((roof) => name(roof) === place);
  const pool = study.cases.filter((row) => roofs.length && row.machine === roofs[0].machine && row.device === roofs[0].device && row.values.cache === "cold" && row.flops && row.bytes);
  const systems = distinct(pool, (row) => row.workload);
  const system = systems.includes(choice.system) ? choice.system : "all";
  return { places, place, roofs, systems, system, rows: pool.filter((row) => system === "all" || row.workload === system) };
}

function showRoofline(section, choice) {
  const state = rooflineState(choice);
  if (!state.roofs.length) {
    section.querySelector("[data-status]").textContent = "No machine has measured its ceilings.";
    return;
  }
  fill(section.querySelector("form"), [
    selection("place", "Machine", state.places, state.place, (place) => choose("roofline", { ...choice, place })),
    selection("system", "System", [...state.systems, "all"], state.system, (system) => choose("roofline", { ...choice, system })),
  ]);
  section.querySelector("[data-status]").textContent = `${state.rows.length} cases; roofs: ${state.roofs.map((roof) => `${roof.precision} ${format.flops(roof.flops)}`).join(", ")}; memory ${format.bandwidth(state.roofs[0].bandwidth)}.`;
  draw(section.querySelector("[data-chart]"), rooflineChart(state), `Roofline of ${state.place}`);
  section.querySelector("[data-table]").replaceChildren(caseTable(state.rows, []));
}

function rooflineChart({ roofs, rows }) {
  const values = rows.map((row) => ({ intensity: row.flops / row.bytes, rate: row.flops / row.seconds, system: row.workload, name: rowName(row, Object.keys(row.values)), text: format.flops(row.flops / row.seconds) }));
  const right = 10 * Math.max(...roofs.map((roof) => roof.flops / roof.bandwidth), ...values.map((point) => point.intensity));
  const left = Math.min(0.1, ...values.map((point) => point.intensity));
  // The name of a roof that lies just below another one is below its line.
  const isBelow = (roof) => roofs.some((other) => other.flops > roof.flops && other.flops < 2 * roof.flops);
  const lines = roofs.flatMap((roof) => [left, roof.flops / roof.bandwidth, right].map((intensity) => ({ intensity, rate: Math.min(roof.flops, intensity * roof.bandwidth), roof: roof.precision, last: intensity === right, dy: isBelow(roof) ? 12 : -7 })));
  const rates = [...values, ...lines].map((point) => point.rate);
  const log = (low, high) => ({ type: "log", nice: false, domain: [low, high] });
  const x = { field: "intensity", type: "quantitative", scale: log(left / 1.2, right), axis: axisOf("FLOP per byte", "intensity", [left, right]) };
  const y = { field: "rate", type: "quantitative", scale: log(Math.min(...rates) / 1.5, 3 * Math.max(...rates)), axis: axisOf("FLOP/s", "flops", rates) };
  return {
    height: 460,
    layer: [
      { data: { values: lines }, mark: { type: "line", stroke: INK }, encoding: { x, y, detail: { field: "roof" } } },
      { data: { values: lines.filter((line) => line.last) }, mark: { type: "text", align: "right", dy: { expr: "datum.dy" }, fontSize: 11 }, encoding: { x, y, text: { field: "roof" } } },
      { data: { values }, mark: { type: "point", filled: true, size: 40, opacity: 0.8 }, encoding: { x, y, color: { field: "system", type: "nominal", title: null }, shape: { field: "system", type: "nominal", title: null }, tooltip: [{ field: "name", title: "case" }, { field: "text", title: "rate" }] } },
    ],
  };
}
