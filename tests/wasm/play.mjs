// Plays games of a package written by `asobiba wasm` and prints what came out as JSON: `node play.mjs < job.json`.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const job = JSON.parse(readFileSync(0, "utf8"));
const folder = pathToFileURL(`${job.package}/`);
const { open } = await import(new URL("index.js", folder));

// The same numbers as `hashed` in Python: 32 bits from the game, the step and the player.
function hashed(i, t, k) {
  let x = (Math.imul(i + 1, 0x9e3779b1) ^ Math.imul(t + 1, 0x85ebca6b) ^ Math.imul(k + 1, 0xc2b2ae35)) >>> 0;
  x = Math.imul(x ^ (x >>> 15), 0x2c1b3c6d) >>> 0;
  x = Math.imul(x ^ (x >>> 12), 0x297a2d39) >>> 0;
  return (x ^ (x >>> 15)) >>> 0;
}

function choose(rules, batch, t) {
  const { actions, masks, count } = batch;
  const width = actions.length / count;
  for (let i = 0; i < count; i++) {
    for (let k = 0; k < width; k++) {
      const at = i * width + k;
      if (!rules.discrete) {
        const low = rules.box.low[k % rules.box.low.length];
        const high = rules.box.high[k % rules.box.high.length];
        actions[at] = low + (high - low) * (hashed(i, t, k) / 2 ** 32);
        continue;
      }
      const row = masks.subarray(at * rules.numActions, (at + 1) * rules.numActions);
      let legal = 0;
      for (const one of row) legal += one !== 0;
      let rank = legal ? hashed(i, t, k) % legal : 0;
      let chosen = -1;
      for (let a = 0; a < row.length; a++) if (row[a] !== 0 && rank-- === 0) { chosen = a; break; }
      actions[at] = BigInt(chosen);
    }
  }
}

async function random({ game, variant, count, seed }) {
  const rules = await (await open(new URL(`games/${game}/`, folder))).make(variant);
  const batch = rules.batch(count);
  const sum = createHash("sha256");
  const { size, fields } = rules._inner.about.state;
  const over = () => {
    const { states } = batch;
    for (let i = 0; i < count; i++) {
      if (!states[i * size + fields.terminated.at] && !states[i * size + fields.truncated.at]) return false;
    }
    return true;
  };
  batch.new(seed);
  let steps = 0;
  while (!over()) {
    batch.legal();
    choose(rules, batch, steps);
    const { players } = batch;
    for (let i = 0; i < count; i++) players[i] = BigInt((i + steps) % rules.players.length);
    batch.observe();
    for (const part of [batch.states, batch.masks, batch.actions, batch.observations]) sum.update(new Uint8Array(part.buffer, part.byteOffset, part.byteLength));
    batch.step();
    steps++;
  }
  batch.valid();
  const valid = batch.found.every((one) => one === 1);
  sum.update(batch.states);
  const digest = rules._inner.heap.digest(batch.states.slice(0, size), 8);
  batch.hide();
  sum.update(batch.states);
  return { digest: sum.digest("hex"), first: digest, steps, valid };
}

async function agents({ game, variant, agent, games, seed }) {
  const rules = await (await open(new URL(`games/${game}/`, folder))).make(variant);
  const found = [];
  const made = new Map(); // by seat: what an agent works with is never given back
  const at = (name, k) => {
    if (!made.has(`${name} ${k}`)) made.set(`${name} ${k}`, rules.agent(name));
    return made.get(`${name} ${k}`);
  };
  for (let g = 0; g < games; g++) {
    const seats = rules.players.map((_, k) => at((k + g) % 2 ? "random" : agent, k));
    seats.forEach((one, k) => one.begin(k, rules.agentSeed(seed + g, k)));
    let state = rules.newState(seed + g);
    const sum = createHash("sha256");
    while (!state.over) {
      const width = rules.joint ? rules._inner.spec.actions[0] : 1;
      const action = Array.from({ length: width }, () => rules.discrete ? [0] : rules.box.low.map(() => 0));
      for (const seat of state.actors) action[rules.joint ? seat : 0] = [seats[seat].act(state)].flat();
      sum.update(JSON.stringify(action.flat()));
      state = rules.step(state, action.flat(), { strict: false });
    }
    found.push(`${state.steps} ${rules.digest(state)}${rules.discrete ? ` ${sum.digest("hex").slice(0, 16)}` : ""}`);
  }
  return found;
}

async function replay({ game, match }) {
  const found = await open(new URL(`games/${game}/`, folder));
  const rules = await found.make(match.parameters);
  const positions = rules.replay(match);
  return { positions: positions.length, digest: rules.digest(positions.at(-1).state) };
}

const kinds = { random, agents, replay };
const answers = [];
for (const one of job.jobs) {
  try {
    answers.push(await kinds[one.kind](one));
  } catch (error) {
    answers.push({ error: error.name, message: error.message });
  }
}
console.log(JSON.stringify(answers));
