// A game in progress: its positions, who moves for which seat, and its link. It knows nothing of the page.

import { State, openGame } from "./asobiba/index.js";

const TYPES = { int8: Int8Array, uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array, int32: Int32Array, int64: BigInt64Array, float32: Float32Array, float64: Float64Array };

export function toBase64(bytes) {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

/** Base64 as it stands in links. */
function toLink(bytes) {
  return toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function fromLink(text) {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
}

/** Fetches what an agent brings (its weights) and puts it where the package looks for it. */
export async function withFiles(game, variant, name) {
  const found = game.manifest.rulesets.find((one) => one.name === variant)?.agents[name];
  if (!found) return;
  for (const part of found.arrays ?? [found]) {
    if (!part.file) continue;
    const answer = await fetch(new URL(`./asobiba/games/${game.name}/${part.file}`, import.meta.url));
    if (!answer.ok) throw new Error(`${part.file}: ${answer.status} ${answer.statusText}`);
    part[found.arrays ? "content" : "memory"] = toBase64(new Uint8Array(await answer.arrayBuffer()));
    delete part.file;
  }
}

/** The fragment of a link as settings: game, variant, seed, seat, agents, moves. */
export function readLink(fragment) {
  return Object.fromEntries(new URLSearchParams(fragment.replace(/^#/, "")));
}

export class Table {
  static async open({ game, variant = "default", seed = 0, start = "" }) {
    const opened = await openGame(game);
    return new Table(opened, await opened.make(variant), variant, String(seed), start);
  }

  /** `from`: a position to begin with, as its bytes stand in a link; empty: a starting position. */
  constructor(game, rules, variant, seed, from = "") {
    Object.assign(this, { game, rules, variant, from });
    this.seats = {};
    this.begin(seed);
  }

  begin(seed) {
    this.seed = seed;
    this.states = [this.from ? this.rules.valid(new State(this.rules, fromLink(this.from))) : this.rules.newState(seed)];
    this.actions = [];
    this.start = 0;
  }

  get state() { return this.states.at(-1); }
  get last() { return this.actions.length ? this.actions.at(-1) : null; }
  get over() { return this.state.over; }

  /** Who gives the agents' moves: `seats` is {seat: agent}. `ready` is settled when they need nothing more from the server. */
  seated(seats) {
    this.seats = seats;
    this.ready = Promise.resolve();
    if (this.thinking || !Object.keys(seats).length) {
      this.worker?.terminate();
      this.worker = null;
      this.thinking = false;
    }
    if (!Object.keys(seats).length) return;
    this.worker ??= new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
    const { worker } = this;
    this.ready = new Promise((resolve) => {
      worker.addEventListener("message", ({ data }) => { if (data.ready) resolve(); });
    });
    this.worker.postMessage({ kind: "begin", game: this.game.name, variant: this.variant, seed: String(this.seed), seats });
  }

  /** The seats of the person that are asked now. */
  get asked() { return this.state.actors.filter((seat) => !(seat in this.seats)); }

  /** The actions of the agents that are asked now: [[seat, action], ...]. */
  answers() {
    const seats = this.state.actors.filter((seat) => seat in this.seats);
    if (!seats.length) return Promise.resolve([]);
    const id = this.actions.length;
    const { worker } = this;
    this.thinking = true;
    return new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => {
        if (worker === this.worker) this.thinking = false;
        if (data.error !== undefined) reject(new Error(data.error));
        else if (data.id === id) resolve(data.actions);
      };
      worker.onerror = (event) => reject(new Error(event.message || "the agent cannot be loaded"));
      worker.postMessage({ kind: "act", id, seats, bytes: this.state.bytes });
    });
  }

  play(action) {
    const after = this.rules.step(this.state, action, { strict: this.game.manifest.turns === "sequential" });
    this.actions.push(action);
    this.states.push(after);
  }

  /** Actions of all seats of a joint game as one. */
  joined(pairs) {
    const { spec } = this.rules._inner;
    const width = spec.actions.slice(1).reduce((size, length) => size * length, 1);
    const all = new Array(spec.actions[0] * width).fill(0);
    for (const [seat, action] of pairs) [action].flat().forEach((value, k) => { all[seat * width + k] = value; });
    return all;
  }

  /** Takes back the person's last move and all after it; whether there was one. */
  undo() {
    for (let k = this.actions.length - 1; k >= this.start; k--) {
      if (this.states[k].actors.some((seat) => !(seat in this.seats))) {
        this.states.length = k + 1;
        this.actions.length = k;
        return true;
      }
    }
    return false;
  }

  /** The sum of each seat's rewards up to a position. */
  returns(until = this.states.length - 1) {
    const totals = this.rules.players.map(() => 0);
    for (const state of this.states.slice(1, until + 1)) state.rewards.forEach((reward, seat) => { totals[seat] += reward; });
    return totals;
  }

  /** The actions as text for a link. */
  record() {
    if (this.rules.discrete && !this.rules.joint) return this.actions.join(".");
    const type = TYPES[this.rules._inner.spec.recordType];
    const values = this.actions.flat().map((value) => (type === BigInt64Array ? BigInt(value) : value));
    return toLink(new Uint8Array(new type(values).buffer));
  }

  /** Plays the actions of a link. */
  continued(text) {
    if (!text) return;
    const { rules } = this;
    if (rules.discrete && !rules.joint) {
      for (const action of text.split(".")) this.play(Number(action));
      return;
    }
    const { actions, recordType } = rules._inner.spec;
    const values = Array.from(new TYPES[recordType](fromLink(text).buffer), Number);
    const size = actions.reduce((product, length) => product * length, 1);
    for (let k = 0; k + size <= values.length; k += size) this.play(values.slice(k, k + size));
  }

  /** Shows a match of a league, whose digest, returns and ending are checked. */
  replay(match) {
    const found = this.rules.replay(match);
    this.seed = match.seed;
    this.states = found.map(({ state }) => state);
    this.actions = found.slice(0, -1).map(({ action }) => (action.length === 1 && !this.rules.joint && this.rules.discrete ? Number(action[0]) : action));
  }
}
