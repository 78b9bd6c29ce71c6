// The tab Tag: entities in colour, the probabilities of a word's tags, its attention, and downloads.

import { el, fail, folded, offer, onSubmit, percent, runner, showExamples, table } from "./common.js";

const COLOURS = 8, ROWS = 500, LARGEST = 200_000; // bytes of a file

export function setUp(panel, models) {
  const form = panel.querySelector("form"), results = panel.querySelector(".results"), run = runner(panel);
  showExamples(form, offer(panel, models, "tagging"));
  form.elements.file.addEventListener("change", async () => {
    const file = form.elements.file.files[0];
    if (!file) return;
    form.elements.file.value = ""; // so that the same file can be chosen again after a change
    if (file.size > LARGEST) { fail(panel, `${file.name}: expected at most ${LARGEST} bytes, got ${file.size}`); return; }
    try {
      form.elements.text.value = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
      form.requestSubmit();
    } catch {
      fail(panel, `${file.name}: expected text in UTF-8`);
    }
  });
  onSubmit(form, async () => {
    const answers = await run([["tag", { model: form.elements.model.value, text: form.elements.text.value }]]);
    if (answers) results.replaceChildren(view(answers[0]));
  });
}

function view(result) {
  const reading = el("p", { class: "reading faint", role: "status" }, "Point at a word, or use the arrow keys in the text, to see the probabilities of its tags.");
  const greatest = result.sentences.flatMap(([first, last]) =>
    Array(last - first).fill(Math.max(...(result.attention ?? [0]).slice(first, last), 1e-9)));
  const tokens = result.words.map((word, i) => token(word, result.attention && result.attention[i], greatest[i]));
  const describe = (i) => {
    const { text, tags } = result.words[i];
    const attention = result.attention ? `; attention ${result.attention[i].toFixed(4)}` : "";
    return `“${text}”: ${tags.map(([tag, p]) => `${tag} ${percent(p)}`).join(", ")}${attention}`;
  };
  const pick = (i) => {
    text.querySelector(".on")?.classList.remove("on");
    tokens[i].classList.add("on");
    reading.textContent = describe(i);
  };
  const text = el("p", { class: "tagged", tabindex: 0, "aria-label": "The tagged text; the arrow keys move from word to word" });
  const places = new Map(tokens.map((part, i) => [part, i]));
  text.addEventListener("mouseover", (event) => {
    const part = event.target.closest(".token");
    if (part) pick(places.get(part));
  });
  text.addEventListener("keydown", (event) => {
    const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!move) return;
    event.preventDefault();
    const now = places.get(text.querySelector(".on")) ?? (move > 0 ? -1 : 1);
    const next = Math.min(Math.max(now + move, 0), tokens.length - 1);
    pick(next);
    tokens[next].scrollIntoView({ block: "nearest" });
  });
  write(text, result, tokens);
  const label = (name) => el("span", { class: colour(result, name) }, name);
  const entities = () => table("Entities", ["entity", "label", "probability"], result.entities.map((entity) => [
    named(result, entity), el("td", {}, entity.label), percent(entity.probability)]));
  const words = () => table(`The first ${ROWS} words`, ["word", "tags"], result.words.slice(0, ROWS).map((word, i) => [
    word.text, el("td", {}, describe(i).slice(word.text.length + 4))]));
  return el("article", {},
    el("div", { class: "legend" }, ...result.labels.map(label)),
    text, reading,
    result.attention ? el("p", { class: "faint" }, "The bar under a word is its attention weight, relative to the largest of the sentence.") : null,
    folded(`${result.entities.length} entities as a table`, entities),
    folded("The words as a table", words),
    el("div", { class: "controls" },
      download("Download JSON", "entities.json", result.json, "application/json"),
      download("Download CoNLL", "entities.conll", result.columns, "text/plain")));
}

function token(word, weight, greatest) {
  const part = el("span", { class: "token" }, word.text);
  if (weight !== null) {
    const bar = el("span", { class: "weight" });
    bar.style.width = `${(100 * weight) / greatest}%`;
    part.append(bar);
  }
  return part;
}

// Puts words and the text between them into a paragraph, entities inside <mark>.
function write(text, result, tokens) {
  const starts = new Map(result.entities.map((entity) => [entity.first, entity]));
  let mark = null, entity = null;
  result.words.forEach((word, i) => {
    (mark ?? text).append(word.before);
    if (starts.has(i)) {
      entity = starts.get(i);
      mark = el("mark", { class: colour(result, entity.label) });
      text.append(mark);
    }
    (mark ?? text).append(tokens[i]);
    if (mark && i === entity.last) {
      mark.append(" ", el("small", {}, `${entity.label} ${percent(entity.probability)}`));
      mark = null;
    }
  });
  text.append(result.after);
}

const colour = (result, label) => `label-${Math.max(result.labels.indexOf(label), 0) % COLOURS}`;
const named = (result, entity) => result.words.slice(entity.first, entity.last + 1)
  .map((word, i) => (i ? word.before : "") + word.text).join("");

function download(title, name, content, type) {
  return el("button", { type: "button", class: "plain", onclick: () => {
    const href = URL.createObjectURL(new Blob([`${content}\n`], { type }));
    el("a", { href, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(href), 1000);
  } }, title);
}
