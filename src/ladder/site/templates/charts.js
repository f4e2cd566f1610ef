// Charts by Vega-Lite. Their text and axes have the colour of the page's text, so that they fit both schemes and paper.
// Eight colours and seven shapes, so that colour and shape together tell 56 names apart.
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#8c564b", "#7f7f7f"];
const SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right"];
const INK = "currentColor";
const LINES = { gridColor: INK, gridOpacity: 0.15, domainColor: INK, tickColor: INK, labelColor: INK, titleColor: INK };
const LOG_ERRORS = 1; // Vega's level of messages: no warnings on the console
const isNarrow = () => window.innerWidth < 640;

function config() {
  return {
    background: "transparent",
    font: "system-ui, sans-serif",
    view: { stroke: INK, strokeOpacity: 0.2 },
    axis: { ...LINES, labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal", labelLimit: isNarrow() ? 150 : 420 },
    legend: { labelColor: INK, titleColor: INK, orient: "top", direction: isNarrow() ? "vertical" : "horizontal", labelLimit: isNarrow() ? 240 : 320, labelFontSize: 12, columns: isNarrow() ? 1 : 3 },
    title: { color: INK },
    range: { category: COLOURS, symbol: SHAPES },
    text: { fill: INK },
    rule: { stroke: INK },
  };
}

// Draw a specification in an element; a later call in the meantime wins.
async function draw(target, specification, description) {
  if (!specification) return target.replaceChildren();
  const width = Math.max(240, target.clientWidth - 4);
  const sized = { $schema: "https://vega.github.io/schema/vega-lite/v6.json", width, autosize: { type: "fit-x", contains: "padding" }, description, ...specification, config: config() };
  const options = { actions: false, renderer: "svg", logLevel: LOG_ERRORS, tooltip: { theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light" } };
  const container = element("div");
  target.replaceChildren(container);
  const result = await vegaEmbed(container, sized, options);
  if (!container.isConnected) result.finalize();
  target.dataset.drawn = "true";
}

// Whether values spread so much that an axis must be logarithmic.
const isWide = (values) => values.length > 1 && Math.max(...values) > 20 * Math.min(...values);
const scaleOf = (values) => (isWide(values) ? { type: "log", nice: false } : { zero: true });
// An axis of a measure, whose labels have the unit where that is short.
const LABELS = { time: "format(datum.value, '~s') + 's'", share: "format(datum.value, '~p')" };
const axisOf = (title, kind, values = []) => ({ title, labelExpr: LABELS[kind] ?? "format(datum.value, '~s')", labelOverlap: "greedy", ...(isWide(values) ? { values: ticks(values) } : {}) });

// The ticks of a logarithmic axis: powers of ten, with 2 and 5 between them where there are few.
function ticks(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)].map((value) => Math.log10(value));
  const steps = high - low > 3 ? [1] : [1, 2, 5];
  const powers = Array.from({ length: Math.ceil(high) - Math.floor(low) + 2 }, (_, i) => Math.floor(low) - 1 + i);
  return powers.flatMap((power) => steps.map((step) => step * 10 ** power));
}
