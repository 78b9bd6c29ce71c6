// Attention as a heat map and as lines between words; a word under the pointer or in focus is highlighted in both.

import { el, folded, svg, table, widthOf } from "./common.js";

const CELL = 22, ROW = 26, LEAST = 0.005, LEAST_LINE = 0.03;

const mean = (matrices) =>
  matrices[0].map((row, t) => row.map((_, s) => matrices.reduce((sum, m) => sum + m[t][s], 0) / matrices.length));

// `data`: source and target words and attention[layer][head][target][source]. `label` turns a word into its text.
export function attentionView(data, label = (word) => word) {
  if (!data.attention) return el("p", { class: "faint" }, "This model has no attention: it keeps the sentence in one vector.");
  const layers = data.attention.length, heads = data.attention[0].length;
  const source = data.source.map(label), target = data.target.map(label);
  const layer = choose("Layer", layers, String(layers - 1)), head = choose("Head", heads, "mean");
  const pictures = el("div");
  const draw = () => {
    const chosen = layer.value === "mean" ? data.attention : [data.attention[layer.value]];
    const weights = mean(chosen.map((of) => (head.value === "mean" ? mean(of) : of[head.value])));
    pictures.replaceChildren(...drawings(source, target, weights));
  };
  for (const select of [layer, head]) select.addEventListener("change", draw);
  draw();
  const controls = el("div", { class: "controls" });
  if (layers > 1) controls.append(el("label", {}, "Layer ", layer));
  if (heads > 1) controls.append(el("label", {}, "Head ", head));
  return el("div", { class: "attention" }, el("h3", {}, "Attention"), controls, pictures);
}

function choose(name, count, value) {
  const numbers = Array.from({ length: count }, (_, i) => el("option", { value: i }, `${i + 1}`));
  const select = el("select", { name: name.toLowerCase() }, el("option", { value: "mean" }, "mean of all"), ...numbers);
  select.value = value;
  return select;
}

function drawings(source, target, weights) {
  const reading = el("p", { class: "reading faint", role: "status" });
  const box = el("div", { class: "figures" });
  const pick = (side, index) => {
    box.classList.toggle("picking", side !== null);
    for (const part of box.querySelectorAll("[data-source], [data-target]"))
      part.classList.toggle("on", side !== null && part.dataset[side] === String(index));
    reading.textContent = side === null ? hint : describe(side, index);
  };
  const describe = (side, index) => {
    const others = side === "target" ? source : target;
    const best = others
      .map((word, i) => [word, side === "target" ? weights[index][i] : weights[i][index]])
      .sort((a, b) => b[1] - a[1]).slice(0, 4).filter(([, weight]) => weight >= 0.01)
      .map(([word, weight]) => `${word} ${weight.toFixed(2)}`).join(", ");
    return side === "target" ? `“${target[index]}” attends to ${best || "nothing"}`
      : `“${source[index]}” is attended to by ${best || "no word"}`;
  };
  const hint = "Point at a word, or move to it with the tab key, to see its weights.";
  const word = (side, index, attributes, text) => svg("g", {
    class: "word", tabindex: 0, role: "img", "aria-label": describe(side, index), [`data-${side}`]: index,
    onmouseenter: () => pick(side, index), onmouseleave: () => pick(null),
    onfocus: () => pick(side, index), onblur: () => pick(null),
  }, svg("text", attributes, text));
  box.append(lines(source, target, weights, word), heatMap(source, target, weights, pick));
  reading.textContent = hint;
  const numbers = () => table("Attention weights: a row for each target word, a column for each source word",
    ["", ...source], target.map((name, t) => [name, ...weights[t].map((weight) => weight.toFixed(2))]));
  return [box, reading, folded("The weights as a table", numbers)];
}

function lines(source, target, weights, word) {
  const left = Math.max(...source.map(widthOf)) + 8, right = Math.max(...target.map(widthOf)) + 8;
  const gap = 100, height = ROW * Math.max(source.length, target.length);
  const y = (words, i) => (i + 0.5) * ROW + ((height - ROW * words.length) / 2);
  const links = [];
  weights.forEach((row, t) => row.forEach((weight, s) => {
    if (weight < LEAST_LINE) return;
    links.push(svg("line", {
      class: "link", "data-source": s, "data-target": t, x1: left + 4, x2: left + gap - 4,
      y1: y(source, s), y2: y(target, t), "stroke-opacity": weight.toFixed(3), "stroke-width": (1 + 3 * weight).toFixed(2),
    }));
  }));
  const names = [
    ...source.map((text, s) => word("source", s, { x: left - 2, y: y(source, s) + 4, "text-anchor": "end" }, text)),
    ...target.map((text, t) => word("target", t, { x: left + gap + 2, y: y(target, t) + 4 }, text)),
  ];
  const size = { width: Math.ceil(left + gap + right), height, class: "lines" };
  return figure("Lines from source to target words", svg("svg", { ...size, role: "group", "aria-label": "Lines from source words on the left to target words on the right" }, ...links, ...names));
}

function heatMap(source, target, weights, pick) {
  const left = Math.max(...target.map(widthOf)) + 8, top = Math.max(...source.map(widthOf)) + 8;
  const cells = [];
  weights.forEach((row, t) => row.forEach((weight, s) => {
    if (weight < LEAST) return;
    cells.push(svg("rect", {
      class: "cell", "data-source": s, "data-target": t, x: left + s * CELL, y: top + t * CELL, width: CELL - 1, height: CELL - 1,
      "fill-opacity": weight.toFixed(3), onmouseenter: () => pick("target", t), onmouseleave: () => pick(null),
    }, svg("title", {}, `${target[t]} – ${source[s]}: ${weight.toFixed(2)}`)));
  }));
  const wide = CELL * source.length, high = CELL * target.length;
  const names = [
    ...source.map((text, s) => svg("text", { transform: `translate(${left + (s + 0.5) * CELL + 4} ${top - 4}) rotate(-90)` }, text)),
    ...target.map((text, t) => svg("text", { x: left - 4, y: top + (t + 0.5) * CELL + 4, "text-anchor": "end" }, text)),
  ];
  const frame = svg("rect", { class: "frame", x: left - 0.5, y: top - 0.5, width: wide, height: high });
  const size = { width: Math.ceil(left + wide + 2), height: Math.ceil(top + high + 2), class: "map" };
  return figure("Heat map", svg("svg", { ...size, role: "img", "aria-label": "Heat map of the attention weights; the table below has the numbers" }, frame, ...cells, ...names));
}

function figure(caption, picture) {
  return el("div", {}, el("div", { class: "faint" }, caption), el("div", { class: "scroll" }, picture));
}
