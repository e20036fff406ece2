// Steps through the positions of a game. It knows neither rules nor drawing: the playground and the reports of leagues use it.

export const PAUSE = 350; // ms between the positions of a game in turns
export const PICTURE = 100; // ms between two pictures of a game in real time

const byId = (name) => document.getElementById(name);

export class Player {
  #film = null;

  /**
   * `position()` tells { ply, first, last, seconds }: the position shown, those between which one steps, and the time of
   * a step in real time (otherwise 0). `look(ply)` shows a position, and calls `update`.
   */
  constructor({ position, look }) {
    Object.assign(this, { position, look });
    byId("first").onclick = () => this.#go(() => position().first);
    byId("previous").onclick = () => this.#go(() => position().ply - 1);
    byId("next").onclick = () => this.#go(() => position().ply + 1);
    byId("latest").onclick = () => this.#go(() => position().last);
    byId("place").oninput = () => this.#go(() => Number(byId("place").value));
    byId("film").onclick = () => this.#show();
  }

  #go(where) {
    this.stop();
    this.look(where());
  }

  stop() { this.#film = null; }

  /** The game from the position shown, or from its beginning, to its end. */
  async #show() {
    if (this.#film) {
      this.stop();
      this.update();
      return;
    }
    const mine = this.#film = {};
    let { ply: at, first, last, seconds } = this.position();
    const pace = seconds ? seconds * 1000 : PAUSE;
    const step = Math.max(pace, PICTURE);
    if (at >= last) this.look(at = first);
    else this.update();
    for (;;) {
      await new Promise((resolve) => { setTimeout(resolve, step); });
      if (mine !== this.#film) return;
      at += step / pace;
      if (at >= last) this.stop();
      this.look(Math.min(last, Math.floor(at)));
    }
  }

  /** The buttons and the slider at the position shown. */
  update() {
    const { ply, first, last } = this.position();
    byId("first").disabled = byId("previous").disabled = ply <= first;
    byId("next").disabled = byId("latest").disabled = ply >= last;
    byId("film").textContent = this.#film ? "Stop" : "Show the game";
    const place = byId("place");
    place.disabled = first >= last;
    Object.assign(place, { min: first, max: last, value: ply });
  }

  /** The list of moves: `entry(k)` makes a button or a link to the position after the k-th. */
  moves(texts, entry) {
    const items = byId("record");
    while (items.children.length > texts.length) items.lastChild.remove();
    texts.forEach((text, k) => {
      if (!items.children[k]) {
        const item = document.createElement("li");
        item.append(entry(k));
        items.append(item);
      }
      items.children[k].firstChild.textContent = text;
    });
    const { ply, first } = this.position();
    items.querySelector("[aria-current]")?.removeAttribute("aria-current");
    const current = items.children[ply - first - 1];
    if (!current) return;
    current.firstChild.setAttribute("aria-current", "true");
    items.scrollTop = current.offsetTop - items.offsetTop - items.clientHeight / 2;
  }
}
