// The page: it shows a table, and takes moves by click, key and text.

import { open as openFolder } from "./asobiba/index.js";
import { fit, narrow, neighbour } from "./board.js";
import { PAUSE, PICTURE, Player } from "./player.js";
import { Pen } from "./scene.js";
import { Table, readLink } from "./table.js";

const byId = (name) => document.getElementById(name);
const PYTHON = "python:"; // so begin the names of agents that think in the Python which serves the page
const FEW = 40; // So many moves are shown as buttons at once.

let games = [];
let manifests = new Map();
let table = null;
let pen = null;
let person = 0; // the seat that a person has; -1: all, null: none
let chosen = []; // names of the spots clicked so far
let tapped = ""; // the name of a narrow spot that was tapped once
let open = []; // the person's legal actions: { action, text, path }
let shown = null; // the ply that is looked at; null: the latest
let round = 0; // counts new games and undos: answers of earlier rounds are dropped
let paused = false;
let failed = "";
let told = []; // the record's texts
let driving = false; // whether the clock of a game in real time runs for a person
let stepping = null; // the round in which the others are asked for the step that the person has taken
let language = navigator.language.slice(0, 2); // that the game's texts are in, where it has it
let heard = ""; // the log that is shown

function make(tag, text, more = {}) {
  return Object.assign(document.createElement(tag), { textContent: text, ...more });
}

function fill(select, options, value) {
  select.replaceChildren(...options.map(([key, text]) => make("option", text, { value: key })));
  if (options.some(([key]) => String(key) === String(value))) select.value = value;
}

async function manifestOf(name) {
  if (!manifests.has(name)) {
    const { manifest } = await openFolder(new URL(`./asobiba/games/${name}/`, import.meta.url));
    manifests.set(name, manifest);
  }
  return manifests.get(name);
}

/** The agents that think in the Python which serves the page; none on a static site. */
function pythonOf(name) {
  return games.find((one) => one.name === name)?.python ?? {};
}

function called(name) {
  const local = name.startsWith(PYTHON);
  return local ? `${name.slice(PYTHON.length)} (in Python)` : name.replaceAll("_", " ");
}

// ---- choosing a game

async function offer(wanted = {}) {
  const name = byId("game").value;
  const manifest = await manifestOf(name);
  fill(byId("variant"), manifest.rulesets.map((one) => [one.name, one.name === "default" ? "usual rules" : one.name]), wanted.variant);
  const spec = manifest.rulesets.find((one) => one.name === byId("variant").value);
  const seats = spec.players.map((player, seat) => [seat, spec.players.length > 1 ? player : "yourself"]);
  if (manifest.turns === "sequential" && spec.players.length > 1) seats.push([-1, "everybody"]);
  const names = [...Object.keys(spec.agents), ...Object.keys(pythonOf(name)).map((each) => PYTHON + each)];
  if (names.length) seats.push(["watch", "nobody: watch"]);
  fill(byId("seat"), seats, wanted.seat ?? byId("seat").value);
  const usual = names.find((each) => each !== "random") ?? names[0];
  for (const [id, value] of [["agent", wanted.agent], ["other", wanted.other]]) {
    fill(byId(id), names.map((each) => [each, called(each)]), names.includes(value) ? value : names.includes(byId(id).value) ? byId(id).value : usual);
  }
  asks(manifest, spec);
}

function asks(manifest, spec) {
  const seat = byId("seat").value;
  const alone = spec.players.length === 1;
  const watch = seat === "watch";
  byId("agent").closest("label").hidden = seat === "-1" || (alone && !watch);
  byId("second-agent").hidden = !watch || alone;
  byId("versus").textContent = watch ? "Watch" : "Against";
  const wanted = byId("agent").value;
  const about = manifest.agents[wanted] ?? pythonOf(manifest.game)[wanted.slice(PYTHON.length)];
  const described = byId("agent").closest("label").hidden || !about ? "" : about.description;
  byId("about").textContent = described + (described && about.source ? ` (${about.source})` : "");
}

function settings() {
  return {
    game: byId("game").value, variant: byId("variant").value, seat: byId("seat").value, agent: byId("agent").value,
    other: byId("other").value, seed: byId("seed").value || "0",
  };
}

