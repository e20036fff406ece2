// The drawing of a game in its module: scenes, which writer.js writes as SVG, and words.

import { Writer } from "./writer.js";

const [ACTION, SPOT, ENDING, ASKED, LOG, DONE] = [0, 1, 2, 3, 4, 5];
const LOG_PARTS = 3;

/** The drawing of a ruleset of a game that was written with pictures. */
export class Pen {
  constructor(rules) {
    const { heap, spec, about } = rules._inner;
    this.rules = rules;
    this.tables = spec.picture;
    this.writer = new Writer(this.tables);
    const data = Uint8Array.from(atob(this.tables.data), (letter) => letter.charCodeAt(0));
    this.count = data.length / 8;
    this.width = this.tables.columns;
    this.at = {
      data: heap.reserve(data.length),
      state: heap.reserve(about.state.size),
      mask: heap.reserve(Math.max(1, spec.numActions)),
      out: heap.reserve(this.tables.rows * this.width * 8),
    };
    heap.bytes(this.at.data, data.length).set(data);
  }

  #call(name, state, ...others) {
    const { heap, params } = this.rules._inner;
    heap.bytes(this.at.state, state.bytes.length).set(state.bytes);
    heap.array("float64", this.at.out, 1)[0] = 0;
    heap.exports[name](this.count, this.at.data, this.at.state, params, ...others, this.at.out);
    const count = heap.array("float64", this.at.out, 1)[0];
    return heap.array("float64", this.at.out, (count + 1) * this.width);
  }

  #rows(name, state, ...others) {
    const found = this.#call(name, state, ...others);
    const rows = [];
    for (let k = 0; k < found[0]; k++) rows.push(Array.from(found.subarray(k * this.width, (k + 1) * this.width)));
    return rows;
  }

  scene(state, seat = null, last = null) {
    const { rules } = this;
    const { heap } = rules._inner;
    const mask = heap.bytes(this.at.mask, Math.max(1, rules.numActions));
    mask.fill(0);
    if (rules.discrete && !rules.joint && !state.over) {
      const found = rules.mask(state);
      heap.bytes(this.at.mask, found.length).set(found);
    }
    const action = typeof last === "number" ? last : -1;
    return this.#rows("scene", state, this.at.mask, BigInt(seat ?? -1), BigInt(action));
  }

  /** The spots to click for an action, or null where actions are not clicked. */
  spots(state, action) {
    if (!this.rules._inner.heap.exports.spots) return null;
    const found = this.#call("spots", state, BigInt(action));
    return Array.from({ length: found[0] }, (_, k) => found[(k + 1) * this.width]);
  }

  /** The action of these values of the controls. */
  answer(state, values) {
    const { heap } = this.rules._inner;
    const out = heap.array("float64", this.at.out, (values.length + 1) * this.width);
    values.forEach((value, k) => { out[(k + 1) * this.width] = value; });
    const found = this.#call("answer", state);
    return Array.from({ length: found[0] }, (_, k) => found[(k + 1) * this.width]);
  }

  #tell(state, what, about) {
    return this.writer.words(this.#rows("tell", state, BigInt(what), BigInt(about)).slice(1));
  }

  get language() { return this.writer.language; }
  set language(name) { this.writer.language = name; }
  /** The languages of the game's texts beside English. */
  get languages() { return Object.keys(this.tables.languages); }

  action(state, action) { return this.#tell(state, ACTION, action); }
  spot(state, spot) { return this.#tell(state, SPOT, spot); }
  ending(state) { return this.#tell(state, ENDING, 0); }
  /** What a seat (-1: nobody) is asked; empty where the game does not say. */
  asked(state, seat) { return this.#tell(state, ASKED, seat); }
  /** The move that led to a state; empty where the game does not say. */
  done(state) { return this.#tell(state, DONE, 0); }
  /** What was said and done: for each day its lines, the first a heading. */
  log(state) {
    const days = [];
    for (let at = 0; ; at += LOG_PARTS) {
      const parts = Array.from({ length: LOG_PARTS }, (_, part) => this.#tell(state, LOG, at + part));
      if (!parts[0]) return days.filter((lines) => lines.length > 1);
      days.push(parts.flatMap((part) => part.split("\n")).filter(Boolean));
    }
  }

  svg(state, seat = null, last = null) {
    return this.writer.svg(this.scene(state, seat, last), (spot) => this.spot(state, spot));
  }
}
