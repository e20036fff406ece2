// Links to the playground, where one lies in the folder `play` beside these pages: it is built apart from them.
addEventListener("DOMContentLoaded", async () => {
  const places = document.querySelectorAll(".play-here");
  if (!places.length) return;
  const play = new URL("play/", new URL(document.documentElement.dataset.content_root || "./", location.href));
  const answer = await fetch(new URL("games.json", play)).catch(() => undefined);
  if (!answer?.ok) return;
  const titles = new Map((await answer.json()).map(({ name, title }) => [name, title]));
  for (const place of places) {
    const names = (place.dataset.games ?? "").split(" ").filter((name) => titles.has(name));
    const links = names.map((name) => [`index.html#game=${name}`, `Play ${titles.get(name)} in this browser`]);
    for (const [target, text] of place.dataset.games ? links : [["index.html", "Play the games in this browser"]]) {
      const link = document.createElement("a");
      Object.assign(link, { href: new URL(target, play).href, textContent: text });
      place.append(link);
    }
  }
});
