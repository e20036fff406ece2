// Steps per second of random play in a game's WebAssembly module: node wasm_random.mjs PACKAGE GAME COUNT SECONDS
// Timed are the module's own calls: legal actions, a uniform draw where the game has one, the step, the observation.
import { pathToFileURL } from "node:url";

const [place, name, count, seconds] = process.argv.slice(2);
const folder = pathToFileURL(`${place}/`);
const { open } = await import(new URL("index.js", folder));
const rules = await (await open(new URL(`games/${name}/`, folder))).make();
const games = Number(count);
const batch = rules.batch(games);
const { size, fields } = rules._inner.about.state;
const drawn = rules._inner.heap.exports.sample !== undefined;

function live() {
  const { states } = batch;
  let found = 0;
  for (let i = 0; i < games; i++) found += !(states[i * size + fields.terminated.at] || states[i * size + fields.truncated.at]);
  return found;
}

function choose() {
  const { actions, masks } = batch;
  const width = rules.discrete ? masks.length / actions.length : 0;
  for (let at = 0; at < actions.length; at++) {
    if (!rules.discrete) {
      const k = at % rules.box.low.length;
      actions[at] = rules.box.low[k] + (rules.box.high[k] - rules.box.low[k]) * Math.random();
      continue;
    }
    const legal = [];
    for (let a = 0; a < width; a++) if (masks[at * width + a]) legal.push(a);
    actions[at] = BigInt(legal.length ? legal[Math.floor(Math.random() * legal.length)] : -1);
  }
}

const limit = 1000 * Number(seconds);
let steps = 0, spent = 0, seed = 0, warm = false;
while (!warm || spent < limit) {
  batch.new(seed);
  batch.seedSamplers(seed);
  seed += games;
  for (let now = live(); now > 0 && !(warm && spent >= limit); now = live()) {
    let begun = performance.now();
    batch.legal();
    if (drawn) batch.sample();
    spent += performance.now() - begun;
    if (!drawn) choose();
    begun = performance.now();
    batch.step();
    batch.observe();
    spent += performance.now() - begun;
    steps += now;
    if (!warm && spent > 300) [warm, steps, spent] = [true, 0, 0]; // the engine's own compiler is done
  }
}
console.log(JSON.stringify({ steps, seconds: spent / 1000 }));
