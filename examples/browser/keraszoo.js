// Runs what `keraszoo export MODEL FOLDER --format onnx` wrote, as translate.py and tag.py in that folder do.

import * as ort from "onnxruntime-web/wasm";
import { SentencePieceProcessor } from "@sctg/sentencepiece-js";

ort.env.wasm.wasmPaths = { wasm: new URL("ort-wasm-simd-threaded.wasm", import.meta.url).href };

const int32 = (numbers, shape) => new ort.Tensor("int32", Int32Array.from(numbers), shape);

async function read(folder, name) {
  const response = await fetch(`${folder}/${name}`);
  if (!response.ok) throw new Error(`${folder}/${name}: ${response.status} ${response.statusText}`);
  return response;
}

const readJson = async (folder, name) => (await read(folder, name)).json();

async function readGraph(folder, name) {
  return ort.InferenceSession.create(new Uint8Array(await (await read(folder, name)).arrayBuffer()));
}

async function readSubwords(folder, name) {
  const bytes = new Uint8Array(await (await read(folder, name)).arrayBuffer());
  const subwords = new SentencePieceProcessor();
  await subwords.loadFromB64StringModel(btoa(bytes.reduce((text, byte) => text + String.fromCharCode(byte), "")));
  return subwords;
}

/** The id of a piece, or that of an unknown one. */
function idOf(subwords, piece) {
  const text = new subwords.sentencepiece.StringView(piece);
  const view = text.getView();
  const id = subwords.processor.PieceToId(view);
  view.delete();
  text.delete();
  return id;
}

/** Translates sentences by greedy search. */
export class Translator {
  /** Loads the files of a folder, an address relative to the page. */
  static async load(folder) {
    const translator = new Translator();
    const about = await readJson(folder, "keraszoo.json");
    const sides = await Promise.all(about.subwords.map((name) => readSubwords(folder, name)));
    const files = about.entries.filter((name) => name.endsWith(".onnx"));
    const graphs = await Promise.all(files.map((name) => readGraph(folder, name)));
    const [source, target] = [sides[0], sides.at(-1)];
    Object.assign(translator, { about, source, target });
    translator.graphs = Object.fromEntries(files.map((name, i) => [name.replace(".onnx", ""), graphs[i]]));
    translator.unknown = idOf(source, "<unk>");
    translator.limit = idOf(source, "<end of vocabulary>"); // the pieces after it are unknown, if it is there
    translator.sourceEnd = idOf(source, "</s>");
    [translator.pad, translator.start, translator.end] = ["<pad>", "<s>", "</s>"].map((piece) => idOf(target, piece));
    return translator;
  }

  /** The translation of a sentence; that of a blank one is blank. */
  async translate(text) {
    const { unknown, limit } = this;
    const ids = this.source.encodeIds(text).slice(0, this.about.max_source_tokens);
    if (!ids.length) return "";
    const known = ids.map((id) => (id < limit || limit === unknown ? id : unknown));
    return this.target.decodeIds(await this.search([...known, this.sourceEnd])).replace(/^ +| +$/g, "");
  }

  /** The ids of the translation of a source. */
  async search(source) {
    const { max_length, room } = this.about;
    const state = await this.run("encode", { source: int32(source, [1, source.length]) });
    const tokens = [];
    for (let last = this.start; tokens.length < max_length; tokens.push(last)) {
      if (this.graphs.lengthen && tokens.length && tokens.length % room === 0) {
        Object.assign(state, await this.run("lengthen", state));
      }
      Object.assign(state, await this.run("step", { ...state, tokens: int32([last], [1]) }));
      last = this.likeliest(state.logits.data);
      if (last === this.end) break;
    }
    return tokens;
  }

  /** The likeliest word of those that may be written. */
  likeliest(logits) {
    let best = -1;
    logits.forEach((value, id) => {
      if (id !== this.pad && id !== this.start && (best < 0 || value > logits[best])) best = id;
    });
    return best;
  }

