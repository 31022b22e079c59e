"use strict";
function play(player, seconds) {
  for (const other of document.querySelectorAll("audio")) if (other !== player) other.pause();
  const go = () => { player.currentTime = seconds; player.play(); };
  if (player.readyState) go();
  else { player.addEventListener("loadedmetadata", go, { once: true }); player.load(); }
}
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-at]");
  const picture = event.target.closest("figure.seek svg");
  if (link) {
    const player = document.getElementById(link.dataset.player);
    if (!player) return;
    event.preventDefault();
    player.closest("article").scrollIntoView({ block: "center" });
    play(player, Number(link.dataset.at));
  } else if (picture) {
    const { player, from, length, left, right } = picture.closest("figure").dataset;
    const box = picture.getBoundingClientRect();
    const unit = box.width / picture.viewBox.baseVal.width;
    const inner = box.width - (Number(left) + Number(right)) * unit;
    const share = (event.clientX - box.left - Number(left) * unit) / inner;
    const target = document.getElementById(player);
    if (target) play(target, Number(from) + Math.min(1, Math.max(0, share)) * Number(length));
  }
});
