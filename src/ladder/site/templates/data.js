// The study's data, by column in the page, as rows: cases, checks, curves, pairs, roofs and sources, and the names of sides.
"use strict";
const study = (() => {
  const packed = JSON.parse(document.getElementById("data").textContent);
  const values = (column) => (column.codes ? column.codes.map((code) => column.texts[code]) : column);
  const rows = (table) => {
    const columns = Object.entries(table).map(([name, column]) => [name, values(column)]);
    const length = columns[0][1].length;
    return Array.from({ length }, (_, i) => Object.fromEntries(columns.map(([name, column]) => [name, column[i]])));
  };
  // A slug is sizes, the cache protocol, and the tuning, as name=value.
  const parseSlug = (slug) => Object.fromEntries(slug.split(",").map((pair) => [pair.split("=", 1)[0], pair.slice(pair.indexOf("=") + 1)]));
  const cases = rows(packed.cases);
  cases.forEach((row, number) => Object.assign(row, { number, values: parseSlug(row.case) }));
  return { cases, checks: rows(packed.checks), curves: rows(packed.curves), pairs: rows(packed.pairs), roofs: rows(packed.roofs), sources: rows(packed.sources), sides: packed.sides };
})();

const distinct = (rows, value) => [...new Set(rows.map(value))].filter((text) => text !== undefined && text !== "");
const isNumeric = (texts) => texts.every((text) => text !== "" && Number.isFinite(Number(text)));
const sorted = (texts) => (isNumeric(texts) ? [...texts].sort((a, b) => a - b) : [...texts].sort());