function seated({ seat, agent, other }, players) {
  const seats = {};
  players.forEach((_, k) => {
    if (seat === "watch") seats[k] = k === 0 ? agent : other;
    else if (seat !== "-1" && Number(seat) !== k) seats[k] = agent;
  });
  return seats;
}

async function begin(wanted, moves = "") {
  const mine = ++round;
  report("");
  table?.worker?.terminate();
  table = null;
  player.stop();
  const opened = await Table.open(wanted);
  if (mine !== round) return;
  sit(opened, wanted.seat === "watch" ? null : Number(wanted.seat));
  table.continued(moves);
  table.seated(seated(wanted, table.rules.players));
  delete document.body.dataset.loaded;
  table.ready.then(() => { document.body.dataset.loaded = ""; });  // from now on no server is needed
  document.body.dataset.game = wanted.game;
  update();
  history.replaceState(null, "", `#${link(table.actions.length)}`);
  if (moves) await go(mine); else go(mine);
}

function sit(opened, seat) {
  table = opened;
  pen = new Pen(table.rules);
  const names = ["en", ...pen.languages];
  fill(byId("language"), names.map((name) => [name, new Intl.DisplayNames([name], { type: "language" }).of(name)]), language);
  byId("tongue").hidden = names.length < 2;
  pen.language = byId("language").value;
  heard = "";
  person = seat;
  [chosen, shown, paused, failed, told] = [[], null, false, "", []];
  driving = false;
  player.stop();
  const about = games.find((one) => one.name === table.game.name);
  byId("title").textContent = about.title;
  document.title = `${about.title}: asobiba playground`;
  byId("summary").textContent = about.summary;
  byId("rules").innerHTML = about.rules.map(([title, html]) => `<h2>${title}</h2>${html}`).join("");
}

// ---- playing

/** Lets agents move until the person is asked. */
async function go(mine) {
  try {
    let drawn = 0;
    let due = performance.now();
    while (mine === round && table && !table.over && !paused && !table.asked.length) {
      if (!seconds() || performance.now() - drawn >= PICTURE) {
        update();
        drawn = performance.now();
      }
      const answers = await table.answers();
      if (mine !== round || paused) return;
      table.play(table.rules.joint ? table.joined(answers) : answers[0][1]);
      due += pace();
      const left = seconds() ? due - performance.now() : pace();
      if (person === null && left > 4) await new Promise((resolve) => { setTimeout(resolve, left); });
    }
  } catch (error) {
    if (mine === round) failed = error.message;
  }
  if (mine === round) update();
}

/** The time of a step of a game in real time; of others 0. */
function seconds() {
  return table.rules._inner.spec.picture.seconds;
}

function pace() {
  return seconds() ? seconds() * 1000 : PAUSE;
}

/** One step of the person, and of the others where all act at once. */
async function advance(action, mine) {
  if (!table.rules.joint) {
    table.play(action);
    return;
  }
  stepping = mine;
  try {
    const others = await table.answers();
    if (mine === round) table.play(table.joined([...others, ...table.asked.map((seat) => [seat, action])]));
  } finally {
    if (stepping === mine) stepping = null;
  }
}

/** Runs the clock: every step takes what the controls say. */
async function drive() {
  const mine = round;
  const own = driving = Symbol("drive"); // whoever stops and goes on at once begins another
  update();
  while (stepping === round) await new Promise((resolve) => { setTimeout(resolve, 1); });
  const begun = performance.now();
  const first = table.actions.length;
  try {
    while (mine === round && driving === own && asked()) {
      const wanted = Math.floor((performance.now() - begun) / pace()) + 1;
      while (mine === round && driving === own && asked() && table.actions.length - first < wanted) await advance(controlled(), mine);
      if (mine !== round) return;
      update();
      await new Promise((resolve) => { setTimeout(resolve, PICTURE); });
    }
  } catch (error) {
    if (mine === round) failed = error.message;
  }
  if (driving === own) driving = false;
  if (mine === round) update();
}

