// The agents of a game, which think beside the page: compiled ones here, others in the Python that serves the page.

import { openGame, State } from "./asobiba/index.js";
import { toBase64, withFiles } from "./table.js";

const PYTHON = "python:"; // agents that think in the Python which serves this page
const page = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16)).join("");

async function python(what, asked) {
  const answer = await fetch(new URL(`./python/${what}`, import.meta.url), { method: "POST", body: JSON.stringify({ page, ...asked }) });
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error);
  return found;
}

let opened = null;
let rules = null;
let agents = new Map();

async function begin({ game, variant, seed, seats }) {
  if (opened?.name !== game) opened = await openGame(game); // else a game goes on without the server
  const all = Object.entries(seats);
  for (const name of new Set(Object.values(seats))) await withFiles(opened, variant, name);
  rules = await opened.make(variant);
  agents = new Map();
  for (const [seat, name] of all.filter(([, name]) => !name.startsWith(PYTHON))) {
    const agent = rules.agent(name);
    agent.begin(Number(seat), rules.agentSeed(seed, Number(seat)));
    agents.set(Number(seat), agent);
  }
  const theirs = all.filter(([, name]) => name.startsWith(PYTHON)).map(([seat, name]) => [seat, name.slice(PYTHON.length)]);
  if (theirs.length) await python("begin", { seed, seats: Object.fromEntries(theirs) });
}

/** The actions of these seats' agents: [[seat, action], ...]. */
async function act({ seats, bytes }) {
  const state = new State(rules, bytes);
  const theirs = seats.filter((seat) => !agents.has(seat));
  const actions = seats.filter((seat) => agents.has(seat)).map((seat) => [seat, agents.get(seat).act(state)]);
  return theirs.length ? [...actions, ...(await python("act", { seats: theirs, state: toBase64(bytes) })).actions] : actions;
}

let broken = null; // why the agents could not begin
let ready = Promise.resolve();
self.onmessage = ({ data }) => {
  ready = ready.then(async () => {
    try {
      if (data.kind === "begin") {
        broken = null;
        await begin(data);
        self.postMessage({ ready: true });
        return;
      }
      if (broken) throw broken;
      self.postMessage({ id: data.id, actions: await act(data) });
    } catch (error) {
      if (data.kind === "begin") broken = error;
      self.postMessage({ id: data.id, error: error.message });
    }
  });
};
