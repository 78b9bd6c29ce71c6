// Elements, requests and numbers, shared by all tabs. Text becomes text nodes only: nothing in it is HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) element.style.setProperty(name, value);
    else if (value !== false && value !== null) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

export const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
export const svg = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

export function percent(p) {
  if (p >= 0.9995 || p === 0) return `${100 * Math.round(p)} %`;
  return p >= 0.001 ? `${(100 * p).toFixed(1)} %` : `${(100 * p).toPrecision(1)} %`;
}

// A subword as people read it: "·" marks one that continues a word.
export function shown(piece) {
  if (piece === "</s>") return "end";
  return piece.startsWith("\u2581") ? piece.slice(1) || "\u2423" : `·${piece}`;
}

const canvas = document.createElement("canvas").getContext("2d");
export function widthOf(text) {
  canvas.font = "13px system-ui, sans-serif";
  return canvas.measureText(text).width;
}

// Sends a request; calls `progress` with each line about it; returns the result or throws an Error of one line.
async function request(name, body, signal, progress) {
  const headers = { "content-type": "application/json" };
  let response;
  try {
    response = await fetch(`/api/${name}`, { method: "POST", headers, body: JSON.stringify(body), signal });
  } catch (error) {
    throw error.name === "AbortError" ? error : new Error("the server does not answer; is it still running?");
  }
  if (!response.ok) {
    const text = await response.text();
    throw new Error(text.startsWith("{") ? JSON.parse(text).error : text);
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let kept = "", part = await reader.read(); !part.done; part = await reader.read()) {
    const lines = (kept + part.value).split("\n");
    kept = lines.pop();
    for (const line of lines) {
      const event = JSON.parse(line);
      if ("error" in event) throw new Error(event.error);
      if ("result" in event) return event.result;
      progress(event.progress);
    }
  }
  throw new Error("the server ended before it answered");
}

// Makes the function that sends the requests of a panel and shows their progress or error in its status line.
// It takes a list of [name, body] and returns their results, or null after an error or a newer call.
export function runner(panel) {
  const status = panel.querySelector(".status");
  const text = el("span"), clock = el("span", { "aria-hidden": "true" }); // screen readers need not tell each second
  let current = null;
  return async function run(requests) {
    current?.abort();
    const mine = (current = new AbortController());
    const start = performance.now();
    let doing = "sent";
    const show = () => {
      const seconds = Math.floor((performance.now() - start) / 1000);
      if (text.parentNode !== status) status.replaceChildren(text, clock);
      if (text.textContent !== doing) text.textContent = doing;
      clock.textContent = seconds ? `, ${seconds} s` : "";
    };
    const progress = (stage) => { doing = stage; show(); };
    const timer = setInterval(show, 1000);
    const busy = setTimeout(() => { if (mine === current) { status.className = "status busy"; show(); } }, 150);
    try {
      const results = await Promise.all(
        requests.map(([name, body]) => request(name, body, mine.signal, (text) => mine === current && progress(text))),
      );
      if (mine !== current) return null;
      status.className = "status";
      status.textContent = "";
      return results;
    } catch (error) {
      mine.abort();
      if (mine === current) fail(panel, error.message);
      return null;
    } finally {
      clearTimeout(busy);
      clearInterval(timer);
    }
  };
}

export function fail(panel, message) {
  const status = panel.querySelector(".status");
  status.className = "status error";
  status.textContent = message;
}

// Fills a select with the models of a task; disables the form if there are none.
export function offer(panel, models, task, select = panel.querySelector("[name=model]")) {
  const fitting = models.filter((model) => model.task === task);
  select.append(...fitting.map((model) => el("option", { value: model.name }, model.name)));
  if (!fitting.length) {
    fail(panel, `no model for ${task} here`);
    panel.querySelector("form button").disabled = true;
  }
  return Object.fromEntries(fitting.map((model) => [model.name, model]));
}

// Shows the example of the chosen model, unless somebody has typed another text.
export function showExamples(form, known) {
  const { text, model } = form.elements;
  const examples = Object.values(known).map((one) => one.example);
  const show = () => {
    if (!text.value.trim() || examples.includes(text.value)) text.value = known[model.value]?.example ?? "";
  };
  model.addEventListener("change", show);
  show();
}

export function onSubmit(form, action) {
  form.addEventListener("submit", (event) => { event.preventDefault(); action(); });
  form.querySelector("textarea")?.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); form.requestSubmit(); }
  });
}

// A table that is made when somebody opens it.
export function folded(title, makeTable) {
  const details = el("details", {}, el("summary", {}, title));
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) details.append(el("div", { class: "scroll" }, makeTable()));
  });
  return details;
}

export function table(caption, head, rows) {
  return el("table", {},
    el("caption", {}, caption),
    el("thead", {}, el("tr", {}, ...head.map((cell) => el("th", { scope: "col" }, cell)))),
    el("tbody", {}, ...rows.map(([first, ...cells]) => el("tr", {}, el("th", { scope: "row" }, first),
      ...cells.map((cell) => (cell instanceof Node ? cell : el("td", { class: "number" }, `${cell}`)))))));
}
