// The tab Translate: one model, or two next to each other.

import { attentionView } from "./attention.js";
import { el, offer, onSubmit, percent, runner, showExamples, table } from "./common.js";

export function setUp(panel, models) {
  const form = panel.querySelector("form"), results = panel.querySelector(".results"), run = runner(panel);
  const known = offer(panel, models, "translation");
  offer(panel, models, "translation", form.elements.other);
  showExamples(form, known);
  onSubmit(form, async () => {
    const { text, model, other, beam_width, length_penalty } = form.elements;
    const body = { text: text.value, beam_width: Number(beam_width.value), length_penalty: Number(length_penalty.value) };
    const names = other.value && other.value !== model.value ? [model.value, other.value] : [model.value];
    const answers = await run(names.map((name) => ["translate", { ...body, model: name }]));
    if (answers) results.replaceChildren(el("div", { class: "pair" }, ...answers.map((result, i) => view(known[names[i]], result))));
  });
}

function view(model, result) {
  const language = model.languages[1] ?? null;
  const hypotheses = result.hypotheses.map((hypothesis, i) => [
    `${i + 1}`, el("td", { lang: language }, hypothesis.text), percent(hypothesis.probability), hypothesis.score.toFixed(3),
  ]);
  return el("article", {},
    el("h2", {}, model.name),
    el("p", { class: "answer translation", lang: language }, result.text),
    el("p", { class: "faint" }, `probability ${percent(result.probability)}`),
    result.truncated ? el("p", { class: "faint" }, "The sentence was too long for the model; its end was cut.") : null,
    result.unknown.length ? el("p", { class: "faint" }, `Not in the vocabulary, so not translated: ${result.unknown.join(" ")}`) : null,
    attentionView(result, (word) => (word === "</s>" ? "end" : word)),
    hypotheses.length > 1 ? el("h3", {}, "Best hypotheses") : null,
    hypotheses.length > 1 ? el("div", { class: "scroll" }, table("Ranked by score, the log-probability over the length penalty", ["", "translation", "probability", "score"], hypotheses)) : null);
}
