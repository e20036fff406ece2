// Draws positions as the page does: a job on standard input, SVG and words on standard output.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { site, game, variant, positions } = JSON.parse(readFileSync(0, "utf-8"));
const at = (name) => pathToFileURL(`${site}/${name}`).href;
const { openGame, State } = await import(at("asobiba/index.js"));
const { Pen } = await import(at("scene.js"));
const rules = await (await openGame(game)).make(variant);
const pen = new Pen(rules);
const found = positions.map(({ bytes, seat, last, actions, language }) => {
  pen.language = language;
  const state = new State(rules, Uint8Array.from(Buffer.from(bytes, "base64")));
  const spots = actions.map((action) => (pen.spots(state, action) ?? []).map((spot) => pen.spot(state, spot)));
  return { svg: pen.svg(state, seat, last), words: actions.map((action) => pen.action(state, action)), spots, ending: pen.ending(state), asked: pen.asked(state, seat ?? -1), log: pen.log(state), done: pen.done(state) };
});
process.stdout.write(JSON.stringify(found));
