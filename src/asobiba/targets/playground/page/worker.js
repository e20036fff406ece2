// The agents of a game, which think beside the page.

import { openGame, State } from "./asobiba/index.js";
import { withFiles } from "./table.js";

let opened = null;
let rules = null;
let agents = new Map();

async function begin({ game, variant, seed, seats }) {
  if (opened?.name !== game) opened = await openGame(game); // else a game goes on without the server
  for (const name of new Set(Object.values(seats))) await withFiles(opened, variant, name);
  rules = await opened.make(variant);
  agents = new Map();
  for (const [seat, name] of Object.entries(seats)) {
    const agent = rules.agent(name);
    agent.begin(Number(seat), rules.agentSeed(seed, Number(seat)));
    agents.set(Number(seat), agent);
  }
}

let ready = Promise.resolve();
self.onmessage = ({ data }) => {
  ready = ready.then(async () => {
    try {
      if (data.kind === "begin") {
        await begin(data);
        self.postMessage({ ready: true });
        return;
      }
      const state = new State(rules, data.bytes);
      const actions = data.seats.map((seat) => [seat, agents.get(seat).act(state)]);
      self.postMessage({ id: data.id, actions });
    } catch (error) {
      self.postMessage({ id: data.id, error: error.message });
    }
  });
};