async function play(action) {
  if (stepping === round) return; // a second click while the others think about the same step
  const mine = round;
  chosen = [];
  try {
    await advance(action, mine);
    if (mine !== round) return;
    report("");
  } catch (error) {
    report(error.message);
  }
  await go(mine);
}

function mover() {
  return table.rules.joint || person === null ? person : table.state.toMove;
}

/** What the person sees of a position: the state, and the seat whose view it is. */
function sight(state) {
  const { picture } = table.rules._inner.spec;
  if (table.game.manifest.information === "perfect" || picture.spectator || person === null || person < 0 || table.over) return [state, null];
  return [table.rules.view(state, person), person];
}

function asked() {
  return shown === null && !failed && table.asked.length > 0;
}

function choices() {
  if (!asked() || !table.rules.discrete || seconds()) return [];
  const seat = mover();
  const view = table.rules.view(table.state, seat);
  return table.rules.legalActions(table.state, seat).map((action) => ({
    action,
    text: pen.action(view, action),
    path: (pen.spots(view, action) ?? []).map((spot) => pen.spot(view, spot)),
  }));
}

function fitting() {
  return open.filter(({ path }) => path.length && chosen.every((name, k) => path[k] === name));
}

function choose(name, listed = false) {
  if (!open.length) return;
  // Where one move ends and others go on, its last place is clicked once more.
  const ended = chosen.at(-1) === name && fitting().find(({ path }) => path.length === chosen.length);
  chosen.push(name);
  let left = fitting();
  if (!left.length && ended) {
    play(ended.action);
    return;
  }
  if (!left.length) {
    chosen = [name];
    left = fitting();
  }
  if (!left.length) chosen = [];
  const done = left.find(({ path }) => path.length === chosen.length);
  if (done && left.length === 1) play(done.action);
  else mark();
  if (listed && chosen.length) ahead();
}

function typed(text) {
  const plain = (words) => words.trim().toLowerCase().replace(/\s+/g, " ");
  const found = open.filter((one) => plain(one.text) === plain(text));
  if (found.length === 1) return play(found[0].action);
  const some = open.slice(0, 8).map((one) => one.text).join(", ");
  return report(`“${text}” is not a legal move here. Legal: ${some}${open.length > 8 ? ", …" : ""}`);
}

// ---- showing

function report(text) {
  byId("error").textContent = text;
}

function result() {
  const totals = table.returns();
  const reason = pen.ending(table.state);
  const { players } = table.rules;
  if (players.length === 1) return `The game is over: ${reason}. Return ${Number(totals[0].toFixed(3))}.`;
  if (person === null || person < 0) return `The game is over: ${reason}.`;
  const mine = totals[person];
  return `${mine > 0 ? "You win" : mine < 0 ? "You lose" : "A draw"}: ${reason}.`;
}

function situation() {
  if (failed) return `The agent failed: ${failed}`;
  if (shown !== null && shown < table.actions.length) return `Position ${shown} of ${table.actions.length}`;
  if (table.over) return result();
  const { players } = table.rules;
  if (driving) return "Driving";
  if (asked()) {
    const question = pen.asked(table.rules.view(table.state, mover()), mover());
    if (players.length > 1) return `${players[mover()]}: ${question || "your move"}`;
    return question ? question[0].toUpperCase() + question.slice(1) : seconds() ? "Ready" : "Your move";
  }
  if (paused) return "Paused";
  const seat = table.rules.joint ? null : table.state.toMove;
  if (seat === null) return pen.asked(sight(table.state)[0], -1) || "The others act …";
  return `${players[seat]}: ${called(table.seats[seat] ?? "")} is thinking …`;
}

