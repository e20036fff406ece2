// Writes a game's scene as SVG: the other writer is src/asobiba/api/scene.py, and a test holds their text equal.

const [RECTANGLE, CIRCLE, LINE, TEXT, WORD, NUMBER, SYMBOL, PATH, POINT] = [1, 2, 3, 4, 5, 6, 7, 8, 9];
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

/** Writes rows of scenes with the tables of a ruleset's drawing: `styles`, `symbols`, `texts`, and `languages` of texts. */
export class Writer {
  constructor(tables) {
    this.tables = tables;
    this.language = "en";
  }

  /** The words of rows. */
  words(rows) {
    return rows.map((row) => this.#piece(row)).join("");
  }

  #piece(row) {
    const texts = this.tables.languages?.[this.language] ?? this.tables.texts;
    return row[0] === WORD ? texts[row[6]] : numberText(row[2], row[3], row[4] !== 0);
  }

  /** The picture of a scene's rows; `spot` names a place to click. */
  svg(rows, spot = String) {
    const [width, height] = [short(rows[0][1]), short(rows[0][2])];
    const parts = [`<svg xmlns='http://www.w3.org/2000/svg' width='${width}' height='${height}' viewBox='0 0 ${width} ${height}' ${FONT}>`];
    for (let k = 1; k < rows.length;) {
      let end = k + 1;
      while (end < rows.length && [WORD, NUMBER, POINT].includes(rows[end][0])) end++;
      parts.push(this.#shape(rows[k], rows.slice(k + 1, end), spot));
      k = end;
    }
    return `${parts.join("")}</svg>`;
  }

  #shape(row, more, spot) {
    const style = row[1] >= 0 ? ` ${this.tables.styles[row[1]]}` : "";
    const [x, y, a, b] = row.slice(2, 6).map(short);
    switch (row[0]) {
      case RECTANGLE: {
        const corner = row[6] ? ` rx='${short(row[6])}'` : "";
        return `<rect x='${x}' y='${y}' width='${a}' height='${b}'${corner}${style}/>`;
      }
      case CIRCLE: return `<circle cx='${x}' cy='${y}' r='${a}'${style}/>`;
      case LINE: return `<path d='M${x} ${y}L${a} ${b}'${style}/>`;
      case TEXT: return `<text x='${x}' y='${y}'${style}>${escaped(this.words(more))}</text>`;
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
        const name = quoted(spot(row[7]));
        return `<rect class='spot' data-name='${name}' x='${x}' y='${y}' width='${a}' height='${b}' fill='transparent'/>`;
      }
    }
  }
}
