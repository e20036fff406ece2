// A game as a film: the pictures of a match of a published league, stepped by a slider or played.
addEventListener("DOMContentLoaded", () => {
  for (const place of document.querySelectorAll(".film-of")) {
    const picture = place.parentElement.querySelector("img");
    const button = document.createElement("button"), slider = document.createElement("input");
    button.type = "button";
    button.textContent = "Watch the game";
    Object.assign(slider, { type: "range", min: 0, value: 0, disabled: true, ariaLabel: "Position of the game" });
    place.append(button, slider);
    let film, timer, last;
    const draw = () => {
      if (last) URL.revokeObjectURL(last);
      const parts = film.frames[slider.value].map((k) => film.elements[k]);
      last = URL.createObjectURL(new Blob(parts, { type: "image/svg+xml" }));
      picture.src = last;
    };
    const stop = () => { clearInterval(timer); timer = undefined; button.textContent = "Play"; };
    const load = async () => {
      if (film) return;
      film = await (await fetch(place.dataset.frames)).json();
      slider.max = film.frames.length - 1;
      slider.disabled = false;
    };
    button.addEventListener("click", async () => {
      if (timer !== undefined) return stop();
      await load();
      if (slider.value === slider.max) slider.value = 0;
      draw();
      button.textContent = "Pause";
      timer = setInterval(() => {
        if (slider.value === slider.max) return stop();
        slider.value = +slider.value + 1;
        draw();
      }, 1000 * place.dataset.seconds);
    });
    slider.addEventListener("input", () => { stop(); draw(); });
  }
});