function update() {
  if (!table) return;
  const ply = shown ?? table.actions.length;
  const [view, seat] = sight(table.states[ply]);
  open = choices();
  tapped = "";
  const focus = document.activeElement?.dataset?.name;
  byId("picture").innerHTML = pen.svg(view, seat, ply ? table.actions[ply - 1] : null);
  const svg = byId("picture").querySelector("svg");
  svg.setAttribute("role", "group");
  svg.setAttribute("aria-label", `${table.game.title}, position ${ply}`);
  byId("status").textContent = situation();
  for (const spot of svg.querySelectorAll(".spot")) {
    spot.setAttribute("role", "button");
    spot.setAttribute("aria-label", spot.dataset.name);
  }
  mark(focus);
  controls();
  record();
  log(view);
  const hidden = table.game.manifest.information !== "perfect" && person !== null && person >= 0;
  byId("undo").hidden = person === null || (hidden && !table.over) || Boolean(seconds());
  byId("undo").disabled = !table.actions.length;
  byId("pause").hidden = person !== null || table.over || !Object.keys(table.seats).length;
  byId("pause").textContent = paused ? "Go on" : "Pause";
  byId("film").hidden = !table.over || !table.actions.length;
  player.update();
  byId("write").hidden = !asked() || !table.rules.discrete || Boolean(seconds());
  document.body.dataset.state = table.over ? "over" : asked() ? "asked" : "busy";
  document.body.dataset.ply = table.actions.length;
}

// ---- continuous actions

function controls() {
  const { controls: wanted } = table.rules._inner.spec.picture;
  const form = byId("controls");
  form.hidden = !(wanted && asked());
  const go = form.querySelector("button");
  if (go) go.textContent = !seconds() ? "Play" : driving ? "Stop" : "Go";
  byId("picture").classList.toggle("aim", Boolean(wanted) && !form.hidden && wanted.fields.some((field) => field.axis));
  const key = `${table.game.name} ${table.variant}`;
  if (!wanted || form.dataset.of === key) return;
  form.dataset.of = key;
  const fields = wanted.fields.map((field) => {
    const label = make("label", "");
    label.append(make("span", field.name));
    if (field.choices) {
      const select = make("select", "");
      fill(select, field.choices.map((choice, k) => [k, choice]), 0);
      label.append(select);
    } else {
      const { low, high, step, value } = field;
      const shown = make("output", String(value));
      const range = make("input", "", { type: "range", min: low, max: high, step, value });
      range.oninput = () => { shown.textContent = range.value; };
      label.append(range, shown);
    }
    return label;
  });
  form.replaceChildren(...fields, make("button", seconds() ? "Go" : "Play"), make("p", wanted.hint ?? ""));
}

/** The action of the controls as they are. */
function controlled() {
  const values = [...byId("controls").querySelectorAll("select, input")].map((input) => Number(input.value));
  const action = pen.answer(sight(table.state)[0], values);
  return table.rules.discrete ? action[0] : action;
}

function aim(event) {
  const { controls: wanted } = table.rules._inner.spec.picture;
  const svg = byId("picture").querySelector("svg");
  const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  wanted.fields.forEach((field, k) => {
    if (!field.axis) return;
    const input = byId("controls").querySelectorAll("select, input")[k];
    input.value = field.origin + field.scale * at[field.axis]; // the slider keeps it in its range
    input.oninput();
  });
}

function mark(focus) {
  const names = new Set(fitting().map(({ path }) => path[chosen.length] ?? chosen.at(-1)));
  const spots = [...byId("picture").querySelectorAll(".spot")];
  let first = spots.find((spot) => spot.dataset.name === (focus ?? document.activeElement?.dataset?.name));
  for (const spot of spots) {
    const { name } = spot.dataset;
    spot.classList.toggle("next", names.has(name));
    spot.classList.toggle("chosen", chosen.includes(name));
    spot.setAttribute("aria-disabled", String(!names.has(name)));
    spot.setAttribute("aria-pressed", String(chosen.includes(name)));
    spot.tabIndex = -1;
  }
  byId("picture").classList.toggle("many", names.size > FEW);
  fit(byId("picture"));
  const entry = first ?? spots.find((spot) => names.has(spot.dataset.name)) ?? spots[0];
  if (entry) entry.tabIndex = 0;
  if (focus && first) first.focus();
  list();
}

