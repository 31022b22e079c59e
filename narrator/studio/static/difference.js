// What differs between two texts, word by word.

/** Words of either text above which the longer middle is one difference. */
const MOST = 1500;

/**
 * @param {string} before @param {string} after
 * @returns {{ kind: "same" | "gone" | "new", text: string }[]} in the order of both texts
 */
export function differences(before, after) {
  const [old, now] = [before, after].map((text) => text.match(/\s*\S+/gu) ?? []);
  const isSame = (i, j) => old[i].trim() === now[j].trim();
  let head = 0;
  while (head < old.length && head < now.length && isSame(head, head)) head++;
  let tail = 0;
  const rest = Math.min(old.length, now.length) - head;
  while (tail < rest && isSame(old.length - 1 - tail, now.length - 1 - tail)) tail++;
  const middle = { old: old.slice(head, old.length - tail), now: now.slice(head, now.length - tail) };
  const runs = [];
  const add = (kind, words) => {
    if (!words.length) return;
    if (runs.at(-1)?.kind === kind) runs.at(-1).text += words.join("");
    else runs.push({ kind, text: words.join("") });
  };
  add("same", now.slice(0, head));
  for (const [kind, word] of aligned(middle.old, middle.now)) add(kind, [word]);
  add("same", now.slice(now.length - tail));
  return runs;
}

/** The longest words in common stay; yields each word with its kind. */
function* aligned(old, now) {
  if (old.length > MOST || now.length > MOST) {
    for (const word of old) yield ["gone", word];
    for (const word of now) yield ["new", word];
    return;
  }
  const width = now.length + 1;
  const common = new Uint16Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      common[i * width + j] =
        old[i].trim() === now[j].trim()
          ? common[(i + 1) * width + j + 1] + 1
          : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
    }
  }
  let i = 0;
  let j = 0;
  while (i < old.length || j < now.length) {
    const isSame = i < old.length && j < now.length && old[i].trim() === now[j].trim();
    if (isSame) {
      yield ["same", now[j]];
      i++;
      j++;
    } else if (
      j >= now.length ||
      (i < old.length && common[(i + 1) * width + j] >= common[i * width + j + 1])
    ) {
      yield ["gone", old[i++]];
    } else yield ["new", now[j++]];
  }
}
