// The page: loads both models and shows their answers.

import { Tagger, Translator } from "./keraszoo.js";

async function translated(translator, text) {
  const lines = [];
  for (const line of text.split("\n")) lines.push(await translator.translate(line));
  return [lines.join("\n")];
}

async function tagged(tagger, text) {
  const parts = [];
  let end = 0;
  for (const entity of await tagger.tag(text)) {
    const mark = document.createElement("mark");
    const label = document.createElement("small");
    label.textContent = `${entity.label} ${entity.probability.toFixed(2)}`;
    mark.append(entity.text, label);
    parts.push(text.slice(end, entity.start), mark);
    end = entity.end;
  }
  return [...parts, text.slice(end)];
}

async function prepare(id, load, answer) {
  const form = document.getElementById(id);
  const [button, status, output] = ["button", ".status", "output"].map((one) => form.querySelector(one));
  const timed = async (work) => {
    const began = performance.now();
    button.disabled = true;
    try {
      await work();
      status.textContent = `${((performance.now() - began) / 1000).toFixed(2)} s`;
      button.disabled = false;
    } catch (error) {
      status.textContent = error.message;
      throw error;
    }
  };
  let model;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    timed(async () => output.replaceChildren(...(await answer(model, form.elements.text.value))));
  });
  await timed(async () => (model = await load()));
}

await prepare("translate", () => Translator.load("translator"), translated);
await prepare("tag", () => Tagger.load("tagger"), tagged);
document.body.dataset.ready = "yes";