/** The moves as buttons; where there are many, what one could click next, which may be words that no picture shows. */
function list() {
  byId("list").hidden = !open.length;
  byId("hint").textContent = open.length ? `for example ${open[0].text}` : "";
  byId("list").querySelector("summary").textContent = `Legal moves (${open.length})`;
  const next = [...new Set(fitting().map(({ path }) => path[chosen.length] ?? chosen.at(-1)))];
  const parts = open.length > FEW ? next : [];
  const drawn = new Set([...byId("picture").querySelectorAll(".spot")].map((spot) => spot.dataset.name));
  const how = next.some((name) => drawn.has(name)) ? "click a framed place" : "choose below";
  byId("write").querySelector("label").textContent = `Your move: ${how}, or type`;
  if (parts.length ? !parts.every((name) => drawn.has(name)) : open.length && !open.some(({ path }) => path.length)) byId("list").open = true;
  const moves = parts.length ? open.filter(({ path }) => !path.length) : open;
  const button = (text, onclick) => make("button", text, { type: "button", onclick });
  const buttons = [...moves.map((one) => button(one.text, () => play(one.action))), ...parts.map((name) => button(name, () => choose(name, true)))];
  const shown = parts.length ? buttons.slice(0, FEW) : buttons;
  if (shown.length < buttons.length) shown.push(make("span", `and ${buttons.length - shown.length} more: click on the board, or type`));
  if (parts.length && chosen.length) shown.unshift(make("strong", chosen.join(" ")), button("Back", () => { chosen = []; mark(); ahead(); }));
  byId("moves").replaceChildren(...shown);
}

/** The keyboard goes on in the list. */
function ahead() {
  const buttons = byId("moves").querySelectorAll("button");
  (buttons[chosen.length ? 1 : 0] ?? byId("text")).focus();
}

/** What was said and done, where the game tells it. */
function log(view) {
  const days = pen.log(view);
  byId("said").hidden = !days.length;
  const text = JSON.stringify(days);
  if (text === heard) return;
  heard = text;
  const box = byId("log");
  const end = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
  box.replaceChildren(...days.flatMap(([heading, ...lines]) => [make("h2", heading), ...lines.map((line) => make("p", line))]));
  if (end) box.scrollTop = box.scrollHeight;
}

function record() {
  const { rules } = table;
  const secret = table.game.manifest.information !== "perfect" && person !== null && person >= 0 && !table.over;
  const single = rules.discrete && !rules.joint;
  byId("past").hidden = Boolean(seconds());
  if (seconds()) return;
  if (told.length > table.actions.length || told.over !== table.over) told = Object.assign([], { over: table.over });
  while (told.length < table.actions.length) {
    const k = told.length;
    const state = table.states[k];
    if (!single) told.push(pen.done(sight(table.states[k + 1])[0]) || pen.asked(sight(state)[0], -1) || `step ${k + 1}`);
    else if (secret && state.toMove !== person) told.push("…");
    else told.push(pen.action(state, table.actions[k]));
  }
  player.moves(told, (k) => make("button", "", { type: "button", onclick: () => look(k + 1) }));
}

const player = new Player({
  position: () => ({ ply: shown ?? table.actions.length, first: 0, last: table.actions.length, seconds: seconds() }),
  look: (ply) => { if (table) look(ply); },
});

function look(ply) {
  shown = ply >= table.actions.length ? null : Math.max(0, ply);
  chosen = [];
  update();
}

function link(ply) {
  const wanted = settings();
  const kept = { game: table.game.name, variant: table.variant, seat: wanted.seat, agent: wanted.agent, seed: String(table.seed) };
  if (wanted.seat === "watch") kept.other = wanted.other;
  if (table.from) kept.start = table.from;
  const actions = table.actions;
  const all = table.actions;
  try {
    table.actions = actions.slice(0, ply);
    if (ply) kept.moves = table.record();
  } finally {
    table.actions = all;
  }
  return new URLSearchParams(kept).toString();
}

// ---- events

/** Whether a spot is to be tapped once more, since a finger may have missed another. */
function again(spot) {
  const { name } = spot.dataset;
  const once = narrow(spot) && spot.classList.contains("next") && tapped !== name;
  if (once || tapped) report(once ? `${name}: tap once more` : "");
  tapped = once ? name : "";
  for (const other of byId("picture").querySelectorAll(".spot")) other.classList.toggle("tapped", other.dataset.name === tapped);
  return once;
}

