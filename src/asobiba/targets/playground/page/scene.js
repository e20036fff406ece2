// Writes a game's scene as SVG: the other writer is src/asobiba/api/scene.py, and a test holds their text equal.

const [RECTANGLE, CIRCLE, LINE, TEXT, WORD, NUMBER, SYMBOL, PATH, POINT] = [1, 2, 3, 4, 5, 6, 7, 8, 9];
const [ACTION, SPOT, ENDING, ASKED, LOG] = [0, 1, 2, 3, 4];
const LOG_PARTS = 3;
const FONT = "font-family='DejaVu Sans,Verdana,sans-serif'";

function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function quoted(text) {
  return escaped(text).replaceAll('"', "&quot;").replaceAll("'", "&#x27;");
}

/** A number rounded half away from zero. */
export function numberText(value, decimals, plus) {
  const digits = String(Math.floor(Math.abs(value) * 10 ** decimals + 0.5)).padStart(decimals + 1, "0");
  const sign = value < 0 && /[1-9]/.test(digits) ? "-" : plus ? "+" : "";
  const cut = digits.length - decimals;
  return decimals ? `${sign}${digits.slice(0, cut)}.${digits.slice(cut)}` : sign + digits;
}

function short(value) {
  return numberText(value, 2, false).replace(/0+$/, "").replace(/\.$/, "");
}

/** The drawing of a ruleset of a game that was written with pictures. */
export class Pen {
  constructor(rules) {
    const { heap, spec, about } = rules._inner;
    this.rules = rules;
    this.tables = spec.picture;
    this.language = "en";
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
    return this.#rows("tell", state, BigInt(what), BigInt(about)).slice(1).map((row) => this.#piece(row)).join("");
  }

  /** The languages of the game's texts beside English. */
  get languages() { return Object.keys(this.tables.languages); }
  get #texts() { return this.tables.languages[this.language] ?? this.tables.texts; }

  #piece(row) {
    return row[0] === WORD ? this.#texts[row[6]] : numberText(row[2], row[3], row[4] !== 0);
  }

  action(state, action) { return this.#tell(state, ACTION, action); }
  spot(state, spot) { return this.#tell(state, SPOT, spot); }
  ending(state) { return this.#tell(state, ENDING, 0); }
  /** What a seat (-1: nobody) is asked; empty where the game does not say. */
  asked(state, seat) { return this.#tell(state, ASKED, seat); }
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
    const rows = this.scene(state, seat, last);
    const [width, height] = [short(rows[0][1]), short(rows[0][2])];
    const parts = [`<svg xmlns='http://www.w3.org/2000/svg' width='${width}' height='${height}' viewBox='0 0 ${width} ${height}' ${FONT}>`];
    for (let k = 1; k < rows.length;) {
      let end = k + 1;
      while (end < rows.length && [WORD, NUMBER, POINT].includes(rows[end][0])) end++;
      parts.push(this.#shape(state, rows[k], rows.slice(k + 1, end)));
      k = end;
    }
    return `${parts.join("")}</svg>`;
  }

  #shape(state, row, more) {
    const style = row[1] >= 0 ? ` ${this.tables.styles[row[1]]}` : "";
    const [x, y, a, b] = row.slice(2, 6).map(short);
    switch (row[0]) {
      case RECTANGLE: {
        const corner = row[6] ? ` rx='${short(row[6])}'` : "";
        return `<rect x='${x}' y='${y}' width='${a}' height='${b}'${corner}${style}/>`;
      }
      case CIRCLE: return `<circle cx='${x}' cy='${y}' r='${a}'${style}/>`;
      case LINE: return `<path d='M${x} ${y}L${a} ${b}'${style}/>`;
      case TEXT: return `<text x='${x}' y='${y}'${style}>${escaped(more.map((one) => this.#piece(one)).join(""))}</text>`;
      case SYMBOL: {
        const scale = row[4] !== 1 ? ` scale(${a})` : "";
        const turn = row[5] ? ` rotate(${b})` : "";
        return `<g transform='translate(${x} ${y})${scale}${turn}'${style}>${this.tables.symbols[row[6]]}</g>`;
      }
      case PATH: {
        const points = more.map((one) => `${short(one[2])} ${short(one[3])}`).join("L");
        return `<path d='M${points}${row[4] ? "Z" : ""}'${style}/>`;
      }
      default: {
        const name = quoted(this.spot(state, row[7]));
        return `<rect class='spot' data-name='${name}' x='${x}' y='${y}' width='${a}' height='${b}' fill='transparent'/>`;
      }
    }
  }
}
