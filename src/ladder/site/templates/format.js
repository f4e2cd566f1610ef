// Numbers and elements as the page writes them.
const DASH = "–";
const threeDigits = (value) => (value >= 99.95 ? value.toFixed(0) : String(value.toPrecision(3)));
const scaled = (value, units) => {
  const [name, size] = units.find(([, size]) => value >= 0.9995 * size) ?? units[units.length - 1];
  return `${threeDigits(value / size)} ${name}`;
};
const TIMES = [["s", 1], ["ms", 1e-3], ["µs", 1e-6], ["ns", 1e-9]];
const rateUnits = (unit) => [[`T${unit}/s`, 1e12], [`G${unit}/s`, 1e9], [`M${unit}/s`, 1e6]];
const format = {
  time: (seconds) => (seconds ? scaled(seconds, TIMES) : DASH),
  flops: (rate) => (rate ? scaled(rate, rateUnits("FLOP")) : DASH),
  bandwidth: (rate) => (rate ? scaled(rate, rateUnits("B")) : DASH),
  percent: (share) => (!share ? DASH : share < 0.0005 ? "< 0.1 %" : `${(100 * share).toFixed(share >= 0.0995 ? 0 : 1)} %`),
  joules: (energy) => (energy ? scaled(energy, [["kJ", 1e3], ["J", 1], ["mJ", 1e-3]]) : DASH),
  ratio: (ratio) => (ratio ? `${threeDigits(ratio)} ×` : DASH),
  interval: (low, high, formatValue) => (low && high ? `[${formatValue(low)}, ${formatValue(high)}]` : DASH),
  exact: (value) => (value === null ? DASH : Number(value.toPrecision(6)).toString()),
  number: (value) => (value === null ? DASH : Number(value.toPrecision(3)).toString()),
};

function element(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}
const link = (address, text) => element("a", { href: address }, text);
