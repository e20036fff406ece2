// The versions of the site that lie beside this one: versions.json in the folder above names them.
addEventListener("DOMContentLoaded", async () => {
  const root = new URL(document.documentElement.dataset.content_root || "./", location.href);
  const answer = await fetch(new URL("../versions.json", root)).catch(() => undefined);
  if (!answer?.ok) return; // a single version, or pages opened from a disk
  const here = root.pathname.split("/").at(-2), names = await answer.json();
  const label = document.createElement("label"), choice = document.createElement("select");
  label.className = "versions";
  for (const name of names) choice.append(new Option(name, name, false, name === here));
  choice.ariaLabel = "Version";
  choice.addEventListener("change", () => { location.href = new URL(`../${choice.value}/`, root); });
  label.append(choice);
  document.querySelector(".sidebar-brand")?.after(label);
});
