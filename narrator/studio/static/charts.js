// Charts as SVG in the page's own colours, drawn anew at each width, with a table of their numbers.

import { fill, h, SVG } from "./dom.js";
import { clock, grouped } from "./words.js";

const [LEFT, RIGHT, TOP, BOTTOM] = [46, 10, 10, 24];
const TIME_STEPS = [1, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 14400, 21600, 43200];

/** An element of a picture. @param {string} tag @param {Record<string, unknown>} attributes */
function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

const round = (number) => Math.round(number * 10) / 10;

/**
 * A scale from values to pixels.
 * @typedef {{ from: number, to: number, ticks: [number, string][], isLog?: boolean }} Axis
 * @param {Axis} axis @param {number} first pixel @param {number} last
 */
function scale({ from, to, isLog }, first, last) {
  const bent = isLog ? Math.log : (value) => value;
  const share = (value) => (bent(value) - bent(from)) / (bent(to) - bent(from) || 1);
  return (value) => round(first + Math.min(1, Math.max(0, share(value))) * (last - first));
}

/** Round numbers between two values, at most so many. @returns {[number, string][]} */
export function ticks(from, to, most) {
  const rough = (to - from) / most || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) ?? rough;
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  const all = [];
  for (let i = Math.ceil(from / step); i * step <= to + step / 1e6; i++) {
    all.push([i * step, (i * step).toFixed(digits).replace("-", "−")]);
  }
  return all;
}

/** An axis of time. @param {number} length in seconds @param {number} width in pixels */
function timeAxis(length, width) {
  const to = Math.max(length, 1);
  return { from: 0, to, ticks: timeTicks(to, width / 70) };
}

/** Round times, at most so many. @returns {[number, string][]} */
function timeTicks(to, most) {
  const step = TIME_STEPS.find((one) => to / one <= most) ?? 86400 * Math.ceil(to / most / 86400);
  const marks = [];
  for (let time = 0; time < to; time += step) marks.push([time, clock(time)]);
  return marks;
}

/** The axes of a picture, and its scales. @param {Axis} x @param {Axis} y */
function frame(width, height, x, y) {
  const [right, bottom] = [width - RIGHT, height - BOTTOM];
  const [toX, toY] = [scale(x, LEFT, right), scale(y, bottom, TOP)];
  const rules = y.ticks.map(([value]) =>
    s("path", { class: "rule", d: `M${LEFT} ${toY(value)}H${right}` }),
  );
  const words = [
    ...y.ticks.map(([value, text]) =>
      s("text", { x: LEFT - 7, y: toY(value) + 4, class: "tick end" }, text),
    ),
    ...x.ticks.map(([value, text]) =>
      s("text", { x: toX(value), y: height - 6, class: toX(value) < LEFT + 12 ? "tick" : "tick mid" }, text),
    ),
  ];
  return { toX, toY, parts: [...rules, ...words], right, bottom };
}

const picture = (width, height, parts) =>
  s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" }, ...parts);

/** A broken line through numbers at equal distances; null breaks it. */
function path(values, toX, toY, length) {
  let isDown = false;
  return values
    .map((value, i) => {
      if (value === null) {
        isDown = false;
        return "";
      }
      const command = isDown ? "L" : "M";
      isDown = true;
      return `${command}${toX(((i + 0.5) * length) / values.length)} ${toY(value)}`;
    })
    .join("");
}

/**
 * Lines over time. `marks` are seconds of vertical rules, `target` a dashed level, `onTime` is called
 * with the seconds that are clicked.
 * @param {{ length: number, y: Axis, lines: { name: string, values: (number | null)[] }[],
 *   marks?: number[], target?: number | null, onTime?: (seconds: number) => void }} what
 */
export const lines = (what) => (width, height) => {
  const x = timeAxis(what.length, width - LEFT - RIGHT);
  const { toX, toY, parts, right, bottom } = frame(width, height, x, what.y);
  const marks = (what.marks ?? []).map((time) =>
    s("path", { class: "rule mark", d: `M${toX(time)} ${TOP}V${bottom}` }),
  );
  const drawn = what.lines.map(({ name, values }) =>
    s("path", { class: `line ${name}`, d: path(thinned(values, width), toX, toY, what.length) }),
  );
  const svg = picture(width, height, [...parts, ...marks, ...drawn, level(what.target, toY, right)]);
  return sought(svg, width, x, what.onTime);
};

/** A dashed level. */
const level = (value, toY, right) =>
  typeof value === "number" ? s("path", { class: "target", d: `M${LEFT} ${toY(value)}H${right}` }) : null;

/** A waveform. @param {{ low: number[], high: number[], length: number, onTime?: (s: number) => void }} what */
export const waveform = ({ low, high, length, onTime }) => (width, height) => {
  const peak = Math.max(10, ...high, ...low.map((one) => -one));
  const x = { from: 0, to: 1, ticks: [] };
  const [toX, toY] = [scale(x, LEFT, width - RIGHT), scale({ from: -peak, to: peak, ticks: [] }, height, 0)];
  const top = high.map((one, i) => `${toX((i + 0.5) / high.length)} ${toY(one)}`);
  const under = low.map((one, i) => `${toX((i + 0.5) / low.length)} ${toY(one)}`).reverse();
  const svg = picture(width, height, [
    s("path", { class: "area", d: top.length ? `M${[...top, ...under].join("L")}Z` : "" }),
  ]);
  return sought(svg, width, { from: 0, to: length, ticks: [] }, onTime);
};

