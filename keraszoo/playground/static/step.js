// The tab Step by step: what else could stand at each position, and how the translation would go on.

import { attentionView } from "./attention.js";
import { el, offer, onSubmit, percent, runner, showExamples, shown } from "./common.js";

export function setUp(panel, models) {
  const form = panel.querySelector("form"), results = panel.querySelector(".results"), run = runner(panel);
  const known = offer(panel, models, "translation");
  showExamples(form, known);
  onSubmit(form, () => go({ model: form.elements.model.value, text: form.elements.text.value }, []));

  // `asked`: the model and the sentence of the shown result, whatever the form holds by now.
  async function go(asked, prefix) {
    const answers = await run([["step", { ...asked, prefix }]]);
    if (answers) show(answers[0], asked, Math.min(prefix.length, answers[0].tokens.length - 1));
  }

  function show(result, asked, first) {
    const chips = result.tokens.map((token, t) => el("button", {
      type: "button", class: `piece${t < result.forced ? " forced" : ""}`, "aria-pressed": "false", onclick: () => select(t),
    }, shown(token), el("small", {}, chance(result.alternatives[t], token))));
    const choices = el("div");
    const select = (t) => {
      chips.forEach((chip, i) => chip.setAttribute("aria-pressed", String(i === t)));
      const options = result.alternatives[t].map(([piece, p]) => el("li", {}, el("button", {
        type: "button", class: `choice${piece === result.tokens[t] ? " chosen" : ""}`, "--weight": p.toFixed(3),
        onclick: () => go(asked, [...result.tokens.slice(0, t), piece]),
      }, el("span", {}, shown(piece)), el("span", {}, percent(p)))));
      choices.replaceChildren(el("h3", {}, `Position ${t + 1}: likeliest subwords`), el("ol", { class: "choices" }, ...options));
    };
    const again = result.forced
      ? el("button", { type: "button", class: "plain", onclick: () => go(asked, []) }, "Back to the model's own translation") : null;
    results.replaceChildren(el("article", {},
      el("p", { class: "answer translation", lang: known[asked.model].languages[1] ?? null }, result.text),
      el("p", { class: "faint" }, `probability ${percent(result.probability)}; subwords that you chose or kept are dashed`),
      el("ol", { class: "pieces", "aria-label": "Subwords of the translation" }, ...chips.map((chip) => el("li", {}, chip))),
      choices, again, attentionView(result, shown)));
    if (result.tokens.length) select(first);
  }
}

function chance(alternatives, token) {
  const listed = alternatives.find(([piece]) => piece === token);
  return listed ? percent(listed[1]) : `< ${percent(alternatives.at(-1)[1])}`;
}
