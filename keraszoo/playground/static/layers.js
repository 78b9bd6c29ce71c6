// The tab Layers: kernel regression, positional encoding and masked softmax, computed by the layers on the server.

import { el, folded, runner, svg, table } from "./common.js";

export function setUp(panel) {
  const status = panel.querySelector(".status");
  const parts = [kernel, positions, softmax].map((make) => make(panel, (form) => {
    const own = el("div", {}, el("p", { class: "status", role: "status" }));
    form.after(own);
    return runner(own);
  }));
  status.remove();
  let drawn = false;
  return () => { if (!drawn) parts.forEach((draw) => draw()); drawn = true; };
}

// Calls `draw` after a change, at most every 80 ms.
function onInput(form, draw) {
  let timer = null;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(draw, 80); });
}

// Writes the value of a slider next to its label, and tells it to screen readers.
function state(slider, text) {
  slider.previousElementSibling.textContent = text;
  slider.setAttribute("aria-valuetext", text);
}

function kernel(panel, runnerOf) {
  const form = panel.querySelector("#kernel"), results = form.parentElement.querySelector(".results"), run = runnerOf(form);
  const draw = async () => {
    const bandwidth = Number((2 ** form.bandwidth.value).toFixed(3)), query = Number(form.query.value);
    state(form.bandwidth, bandwidth.toFixed(2));
    state(form.query, query.toFixed(1));
    const answers = await run([["kernel", { bandwidth, query }]]);
    if (answers) results.replaceChildren(...regression(answers[0], query));
  };
  onInput(form, draw);
  return draw;
}

function regression(data, query) {
  const width = 480, height = 240, low = Math.min(...data.y, ...data.curve), high = Math.max(...data.y, ...data.curve);
  const x = (value) => 10 + (width - 20) * (value / 10);
  const y = (value) => height - 15 - (height - 30) * ((value - low) / (high - low));
  const points = data.grid.map((value, i) => `${x(value).toFixed(1)},${y(data.curve[i]).toFixed(1)}`).join(" ");
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Estimate ${data.estimate.toFixed(2)} at ${query}` },
    svg("rect", { class: "frame", x: 0.5, y: 0.5, width: width - 1, height: height - 1 }),
    svg("line", { class: "query", x1: x(query), x2: x(query), y1: 0, y2: height }),
    svg("polyline", { class: "curve", points }),
    ...data.x.map((value, i) => svg("circle", { class: "dot", cx: x(value), cy: y(data.y[i]), r: 2.5 + 14 * Math.sqrt(data.weights[i]) })),
    svg("circle", { class: "estimate", cx: x(query), cy: y(data.estimate), r: 5 }));
  const numbers = () => table("Examples", ["x", "y", "weight"], data.x.map((value, i) => [value.toFixed(2), data.y[i].toFixed(2), data.weights[i].toFixed(3)]));
  return [picture, el("p", {}, `The estimate at ${query.toFixed(1)} is ${data.estimate.toFixed(2)}.`), folded("The examples as a table", numbers)];
}

function positions(panel, runnerOf) {
  const form = panel.querySelector("#positions"), results = form.parentElement.querySelector(".results"), run = runnerOf(form);
  const draw = async () => {
    const shift = Number(form.shift.value);
    state(form.shift, `${shift}`);
    const answers = await run([["positions", { shift }]]);
    if (!answers) return;
    const { encoding, matrix, error } = answers[0];
    results.replaceChildren(
      el("div", { class: "pair" },
        el("div", {}, el("div", { class: "faint" }, "PE: a row for each position, a column for each dimension"), grid(encoding, "Positional encodings")),
        el("div", {}, el("div", { class: "faint" }, `M for k = ${shift}`), grid(matrix, "Matrix of the shift"))),
      el("p", {}, `Largest difference between M PE(pos) and PE(pos + k): ${error.toExponential(1)}`),
      folded("PE as a table", () => table("Positional encodings", ["position", ...encoding[0].map((_, i) => `${i}`)],
        encoding.map((row, i) => [`${i}`, ...row.map((value) => value.toFixed(2))]))));
  };
  onInput(form, draw);
  return draw;
}

// Blue for 0 to 1, orange for -1 to 0.
function grid(rows, label) {
  const size = 10;
  const cells = rows.flatMap((row, i) => row.map((value, j) => Math.abs(value) < 0.01 ? null : svg("rect", {
    class: value < 0 ? "cell negative" : "cell", x: j * size, y: i * size, width: size, height: size, "fill-opacity": Math.abs(value).toFixed(2) })));
  const width = size * rows[0].length, height = size * rows.length;
  return svg("svg", { viewBox: `-1 -1 ${width + 2} ${height + 2}`, role: "img", "aria-label": `${label}; blue is positive, orange negative` },
    ...cells, svg("rect", { class: "frame", x: -0.5, y: -0.5, width: width + 1, height: height + 1 }));
}

function softmax(panel, runnerOf) {
  const form = panel.querySelector("#softmax"), run = runnerOf(form);
  const rows = [2, 1, 0.5, 0, -1].map((score, i) => {
    const value = el("span", { class: "value" }), weight = el("span", { class: "value" }), bar = el("div");
    const range = el("input", { type: "range", min: -4, max: 4, step: 0.1, value: score, "aria-label": `score ${i + 1}` });
    const kept = el("input", { type: "checkbox", checked: true, "aria-label": `keep score ${i + 1}` });
    const row = el("div", {}, el("div", { class: "score" }, kept, range, value), el("div", { class: "meter" }, bar), el("div", { class: "faint" }, "weight ", weight));
    return { value, weight, bar, range, kept, row };
  });
  form.append(...rows.map(({ row }) => row));
  const draw = async () => {
    for (const { value, range } of rows) value.textContent = Number(range.value).toFixed(1);
    const answers = await run([["softmax", { scores: rows.map(({ range }) => Number(range.value)), mask: rows.map(({ kept }) => kept.checked) }]]);
    answers?.[0].weights.forEach((weight, i) => {
      rows[i].weight.textContent = weight.toFixed(3);
      rows[i].bar.style.width = `${100 * weight}%`;
    });
  };
  onInput(form, draw);
  return draw;
}