function sought(svg, width, x, onTime) {
  if (!onTime) return svg;
  svg.classList.add("seek");
  svg.addEventListener("click", (event) => {
    const box = svg.getBoundingClientRect();
    const share = (event.clientX - box.left - LEFT) / (width - LEFT - RIGHT);
    onTime(x.to * Math.min(0.999, Math.max(0, share)));
  });
  return svg;
}

/** At most as many values as there are pixels: the middle one of each stretch. */
function thinned(values, width) {
  const step = Math.max(1, Math.floor(values.length / width));
  return step === 1 ? values : values.filter((_, i) => i % step === step >> 1);
}

/**
 * Dots, and circles for those that stand out. `target` is a dashed level.
 * @param {{ x: number, y: Axis, dots: [number, number][], target?: number,
 *   circles: { at: [number, number], words: string, onPress: () => void }[] }} what
 */
export const dots = (what) => (width, height) => {
  const x = timeAxis(what.x, width - LEFT - RIGHT);
  const { toX, toY, parts, right } = frame(width, height, x, what.y);
  const size = what.dots.length > width ? 2 : 4;
  const all = what.dots.map(([time, value]) => `M${toX(time)} ${toY(value)}h0`).join("");
  const circles = what.circles.map(({ at, words, onPress }) =>
    s(
      "circle",
      { class: "outlier", cx: toX(at[0]), cy: toY(at[1]), r: 4.5, onclick: onPress },
      s("title", {}, words),
    ),
  );
  return picture(width, height, [
    ...parts,
    level(what.target, toY, right),
    s("path", { class: "dots", d: all, "stroke-width": size }),
    ...circles,
  ]);
};

/**
 * Bars beside each other, each of parts upon each other.
 * @param {{ names: string[], parts: { name: string, title: string, values: number[] }[],
 *   isTime?: boolean }} what values are counts, or seconds
 */
export const bars = ({ names, parts: layers, isTime = false }) => (width, height) => {
  const sums = names.map((_, i) => layers.reduce((sum, layer) => sum + layer.values[i], 0));
  const top = Math.max(...sums, 0) || 1;
  const words = isTime ? clock : grouped;
  const whole = ticks(0, top, 4).flatMap(([value]) => (Number.isInteger(value) ? [[value, words(value)]] : []));
  const y = { from: 0, to: top, ticks: isTime ? timeTicks(top, 4) : whole };
  const every = Math.ceil(names.length / ((width - LEFT - RIGHT) / 44));
  const x = {
    from: 0,
    to: names.length,
    ticks: names.map((name, i) => [i + 0.5, name]).filter((_, i) => i % every === 0),
  };
  const { toX, toY, parts } = frame(width, height, x, y);
  const wide = Math.min(48, Math.max(1, (toX(1) - toX(0)) * 0.78));
  const drawn = names.flatMap((name, i) => {
    let under = 0;
    return layers.map((layer) => {
      const [from, to] = [under, under + layer.values[i]];
      under = to;
      if (!layer.values[i]) return null;
      const attributes = {
        class: `piece ${layer.name}`,
        x: round(toX(i + 0.5) - wide / 2),
        y: toY(to),
        width: round(wide),
        height: Math.max(1, round(toY(from) - toY(to))),
      };
      return s("rect", attributes, s("title", {}, `${name}: ${words(layer.values[i])} ${layer.title}`));
    });
  });
  return picture(width, height, [...parts, ...drawn]);
};

/**
 * A chart with its caption and its numbers. The pictures stand above each other on one axis.
 * @param {string} alt what is seen, for those who do not see it
 * @param {[(width: number, height: number) => SVGElement, number][]} pictures with their heights
 * @param {(Node | string)[]} caption @param {Node | null} numbers a table
 */
export function chart(alt, pictures, caption, numbers) {
  const box = h("div", { class: "pictures", role: "img", "aria-label": alt });
  let width = 0;
  new ResizeObserver(() => {
    const now = Math.floor(box.clientWidth);
    if (now < 50 || now === width) return;
    width = now;
    fill(box, ...pictures.map(([draw, height]) => draw(width, height)));
  }).observe(box);
  return h(
    "figure",
    { class: "chart" },
    box,
    h("figcaption", {}, ...caption),
    numbers && h("details", {}, h("summary", {}, "The numbers"), numbers),
  );
}

/** A coloured sample before its name, in a caption. @param {string} name @param {string} words */
export const legend = (name, words) =>
  h("span", { class: "legend" }, h("span", { class: `swatch ${name}`, "aria-hidden": "true" }), words);

/**
 * A table in a box that scrolls, which keys reach. A column is its title and a class: n for numbers,
 * w for wide ones, c for short ones that are not broken.
 * @param {string} caption @param {[string, string][]} columns @param {unknown[][]} rows of cells
 */
export function table(caption, columns, rows) {
  const cell = (content, i) => h("td", { class: columns[i][1] || null }, ...[content].flat());
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": `Table: ${caption}` },
    h(
      "table",
      {},
      h("thead", {}, h("tr", {}, ...columns.map(([title, name]) => h("th", { scope: "col", class: name || null }, title)))),
      h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map(cell)))),
    ),
  );
}