byId("picture").addEventListener("click", (event) => {
  const spot = event.target.closest(".spot");
  if (spot) again(spot) || choose(spot.dataset.name);
  else if (byId("picture").classList.contains("aim")) aim(event);
});
byId("controls").onsubmit = (event) => {
  event.preventDefault();
  if (driving) driving = false;
  else if (asked()) seconds() ? drive() : play(controlled());
};
byId("picture").addEventListener("keydown", (event) => {
  const spot = event.target.closest(".spot");
  if (!spot) return;
  if (event.key.startsWith("Arrow")) {
    const next = neighbour(byId("picture"), spot, event.key);
    if (next) {
      spot.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    }
  } else if (event.key === "Enter" || event.key === " ") choose(spot.dataset.name);
  else if (event.key === "Escape") {
    chosen = [];
    mark(spot.dataset.name);
  } else return;
  event.preventDefault();
});
byId("write").onsubmit = (event) => {
  event.preventDefault();
  const { value } = byId("text");
  byId("text").value = "";
  if (asked()) typed(value);
};
byId("setup").onsubmit = (event) => {
  event.preventDefault();
  begin(settings()).catch((error) => report(error.message));
};
byId("game").onchange = () => offer({}).catch((error) => report(error.message));
for (const id of ["variant", "seat", "agent", "other"]) byId(id).onchange = () => offer(settings());
byId("language").onchange = () => {
  language = pen.language = byId("language").value;
  for (const name of ["picture", "log", "moves"]) byId(name).lang = language;
  [told, chosen] = [[], []];
  update();
};
byId("undo").onclick = () => {
  if (!table.undo()) return;
  const mine = ++round;
  [chosen, shown, failed] = [[], null, ""];
  table.seated(table.seats);
  update();
  go(mine);
};
byId("pause").onclick = () => {
  paused = !paused;
  update();
  if (!paused) go(round);
};
byId("link").onclick = async () => {
  const text = link(shown ?? table.actions.length);
  history.replaceState(null, "", `#${text}`);
  try {
    await navigator.clipboard.writeText(location.href);
    report("The link is in the clipboard.");
  } catch {
    report("The link stands in the address bar.");
  }
};
byId("match").onchange = async () => {
  try {
    await show(JSON.parse(await byId("match").files[0].text()));
  } catch (error) {
    report(error.message);
  }
};

/** A match of a league, as `asobiba replay GAME NUMBER -o` writes it. */
async function show(match) {
  if (!games.some((one) => one.name === match.game)) throw new Error(`${match.game} is not on this page`);
  const mine = ++round;
  const manifest = await manifestOf(match.game);
  const opened = await Table.open({ game: match.game, variant: await variantOf(match), seed: match.seed });
  if (mine !== round) return;
  opened.replay(match);
  byId("game").value = match.game;
  await offer({ variant: opened.variant, seat: "watch" });
  table?.worker?.terminate();
  sit(opened, null);
  report(`Replayed: the digest ${match.digest} is right. ${(match.seats ?? []).join(" against ")}.`);
  look(0);
  return manifest;
}

async function variantOf(match) {
  const game = await openFolder(new URL(`./asobiba/games/${match.game}/`, import.meta.url));
  return (await game.make(match.parameters))._inner.spec.name;
}

async function arrive() {
  const wanted = readLink(location.hash || games[0].link || "");
  const known = games.some((one) => one.name === wanted.game);
  byId("game").value = known ? wanted.game : games[0].name;
  await offer(wanted);
  byId("seed").value = /^[0-9]{1,20}$/.test(wanted.seed ?? "") ? wanted.seed : "0";
  if (wanted.match) {
    const place = new URL(wanted.match, location.href);
    if (place.origin !== location.origin) throw new Error("a match is read from this site only");
    return show(await (await fetch(place)).json());
  }
  return begin({ ...settings(), start: wanted.start }, wanted.moves);
}

async function main() {
  games = await (await fetch(new URL("./games.json", import.meta.url))).json();
  fill(byId("game"), games.map((one) => [one.name, one.title]));
  await arrive();
}

window.addEventListener("resize", () => { if (table) fit(byId("picture")); });
window.addEventListener("hashchange", () => arrive().catch((error) => report(error.message)));
main().catch((error) => report(error.message));
