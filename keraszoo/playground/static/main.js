// The tabs, and the models that each of them offers.

import { setUp as ask } from "./ask.js";
import { fail } from "./common.js";
import { setUp as layers } from "./layers.js";
import { setUp as step } from "./step.js";
import { setUp as tag } from "./tag.js";
import { setUp as translate } from "./translate.js";

const tabs = [...document.querySelectorAll("[role=tab]")];
const panelOf = (tab) => document.getElementById(tab.getAttribute("aria-controls"));
const whenShown = {};

for (const form of document.querySelectorAll("[data-begins-with]"))
  form.prepend(document.getElementById(form.dataset.beginsWith).content.cloneNode(true));

function show(tab) {
  for (const other of tabs) {
    other.setAttribute("aria-selected", String(other === tab));
    other.tabIndex = other === tab ? 0 : -1;
    panelOf(other).hidden = other !== tab;
  }
  whenShown[panelOf(tab).id]?.();
}

function fromAddress() {
  show(tabs.find((tab) => `#${panelOf(tab).id}` === location.hash) ?? tabs[0]);
}

for (const [i, tab] of tabs.entries()) {
  const choose = (chosen) => history.replaceState(null, "", `#${panelOf(chosen).id}`) ?? show(chosen);
  tab.addEventListener("click", () => choose(tab));
  tab.addEventListener("keydown", (event) => {
    const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!move) return;
    const next = tabs.at((i + move) % tabs.length);
    next.focus();
    choose(next);
  });
}
window.addEventListener("hashchange", fromAddress);

try {
  const models = await (await fetch("/api/models")).json();
  for (const [id, setUp] of Object.entries({ translate, step, tag, ask, layers }))
    whenShown[id] = setUp(document.getElementById(id), models);
  document.body.dataset.ready = "true";
} catch (error) {
  for (const tab of tabs) fail(panelOf(tab), `the models cannot be listed: ${error.message}`);
}
fromAddress();
