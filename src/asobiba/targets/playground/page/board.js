// The picture as a board: which part of it is shown, and how fingers and arrow keys find its places.

const FINGER = 22; // px: a place that is narrower is tapped twice, so that a finger may miss

/** On a phone: where the places that one may click would be small, the part of the picture with them, if that is narrower. */
export function fit(picture) {
  const svg = picture.querySelector("svg");
  const [width, height] = ["width", "height"].map((name) => Number(svg.getAttribute(name)));
  const boxes = [...svg.querySelectorAll(".spot.next")].map((spot) => spot.getBBox());
  const least = Math.min(...boxes.map((box) => box.width));
  const left = Math.max(0, Math.min(...boxes.map((box) => box.x)) - least);
  const right = Math.min(width, Math.max(...boxes.map((box) => box.x + box.width)) + least);
  const part = least * picture.clientWidth / width < FINGER && right - left < 0.8 * width;
  svg.setAttribute("viewBox", part ? `${left} 0 ${right - left} ${height}` : `0 0 ${width} ${height}`);
  svg.style.cssText = part ? `aspect-ratio: ${right - left} / ${height}; max-height: none` : "";
}

/** Whether a finger may miss a place. */
export function narrow(spot) {
  return matchMedia("(pointer: coarse)").matches && spot.getBoundingClientRect().width < FINGER;
}

/** The place to which an arrow key leads from another; null where there is none. */
export function neighbour(picture, from, key) {
  const box = (spot) => spot.getBBox();
  const middle = ({ x, y, width, height }) => [x + width / 2, y + height / 2];
  const [x, y] = middle(box(from));
  let best = null;
  let least = Infinity;
  for (const spot of picture.querySelectorAll(".spot")) {
    const [a, b] = middle(box(spot));
    const [dx, dy] = [a - x, b - y];
    const along = { ArrowLeft: -dx, ArrowRight: dx, ArrowUp: -dy, ArrowDown: dy }[key];
    const across = Math.abs(key === "ArrowLeft" || key === "ArrowRight" ? dy : dx);
    if (along > 1 && along + 3 * across < least) [best, least] = [spot, along + 3 * across];
  }
  return best;
}
