// The tab Ask: a story, a question, and where each hop of the memory network looks.

import { el, offer, onSubmit, percent, runner, table } from "./common.js";

const EXAMPLES = {
  "Where is the milk?": ["Mary got the milk there.", "John moved to the bedroom.", "Sandra went back to the kitchen.", "Mary travelled to the hallway."],
  "Where is Daniel?": ["Daniel went to the bathroom.", "Mary travelled to the office.", "Daniel journeyed to the garden.", "John went to the bedroom."],
  "What is Mary carrying?": ["Mary took the apple.", "Mary went to the kitchen.", "John picked up the football.", "John moved to the garden."],
};

export function setUp(panel, models) {
  const form = panel.querySelector("form"), results = panel.querySelector(".results"), run = runner(panel);
  offer(panel, models, "question answering");
  const { example, story, question } = form.elements;
  example.append(...Object.keys(EXAMPLES).map((name) => el("option", { value: name }, name)));
  const show = () => { story.value = EXAMPLES[example.value].join("\n"); question.value = example.value; };
  example.addEventListener("change", show);
  show();
  onSubmit(form, async () => {
    const answers = await run([["ask", { model: form.elements.model.value, story: story.value, question: question.value }]]);
    if (answers) results.replaceChildren(view(answers[0]));
  });
}

function view(result) {
  const rows = result.sentences.map((sentence, s) => [sentence, ...result.hops.map((hop) =>
    el("td", { class: "shade", "--weight": hop[s].toFixed(3) }, el("span", {}, hop[s].toFixed(2))))]);
  const head = ["sentence", ...result.hops.map((_, k) => `hop ${k + 1}`)];
  return el("article", {},
    el("p", { class: "answer" }, result.answer),
    el("p", { class: "faint" }, `probability ${percent(result.probability)}`),
    el("div", { class: "scroll" }, table("Attention weights of each hop over the sentences in the memory", head, rows)));
}