  /** The outputs of a graph by name. */
  async run(name, feed) {
    const graph = this.graphs[name];
    const outputs = await graph.run(Object.fromEntries(graph.inputNames.map((input) => [input, feed[input]])));
    return Object.fromEntries(Object.entries(outputs).map(([key, value]) => [key.replace(/^next_/, ""), value]));
  }
}

/** Finds named entities. */
export class Tagger {
  /** Loads the files of a folder, an address relative to the page. */
  static async load(folder) {
    const tagger = Object.assign(new Tagger(), await readJson(folder, "tokens.json"));
    tagger.model = await readGraph(folder, "model.onnx");
    tagger.words = new Map(Object.entries(tagger.words));
    tagger.characters = new Map(Object.entries(tagger.characters));
    const { sentence, token, unseen, part } = tagger;
    [tagger.sentence, tagger.token, tagger.unseen] = [sentence, token, unseen].map((one) => new RegExp(one, "gu"));
    tagger.part = new RegExp(part, "u");
    tagger.casings = tagger.casings.map((casing) => new RegExp(`^(?:${casing.replace("(?s)", "")})$`, "su"));
    return tagger;
  }

  /** The sentences of a text: lists of words with `start` and `end`, in units of JavaScript strings. */
  split(text) {
    const sentences = [];
    for (const sentence of text.matchAll(this.sentence)) {
      const words = [];
      for (const token of sentence[0].matchAll(this.token)) {
        let end = sentence.index + token.index;
        for (const word of token[0].split(this.part)) {
          if (word) words.push({ word, start: end, end: (end += word.length) });
        }
      }
      for (let i = 0; i < words.length; i += 512) sentences.push(words.slice(i, i + 512));
    }
    return sentences;
  }

  /** The ids of a word, of its casing and of its characters. */
  ids(text) {
    const word = text.replace(this.unseen, "$1");
    const [first = "", ...others] = word;
    let number;
    for (const form of this.backoff) {
      const forms = { l: word.toLowerCase(), c: first.toUpperCase() + others.join("").toLowerCase() };
      const base = forms[form[0]] ?? word;
      number = this.words.get(form.includes("digits") ? base.replace(/[0-9]/g, form.at(-1)) : base);
      if (number) break;
    }
    const casing = 1 + this.casings.findIndex((casing) => casing.test(word));
    const characters = [...word].slice(0, this.word_length).map((one) => this.characters.get(one) ?? 1);
    return { words: [number ?? 1], casing: [casing], characters };
  }

  /** The entities of a text: `{text, label, start, end, probability}`, counted as JavaScript counts. */
  async tag(text) {
    const entities = [];
    for (const words of this.split(text)) {
      if (words.length) entities.push(...this.entities(text, words, await this.run(words)));
    }
    return entities;
  }

  /** The tags of the words of a sentence and their probabilities. */
  async run(words) {
    const rows = words.map(({ word }) => this.ids(word));
    const longest = Math.max(...rows.map(({ characters }) => characters.length));
    const feed = {};
    for (const name of this.features) {
      const width = name === "characters" ? longest : 1;
      const numbers = rows.flatMap((row) => [...row[name], ...Array(width - row[name].length).fill(0)]);
      feed[name] = int32(numbers, name === "characters" ? [1, rows.length, width] : [1, rows.length]);
    }
    const { tags, probability } = await this.model.run(feed);
    return Array.from(tags.data, (tag, i) => ({
      tag: this.iob2.at(i ? tags.data[i - 1] : -1)[tag],
      probability: probability.data[i],
    }));
  }

  /** The entities of a sentence of tagged words. */
  entities(text, words, tagged) {
    const entities = [];
    tagged.forEach(({ tag, probability }, i) => {
      const { start, end } = words[i];
      if (tag.startsWith("B-")) entities.push({ label: tag.slice(2), start, end, probability });
      if (tag.startsWith("I-")) {
        const entity = entities.at(-1);
        Object.assign(entity, { end, probability: Math.min(entity.probability, probability) });
      }
    });
    return entities.map((entity) => ({ text: text.slice(entity.start, entity.end), ...entity }));
  }
}
