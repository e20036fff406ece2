// Games and agents of asobiba as WebAssembly: the same bytes as in Python for the same seeds and actions.
// Types and their documentation stand in index.d.ts.

const FORMAT = 1;
const TYPES = {
  int8: Int8Array, uint8: Uint8Array, bool: Uint8Array, int16: Int16Array, uint16: Uint16Array, int32: Int32Array,
  uint32: Uint32Array, int64: BigInt64Array, uint64: BigUint64Array, float32: Float32Array, float64: Float64Array,
};
const REASONS = ["running", "rules", "illegal action", "truncation"];
const MAGIC = "asobiba-state ";

export class AsobibaError extends Error {
  constructor(message) {
    super(message);
    this.name = new.target.name;
  }
}
export class UnknownGame extends AsobibaError {}
export class UnknownAgent extends AsobibaError {}
export class GameParameterError extends AsobibaError {}
export class IllegalAction extends AsobibaError {}
export class StateBytesError extends AsobibaError {}
export class ReplayError extends AsobibaError {}
export class ModuleError extends AsobibaError {}

function fromBase64(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

function hexadecimal(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// JSON with sorted keys, so that equal parameters give equal text.
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const keys = Object.keys(value).sort();
    return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(",")}}`;
  }
  return JSON.stringify(value);
}

function product(shape) {
  return shape.reduce((size, length) => size * length, 1);
}

async function readFile(url) {
  if (url.protocol === "file:") {
    const { readFile: read } = await import("node:fs/promises");
    return new Uint8Array(await read(url));
  }
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
  return new Uint8Array(await answer.arrayBuffer());
}

/** The loader of a folder (a URL), or of what the caller offers. */
function loader(place) {
  if (typeof place === "function") return place;
  const folder = new URL(String(place).endsWith("/") ? place : `${place}/`);
  return (name) => readFile(new URL(name, folder));
}

export async function open(place) {
  const load = loader(place);
  let manifest;
  try {
    manifest = JSON.parse(new TextDecoder().decode(await load("game.json")));
  } catch (error) {
    throw new UnknownGame(`no game can be read from ${typeof place === "function" ? "there" : place}: ${error.message}`);
  }
  if (manifest.format !== FORMAT) {
    throw new ModuleError(`game.json has format ${manifest.format}, this library reads ${FORMAT}; write both by one asobiba`);
  }
  return new Game(manifest, load);
}

export async function openGame(name) {
  return open(new URL(`./games/${name}/`, import.meta.url));
}

export class Game {
  #load;
  #modules = new Map();

  constructor(manifest, load) {
    this.manifest = manifest;
    this.name = manifest.game;
    this.version = manifest.version;
    this.title = manifest.title;
    this.#load = load;
  }

  get variants() {
    return this.manifest.rulesets.map(({ name, parameters }) => ({ name, parameters }));
  }

  get agents() {
    return this.manifest.agents;
  }

  async make(parameters = {}) {
    const wanted = this.#find(parameters);
    await this.#complete(wanted);
    const module = await this.#module(wanted.module);
    return new Ruleset(this, wanted, this.manifest.modules[wanted.module], await WebAssembly.instantiate(module, {}));
  }

  /** Reads the parts of a parameter set that lie in files of their own (pages have them, so that little is fetched). */
  async #complete(spec) {
    for (const [part, file] of Object.entries(spec.files ?? {})) {
      const bytes = await this.#load(file);
      spec[part] = file.endsWith(".json") ? JSON.parse(new TextDecoder().decode(bytes)) : bytes;
      delete spec.files[part];
    }
  }

  #find(parameters) {
    const { rulesets, defaults } = this.manifest;
    if (typeof parameters === "string") {
      const named = rulesets.find(({ name }) => name === parameters);
      if (named) return named;
      const names = rulesets.map(({ name }) => name).join(", ");
      throw new GameParameterError(`${this.name} has no variant ${JSON.stringify(parameters)} here; variants: ${names}`);
    }
    for (const key of Object.keys(parameters)) {
      if (!(key in defaults)) {
        const known = Object.keys(defaults).join(", ") || "none";
        throw new GameParameterError(`${this.name} has no parameter ${JSON.stringify(key)}. Its parameters are: ${known}.`);
      }
    }
    const text = canonical({ ...defaults, ...parameters });
    const found = rulesets.find((ruleset) => canonical(ruleset.parameters) === text);
    if (found) return found;
    const options = Object.entries(parameters).map(([key, value]) => ` -p ${key}=${JSON.stringify(value)}`).join("");
    throw new GameParameterError(
      `${this.name} was not written with the parameters ${JSON.stringify(parameters)}; variants here: ` +
        `${rulesets.map(({ name }) => name).join(", ")}. Write it with: asobiba wasm ${this.name}${options} -o FOLDER`,
    );
  }

  #module(name) {
    if (!this.#modules.has(name)) this.#modules.set(name, this.#compile(name));
    return this.#modules.get(name);
  }

  async #compile(name) {
    const about = this.manifest.modules[name];
    const damaged = (why) => new ModuleError(`${name} is damaged (${why}); write it again with: asobiba wasm ${this.name} -o FOLDER`);
    const bytes = await this.#load(name);
    if (bytes.length !== about.size) throw damaged(`${bytes.length} bytes instead of ${about.size}`);
    let module, found;
    try {
      module = await WebAssembly.compile(bytes);
      // The module computes its own digest: where that code is damaged too, the result is not what is written.
      const memory = new Heap(await WebAssembly.instantiate(module, {}));
      found = memory.digest(bytes, 32);
    } catch (error) {
      throw damaged(error.message);
    }
    if (found !== about.digest) throw damaged("another digest than game.json says");
    return module;
  }
}

/** The memory of an instance: room behind what the module itself uses, given out once and never taken back. */
class Heap {
  constructor(instance) {
    this.exports = instance.exports;
    this.top = instance.exports.__heap_base.value;
    this.work = this.reserve(40 * 8);
    this.out = this.reserve(64);
    this.data = { at: 0, size: 0 };
  }

  get buffer() {
    return this.exports.memory.buffer;
  }

  reserve(size) {
    const at = (this.top + 63) & ~63;
    this.top = at + size;
    const missing = this.top - this.buffer.byteLength;
    if (missing > 0) this.exports.memory.grow(Math.ceil(missing / 65536));
    return at;
  }

  bytes(at, size) {
    return new Uint8Array(this.buffer, at, size);
  }

  array(type, at, length) {
    return new TYPES[type](this.buffer, at, length);
  }

  digest(bytes, size) {
    if (this.data.size < bytes.length) this.data = { at: this.reserve(bytes.length), size: bytes.length };
    this.bytes(this.data.at, bytes.length).set(bytes);
    this.exports.digest(bytes.length, this.data.at, size, this.work, this.out);
    return hexadecimal(this.bytes(this.out, size));
  }
}

/** Arrays for `count` games, one after another in the module's memory. */
export class Batch {
  constructor(rules, count) {
    const { heap, about, spec } = rules._inner;
    this.rules = rules;
    this.count = count;
    this._heap = heap;
    this._rows = {
      states: ["uint8", about.state.size],
      masks: ["int8", product(spec.masks)],
      actions: [spec.actionType, product(spec.actions)],
      players: ["int64", 1],
      observations: [spec.observation.type, spec.observation.size],
      samplers: ["uint8", 24],
      found: ["uint8", 1],
    };
    this._at = {};
    for (const [name, [type, length]] of Object.entries(this._rows)) {
      this._at[name] = heap.reserve(count * length * TYPES[type].BYTES_PER_ELEMENT);
    }
  }

  #view(name) {
    const [type, length] = this._rows[name];
    return this._heap.array(type, this._at[name], this.count * length);
  }

  get states() { return this.#view("states"); }
  get masks() { return this.#view("masks"); }
  get actions() { return this.#view("actions"); }
  get players() { return this.#view("players"); }
  get observations() { return this.#view("observations"); }
  get samplers() { return this.#view("samplers"); }
  get found() { return this.#view("found"); }

  new(seed) {
    const { params, blank } = this.rules._inner;
    this._heap.exports.new(this.count, this._at.states, params, blank, asSeed(seed));
  }
  seedStates(seed) { this._heap.exports.seed(this.count, this._at.states, asSeed(seed)); }
  seedSamplers(seed) {
    for (let i = 0; i < this.count; i++) {
      this._heap.exports.agent_seed(1, this._at.samplers + 24 * i, asSeed(BigInt(seed) + BigInt(i)), 0);
    }
  }
  reset() {
    const { params, blank } = this.rules._inner;
    this._heap.exports.reset(this.count, this._at.states, params, blank);
  }
  legal() { this._heap.exports.legal(this.count, this._at.states, this.rules._inner.params, this._at.masks); }
  sample() {
    const { states, masks, samplers, actions } = this._at;
    this._heap.exports.sample(this.count, states, this.rules._inner.params, masks, samplers, actions);
  }
  step() {
    const { states, actions, masks } = this._at;
    this._heap.exports.step(this.count, states, this.rules._inner.params, actions, masks);
  }
  observe() {
    const { states, players, observations } = this._at;
    this._heap.exports.observe(this.count, states, this.rules._inner.params, players, observations);
  }
  hide() { this._heap.exports.hide(this.count, this._at.states, this.rules._inner.params, this._at.players); }
  resample() {
    if (this._heap.exports.resample) {
      this._heap.exports.resample(this.count, this._at.states, this.rules._inner.params, this._at.players);
    }
  }
  valid() { this._heap.exports.valid(this.count, this._at.states, this.rules._inner.params, this._at.found); }
}

function asSeed(seed) {
  return BigInt.asUintN(64, BigInt(seed));
}

/** A position: the record's bytes, which nothing changes. */
export class State {
  constructor(rules, bytes) {
    this.rules = rules;
    this.bytes = bytes;
  }

  get(name) {
    const field = this.rules._inner.about.state.fields[name];
    if (field === undefined) {
      const known = Object.keys(this.rules._inner.about.state.fields).join(", ");
      throw new StateBytesError(`a state of ${this.rules.game.name} has no field ${JSON.stringify(name)}; its fields: ${known}`);
    }
    const size = product(field.shape) * TYPES[field.type].BYTES_PER_ELEMENT;
    const values = new TYPES[field.type](this.bytes.slice(field.at, field.at + size).buffer);
    return field.shape.length ? values : values[0];
  }

  get over() { return this.get("terminated") !== 0 || this.get("truncated") !== 0; }
  get toMove() { return this.get("to_move"); }
  get steps() { return this.get("steps"); }
  get rewards() { return Array.from(this.get("rewards")).slice(0, this.rules.players.length); }
  get endReason() { return REASONS[this.get("end_reason")]; }
  get actors() {
    if (this.over) return [];
    const { turns } = this.rules.game.manifest;
    const everybody = this.rules.players.map((_, seat) => seat);
    if (turns === "sequential") return [this.toMove];
    if (turns === "simultaneous") return everybody;
    const acting = this.get("acting");
    return everybody.filter((seat) => acting[seat]);
  }
}

export class Ruleset {
  constructor(game, spec, about, instance) {
    const heap = new Heap(instance);
    const params = typeof spec.params === "string" ? fromBase64(spec.params) : spec.params;
    const at = heap.reserve(params.length);
    heap.bytes(at, params.length).set(params);
    const blank = heap.reserve(about.state.size);
    if (spec.blank) heap.bytes(blank, about.state.size).set(fromBase64(spec.blank));
    this.game = game;
    this.parameters = spec.parameters;
    this.players = spec.players;
    this._inner = { heap, spec, about, params: at, blank };
    this._one = new Batch(this, 1);
  }

  get joint() { return this.game.manifest.turns !== "sequential"; }
  get discrete() { return this._inner.spec.box === null; }
  get numActions() { return this._inner.spec.numActions; }
  get box() { return this._inner.spec.box; }
  get maxSteps() { return this._inner.spec.maxSteps; }
  get agents() { return Object.keys(this._inner.spec.agents); }

  batch(count) {
    return new Batch(this, count);
  }

  newState(seed) {
    this._one.new(seed);
    return this.#taken();
  }

  #taken() {
    return new State(this, this._one.states.slice());
  }

  #put(state) {
    if (!(state instanceof State) || state.bytes.length !== this._inner.about.state.size) {
      throw new StateBytesError(`this is not a state of ${this.game.name} with these parameters`);
    }
    this._one.states.set(state.bytes);
    return this._one;
  }

  #seat(seat) {
    if (Number.isInteger(seat) && seat >= 0 && seat < this.players.length) return seat;
    throw new GameParameterError(
      `${this.game.name} has no seat ${seat}: seats are 0 to ${this.players.length - 1} (${this.players.join(", ")})`,
    );
  }

  #about(state, seat) {
    const one = this.#put(state);
    one.players[0] = BigInt(this.#seat(seat));
    return one;
  }

  mask(state, seat) {
    const one = this.#put(state);
    one.legal();
    const width = this.discrete ? this.numActions : 0;
    if (!this.joint) return one.masks.slice();
    return seat === undefined ? one.masks.slice() : one.masks.slice(this.#seat(seat) * width, (seat + 1) * width);
  }

  legalActions(state, seat) {
    const mask = this.mask(state, this.joint ? (seat ?? 0) : undefined);
    return Array.from(mask.keys()).filter((action) => mask[action]);
  }

  step(state, action, { strict = true } = {}) {
    const one = this.#put(state);
    one.legal();
    this.#write(one.actions, action);
    if (strict) this.#require(state, one);
    one.step();
    return this.#taken();
  }

  #write(actions, action) {
    const values = typeof action === "number" || typeof action === "bigint" ? [action] : Array.from(action ?? []);
    const { spec } = this._inner;
    const big = spec.actionType === "int64";
    const good = values.length === actions.length && values.every((v) => typeof v === "bigint" || typeof v === "number") &&
      (!big || values.every((v) => typeof v === "bigint" || Number.isSafeInteger(v)));
    if (!good) {
      const wanted = actions.length === 1 && big ? `an integer from 0 to ${this.numActions - 1}` : `${actions.length} numbers (shape ${JSON.stringify(spec.actions)}, ${spec.actionType})`;
      throw new IllegalAction(`${this.game.name} takes ${wanted} as an action, not ${String(action)}`);
    }
    values.forEach((value, k) => { actions[k] = big ? BigInt(value) : Number(value); });
  }

  #require(state, one) {
    const { spec } = this._inner;
    if (!this.discrete) {
      const size = spec.box.low.length;
      one.actions.forEach((value, k) => {
        if (!(value >= spec.box.low[k % size] && value <= spec.box.high[k % size])) {
          throw new IllegalAction(`${Array.from(one.actions)} is outside the action space of ${this.game.name}: from ${spec.box.low} to ${spec.box.high}`);
        }
      });
      return;
    }
    const seats = this.joint ? state.actors : [0];
    for (const row of seats) {
      const mask = one.masks.subarray(row * this.numActions, (row + 1) * this.numActions);
      const chosen = Number(one.actions[row]);
      if (mask[chosen] !== 1) {
        const legal = Array.from(mask.keys()).filter((k) => mask[k]);
        const who = this.players[this.joint ? row : Math.max(state.toMove, 0)];
        const shown = legal.length ? legal.slice(0, 40).join(", ") : "none, the game is over";
        throw new IllegalAction(`${who} may not play ${chosen} in ${this.game.name}. Legal actions: ${shown}`);
      }
    }
  }

  observation(state, seat) {
    const one = this.#about(state, seat);
    one.observe();
    return one.observations.slice();
  }

  channels(observation) {
    const found = {};
    let start = 0;
    for (const [name, shape] of Object.entries(this._inner.spec.observation.channels)) {
      found[name] = observation.slice(start, start + product(shape));
      start += product(shape);
    }
    return found;
  }

  view(state, seat) {
    this.#about(state, seat).hide();
    return this.#taken();
  }

  resample(view, seat, seed) {
    const one = this.#about(view, seat);
    if (this.joint && !view.over) new DataView(this._inner.heap.buffer).setInt8(one._at.states + this._inner.about.state.fields.to_move.at, -1);
    one.hide();
    one.seedStates(seed);
    one.resample();
    return this.#taken();
  }

  digest(state) {
    return this._inner.heap.digest(state.bytes, 8);
  }

  toBytes(state) {
    const header = new TextEncoder().encode(`${MAGIC}${this._inner.spec.header}\n`);
    const all = new Uint8Array(header.length + state.bytes.length);
    all.set(header);
    all.set(state.bytes, header.length);
    return all;
  }

  fromBytes(bytes) {
    const data = new Uint8Array(bytes);
    const wanted = new TextEncoder().encode(`${MAGIC}${this._inner.spec.header}\n`);
    const head = data.indexOf(10);
    const text = new TextDecoder().decode(data.subarray(0, head < 0 ? 200 : head));
    if (!text.startsWith(MAGIC) || head < 0) throw new StateBytesError(`these ${data.length} bytes are no state: they do not begin with ${JSON.stringify(MAGIC)}`);
    if (`${text}\n` !== new TextDecoder().decode(wanted)) {
      throw new StateBytesError(`these bytes are a state of ${text.slice(MAGIC.length)}, expected one of ${this._inner.spec.header}`);
    }
    const body = data.slice(head + 1);
    if (body.length !== this._inner.about.state.size) {
      throw new StateBytesError(`a state of ${this.game.name} has ${this._inner.about.state.size} bytes after its header, these are ${body.length}`);
    }
    return this.valid(new State(this, body));
  }

  valid(state) {
    const one = this.#put(state);
    one.valid();
    if (!one.found[0]) throw new StateBytesError(`this record is not a state of ${this.game.name}: the rules cannot have produced it`);
    return state;
  }

  agent(name = "random") {
    const found = this._inner.spec.agents[name];
    if (found) return new Agent(this, name, found);
    const why = this.game.manifest.missing[name];
    throw new UnknownAgent(
      why ? `${name} is not here: ${why}` : `no agent of ${this.game.name} is called ${JSON.stringify(name)} here; agents: ${this.agents.join(", ")}`,
    );
  }

  agentSeed(seed, seat) {
    const text = this._inner.heap.digest(new TextEncoder().encode(`${BigInt(seed)}/${seat}`), 8);
    return BigInt(`0x${text}`) >> 1n;
  }

  *positions(match) {
    const { spec } = this._inner;
    const actions = this.#recorded(match);
    let state = this.newState(match.seed);
    const returns = this.players.map(() => 0);
    for (const action of actions) {
      if (state.over) throw new ReplayError(`the game is over after ${state.steps} actions, but ${actions.length} are on record`);
      yield { state, action };
      state = this.step(state, action, { strict: false });
      state.rewards.forEach((reward, seat) => { returns[seat] += reward; });
    }
    const digest = this.digest(state);
    if (digest !== match.digest) {
      throw new ReplayError(`replaying its ${actions.length} actions ends in a state with digest ${digest}, not ${match.digest} as on record`);
    }
    const outside = match.reason === "crash" || match.reason === "time-out";
    if (outside) {
      const { illegalReward, zeroSum } = spec;
      returns.forEach((_, seat) => {
        const others = zeroSum ? -illegalReward / (this.players.length - 1) : 0;
        returns[seat] += seat === match.culprit ? illegalReward : others;
      });
    } else if (match.reason !== undefined && match.reason !== state.endReason) {
      throw new ReplayError(`ended by ${match.reason} on record, by ${state.endReason} in the replay`);
    }
    if (match.returns !== undefined && match.returns.some((value, seat) => value !== returns[seat])) {
      throw new ReplayError(`returns ${match.returns} on record, ${returns} in the replay`);
    }
    yield { state, action: null };
  }

  replay(match) {
    return Array.from(this.positions(match));
  }

  #recorded(match) {
    const { name, version } = this.game;
    if (match.game !== name || match.version !== version) {
      throw new ReplayError(`this match is of ${match.game} version ${match.version}, but this is ${name} version ${version}`);
    }
    if (canonical(match.parameters) !== canonical(this.parameters)) {
      throw new ReplayError(`this match has the parameters ${canonical(match.parameters)}, this ruleset ${canonical(this.parameters)}`);
    }
    const { recordType, actions } = this._inner.spec;
    const bytes = typeof match.actions === "string" ? fromBase64(match.actions) : new Uint8Array(match.actions);
    const type = TYPES[recordType];
    const length = product(actions);
    if (bytes.length % (length * type.BYTES_PER_ELEMENT)) throw new ReplayError(`${bytes.length} bytes are not actions of ${name}`);
    const values = new type(bytes.buffer, bytes.byteOffset, bytes.length / type.BYTES_PER_ELEMENT);
    const rows = [];
    for (let k = 0; k < values.length; k += length) rows.push(Array.from(values.subarray(k, k + length)));
    return rows;
  }
}

/** A compiled agent at one seat of one game. */
export class Agent {
  #export;
  #width;
  #mask;
  #view;
  #action;
  #owned;
  #generator;
  #seated;
  #kernel;

  constructor(rules, name, found) {
    const { heap, spec, about } = rules._inner;
    this.rules = rules;
    this.name = name;
    this.seat = null;
    this.#export = heap.exports[found.export];
    this.#width = rules.joint ? product(spec.actions.slice(1)) : product(spec.actions);
    this.#view = heap.reserve(about.state.size);
    this.#action = heap.reserve(this.#width * TYPES[spec.actionType].BYTES_PER_ELEMENT);
    this.#mask = heap.reserve(Math.max(1, spec.numActions));
    // A kernel has a memory record; others have arrays of their own.
    this.#kernel = found.arrays === undefined;
    const arrays = found.arrays ?? [{ content: found.memory }];
    this.#generator = found.generator ?? 0;
    this.#seated = this.#kernel || found.seated === true;
    this.#owned = arrays.map(({ size, content }) => {
      const bytes = content ? fromBase64(content) : null;
      return { at: heap.reserve(size ?? bytes.length), size: size ?? bytes.length, bytes };
    });
  }

  begin(seat, seed) {
    const { heap } = this.rules._inner;
    for (const { at, size, bytes } of this.#owned) {
      if (bytes) heap.bytes(at, size).set(bytes);
      else heap.bytes(at, size).fill(0);
    }
    const at = this.#owned[this.#generator]?.at;
    if (at !== undefined && this.#seated) heap.exports.agent_seed(1, at, asSeed(seed), seat);
    else if (at !== undefined) heap.exports.seed(1, at, asSeed(seed));
    this.seat = seat;
  }

  act(state) {
    if (this.seat === null) throw new AsobibaError("begin(seat, seed) comes before act");
    const { rules } = this;
    const { heap, spec, about, params } = rules._inner;
    const view = rules.view(state, this.seat);
    heap.bytes(this.#view, about.state.size).set(view.bytes);
    if (rules.joint) new DataView(heap.buffer).setInt8(this.#view + about.state.fields.to_move.at, this.seat);
    const mask = rules.mask(state, rules.joint ? this.seat : undefined);
    heap.bytes(this.#mask, mask.length).set(mask);
    const own = this.#owned.map(({ at }) => at);
    this.#export(1, this.#view, params, this.#mask, ...own, this.#action);
    const values = heap.array(spec.actionType, this.#action, this.#width);
    return rules.discrete ? Number(values[0]) : Array.from(values);
  }
}
