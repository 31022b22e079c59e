// The report of a book: its numbers as charts, tables and sentences. The same in the studio and in
// the file that is handed on; what a chunk or a chapter's picture does when pressed is theirs.

import { bars, chart, dots, legend, lines, table, ticks, waveform } from "./charts.js";
import { h } from "./dom.js";
import { clock, counted, grouped, modeWords, sizeWords } from "./words.js";

const [LOW, MIDDLE, HIGH] = [90, 170, 220];
const SILENT = -60;

const minus = (number, digits = 1) => number.toFixed(digits).replace(/^-(?=[0.]*$)/, "").replace("-", "−");
const some = (number) => (number ? grouped(number) : "");
/** Words of an author: on their own side, in their own direction. */
const own = (text) => h("bdi", { lang: language }, text);
let language = "";
const note = (...words) => h("p", { class: "note" }, ...words);
const date = (seconds) => new Date(seconds * 1000).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });

/**
 * @typedef {{
 *   go: (place: any, isEnd?: boolean) => Node,
 *   press: (place: any) => void,
 *   seek: (chapter: any, seconds: number) => void,
 *   sound?: (chapter: any) => Node | null,
 * }} Hands A chunk as what plays it; presses on pictures; a chapter's player.
 */

/** All of it. @param {any} data @param {Hands} hands */
export function report(data, hands) {
  language = data.language;
  const sections = SECTIONS.map(([id, title, draw]) => [id, title, draw(data, hands)]).filter(
    ([, , content]) => content,
  );
  return [
    head(data),
    h(
      "nav",
      { "aria-label": "Sections of the report", class: "sections" },
      h("ul", {}, ...sections.map(([id, title]) => h("li", {}, sectionLink(id, title)))),
    ),
    ...sections.map(([id, title, content]) =>
      h(
        "section",
        { "aria-labelledby": `report-${id}` },
        h("h2", { id: `report-${id}`, tabindex: -1 }, title),
        ...content,
      ),
    ),
  ];
}

/** A link that leaves the address alone, which says the chapter. */
function sectionLink(id, title) {
  const go = (event) => {
    event.preventDefault();
    const heading = document.getElementById(`report-${id}`);
    heading.scrollIntoView();
    heading.focus({ preventScroll: true });
  };
  return h("a", { href: `#report-${id}`, onclick: go }, title);
}

function head(data) {
  const figures = [
    ["length", clock(data.seconds)],
    ["chapters", grouped(data.chapters.length)],
    ["lines", grouped(data.chunks)],
    ["voices", grouped(data.speakers.length)],
    ["spoken again", grouped(data.retries)],
    ["given up", grouped(data.given_up)],
    ["doubtful", grouped(data.doubtful)],
    ["left out", grouped(data.left_out.length)],
    ["pace outliers", grouped(data.outliers.length)],
    ["stick out", grouped(data.steadiness.outliers.length)],
  ];
  return h(
    "header",
    {},
    h("h1", { dir: "auto", lang: data.language }, data.title),
    data.author ? h("p", { class: "by", dir: "auto" }, data.author) : null,
    h("p", { class: data.good ? "verdict" : "verdict bad" }, data.state),
    h("dl", { class: "key" }, ...figures.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
    note(
      data.delivered ? `Files made ${date(data.delivered)}. ` : "",
      ...data.engines.map((engine) => engineWords(data, engine)),
      `Manifest: ${data.manifest}, language ${data.language}. Reported ${date(data.written)}.`,
    ),
  );
}

function engineWords(data, { name, identity, speakers }) {
  const whose = data.engines.length > 1 ? ` of ${speakers.join(", ")}` : "";
  const settings = identity.filter(([one]) => !["name", "sampler"].includes(one)).map(([one, value]) => `, ${one} ${value}`);
  const draft = data.draft ? " (a draft)" : "";
  return `Engine${whose}: ${name}${draft}${settings.join("")}. `;
}

// -- text and chapters -----------------------------------------------------------------------------

function completeness({ characters }) {
  const fates = [
    ["spoken", characters.spoken, "accent"],
    ["left out", characters.left_out, "wave"],
    ["given up", characters.given_up, "warn"],
    ["not rendered", characters.not_rendered, "rest"],
  ];
  const stack = h("div", { class: "stack", "aria-hidden": "true" });
  for (const [, number, name] of fates.filter(([, number]) => number)) {
    const piece = h("span", { class: `piece ${name}` });
    piece.style.flexGrow = String(number);
    stack.append(piece);
  }
  const sum = fates.map(([words, number]) => `${grouped(number)} ${words}`).join(" + ");
  return [
    stack,
    h("p", {}, `${grouped(characters.source)} characters in the source = ${sum}.`),
    characters.balanced ? null : h("p", { class: "bad" }, "These do not add up."),
    note("Characters without white space; each of them is spoken or listed here."),
  ];
}

function chapters({ chapters: all }) {
  const rows = all.map((one) => [
    one.number,
    own(one.title),
    one.seconds === null ? "" : clock(one.seconds),
    grouped(one.chunks),
    some(one.missing),
    one.curve ? minus(one.curve.integrated) : "",
    one.curve ? one.curve.spread.toFixed(1) : "",
    h("span", { class: one.good ? null : "bad" }, one.state),
  ]);
  const columns = [["no.", "n"], ["chapter", "w"], ["length", "n"], ["lines", "n"], ["missing", "n"], ["LUFS", "n"], ["range, LU", "n"], ["state", "w"]];
  return [
    chart(
      `Length of each of ${counted(all.length, "chapter")}`,
      [[bars({ names: all.map((one) => String(one.number)), parts: [{ name: "accent", title: "", values: all.map((one) => one.seconds ?? one.speech_seconds) }], isTime: true }), MIDDLE]],
      ["Length of each chapter; of one that is not assembled yet, those of its takes."],
      null,
    ),
    table("Chapters", columns, rows),
    note("LUFS (loudness units relative to full scale) say how loud something is to listeners; a difference of 1 is 1 LU."),
  ];
}

// -- sound over the book ---------------------------------------------------------------------------

/** Readings of all chapters as one line over the book, and where chapters begin. */
function overBook(all, name, count) {
  const heard = all.filter((one) => one.curve);
  const length = heard.reduce((sum, one) => sum + one.curve.seconds, 0);
  const readings = heard.reduce((sum, one) => sum + one.curve[name].length, 0);
  const each = length / Math.min(count, readings || 1);
  const values = [];
  const marks = [];
  let start = 0;
  for (const { curve } of heard) {
    if (start) marks.push(start);
    const many = Math.max(1, Math.round(curve.seconds / each));
    for (let i = 0; i < many; i++) {
      const from = Math.floor((i * curve[name].length) / many);
      const to = Math.max(from + 1, Math.floor(((i + 1) * curve[name].length) / many));
      values.push(middle(curve[name].slice(from, to)));
    }
    start += curve.seconds;
  }
  return { values, marks: marks.length > 120 ? [] : marks, length, heard };
}

function middle(values) {
  const there = values.filter((value) => typeof value === "number").sort((one, other) => one - other);
  return there.length ? there[there.length >> 1] : null;
}

const bounds = (values) => {
  const there = values.filter((value) => value !== null);
  return [Math.min(...there), Math.max(...there)];
};

/** Which chapter is heard at a time of the book, and when in it. */
function chapterAt(heard, seconds) {
  let start = 0;
  for (const one of heard) {
    if (seconds < start + one.curve.seconds) return [one, seconds - start];
    start += one.curve.seconds;
  }
  return [heard[heard.length - 1], 0];
}

function loudness(data, hands) {
  const { values, marks, length, heard } = overBook(data.chapters, "loudness", 1200);
  if (!values.some((value) => value !== null)) return null;
  const target = heard.every((one) => one.target === heard[0].target) ? heard[0].target : null;
  const [low, high] = bounds([...values, target]);
  const y = { from: Math.max(SILENT, low - 3), to: high + 3 };
  const rows = heard.map(({ number, title, curve }) => {
    const [quiet, loud] = bounds(curve.loudness.some((one) => one !== null) ? curve.loudness : [SILENT]);
    return [number, own(title), minus(curve.integrated), curve.spread.toFixed(1), minus(quiet), minus(loud)];
  });
  return [
    chart(
      `Short-term loudness over ${clock(length)} of ${counted(heard.length, "chapter")}, ${minus(low)} to ${minus(high)} LUFS`,
      [[lines({ length, y: { ...y, ticks: ticks(y.from, y.to, 5) }, marks, target, lines: [{ name: "accent", values }], onTime: (time) => hands.seek(...chapterAt(heard, time)) }), HIGH]],
      [
        "Short-term loudness of the finished files in LUFS, over 3 s; upright lines are chapters",
        target === null ? "." : `; dashed: the target, ${minus(target, 0)} LUFS.`,
      ],
      table("Loudness by chapter", [["no.", "n"], ["chapter", "w"], ["LUFS", "n"], ["range, LU", "n"], ["quietest 3 s", "n"], ["loudest 3 s", "n"]], rows),
    ),
  ];
}

function pitch(data, hands) {
  const { values, marks, length, heard } = overBook(data.chapters, "pitch", 900);
  if (!values.some((value) => value !== null)) return null;
  const [low, high] = bounds(values);
  const y = { from: low * 0.9, to: high * 1.1, isLog: true };
  const rows = heard.map(({ number, title, curve }) => {
    const there = curve.pitch.filter((one) => one !== null);
    return [number, own(title), ...(there.length ? [middle(there), ...bounds(there)] : ["", "", ""])];
  });
  return [
    chart(
      `Pitch over ${clock(length)} of ${counted(heard.length, "chapter")}, ${low} to ${high} Hz`,
      [[lines({ length, y: { ...y, ticks: ticks(y.from, y.to, 4) }, marks, lines: [{ name: "wave", values }], onTime: (time) => hands.seek(...chapterAt(heard, time)) }), MIDDLE]],
      ["Pitch of the voices in Hz: the median of each stretch. A voice that drifts climbs or sinks here."],
      table("Pitch by chapter", [["no.", "n"], ["chapter", "w"], ["median, Hz", "n"], ["lowest", "n"], ["highest", "n"]], rows),
    ),
  ];
}

// -- takes -----------------------------------------------------------------------------------------

const PLACE = [["line", "c"]];
const ORIGIN = [["text, source", "w"], ["speaker", "c"]];
const origin = ({ text, source, speaker }) => [
  [own(text), h("bdi", { class: "s" }, source)],
  own(speaker),
];

const RATIOS = [0.25, 0.33, 0.5, 0.67, 0.8, 1, 1.25, 1.5, 2, 3, 4];

function pace(data, hands) {
  const { pace: points, outliers } = data;
  if (!points.length && !outliers.length) return [note("Nothing has been spoken yet.")];
  const all = [...points.map(([, value]) => value), ...outliers.map((one) => one.against)];
  const reach = Math.min(4, Math.max(1.6, ...all.map((one) => Math.max(one, 1 / one) * 1.1)));
  const [from, to] = [1 / reach, reach];
  const y = { from, to, isLog: true, ticks: RATIOS.filter((one) => one >= from && one <= to).map((one) => [one, String(one)]) };
  const circles = outliers.map((one) => ({
    at: [one.at, one.against],
    words: `${one.place.chunk}: ${one.against.toFixed(2)} of usual`,
    onPress: () => hands.press(one.place),
  }));
  const rows = data.chapters
    .filter((one) => one.pace)
    .map((one) => [one.number, own(one.title), ...one.pace.map((value) => value.toFixed(2)), some(outliers.filter(({ place }) => place.chapter === one.number).length)]);
  return [
    chart(
      `Pace of ${counted(data.pace_count, "line")}, ${counted(outliers.length, "outlier")}`,
      [[dots({ x: data.speech_seconds, y, dots: points, circles }), HIGH]],
      [
        "Length of each line against what is usual for its speaker, over the speech of the book; 2 is twice as long. Circles are outliers.",
        points.length + outliers.length < data.pace_count ? ` Of the others, ${grouped(points.length)} are drawn.` : "",
      ],
      table("Pace by chapter", [["no.", "n"], ["chapter", "w"], ["shortest", "n"], ["median", "n"], ["longest", "n"], ["outliers", "n"]], rows),
    ),
    outliers.length
      ? table(
          "Pace outliers",
          [...PLACE, ["of usual", "n"], ["seconds", "n"], ["of expected", "n"], ...ORIGIN],
          outliers.map((one) => [hands.go(one.place), one.against.toFixed(2), one.seconds.toFixed(1), one.ratio.toFixed(2), ...origin(one.place)]),
        )
      : h("p", {}, "No line is far from what is usual for its speaker."),
    ...uneven(data, hands),
  ];
}

/** How far each line and chapter is from how its speaker usually sounds. */
function steadiness({ steadiness: all, speech_seconds: length }, hands) {
  if (!all.count)
    return [
      note(
        all.unmeasured
          ? `${counted(all.unmeasured, "line")} of an earlier version are not measured. In a terminal: narrator status --steadiness`
          : "Too few lines of two seconds or more to tell how the voices usually sound.",
      ),
    ];
  const most = Math.max(1.5, ...all.outliers.map(({ height }) => height));
  const y = { from: 0, to: most * 1.05, ticks: ticks(0, most * 1.05, 5) };
  const circles = all.outliers.map(({ at, height, place, reasons }) => ({
    at: [at, height],
    words: `${place.chunk}: ${reasons.join("; ")}`,
    onPress: () => hands.press(place),
  }));
  const measures = [...new Set([...all.chapters, ...all.trends].flatMap(({ shares }) => Object.keys(shares)))];
  const row = (first) => ({ speaker, style, takes, shares }) => [
    first,
    own(style ? `${speaker}, ${style}` : speaker),
    grouped(takes),
    ...measures.map((name) => (name in shares ? minus(shares[name]) : "")),
  ];
  const rows = [...all.chapters.map((one) => row(one.chapter)(one)), ...all.trends.map(row("end"))];
  return [
    chart(
      `How far ${counted(all.count, "line")} are from their speakers' usual voice, ${counted(all.outliers.length, "outlier")}`,
      [[dots({ x: length, y, dots: all.dots, circles, target: 1 }), HIGH]],
      [
        `How near each line comes to sticking out from how its speaker usually sounds. Lines above 1 stick out, and are circles: they differ by more than listeners notice, and by more than ${all.spreads} times what this speaker usually varies. The height is the smaller of the two, in whichever of pitch, pace, loudness, timbre and the others is highest.`,
        all.drift === null ? "" : ` Chapters drift by ${all.drift.toFixed(2)}.`,
        ` The unsteadiness of the book is ${all.unsteadiness.toFixed(2)}; less is steadier.`,
        all.trends.length ? ` Voices that change from beginning to end: ${[...new Set(all.trends.map(({ speaker }) => speaker))].join(", ")} (last in the numbers).` : "",
        all.unmeasured ? ` ${counted(all.unmeasured, "line")} of an earlier version are not measured.` : "",
        all.too_few.length ? ` Too few lines to tell: ${all.too_few.join(", ")}.` : "",
      ],
      rows.length ? table("Voices by chapter, in what listeners notice", [["no.", "n"], ["speaker", "c"], ["lines", "n"], ...measures.map((name) => [name, "n"])], rows) : null,
    ),
    all.outliers.length
      ? table(
          "Lines that stick out",
          [...PLACE, ["why", "w"], ...ORIGIN],
          all.outliers.map(({ place, reasons }) => [hands.go(place), reasons.join("; "), ...origin(place)]),
        )
      : h("p", {}, "No line sounds unlike its speaker."),
  ];
}

function uneven({ uneven: all }, hands) {
  if (!all.length) return [];
  return [
    h("p", {}, `${counted(all.length, "place")} where voices in unison end more than half a second apart. A new take of one of them may end with the others.`),
    table(
      "Unison that ends apart",
      [...PLACE, ["seconds apart", "n"], ["ends last", "c"], ["speakers", "c"], ["text", "w"], ["source", "s"]],
      all.map((one) => [hands.go(one.place), one.seconds.toFixed(1), own(one.last), own(one.names), own(one.place.text), own(one.place.source)]),
    ),
  ];
}

function retries(data, hands) {
  const { troubles, chapters: all } = data;
  if (!troubles.length) return [h("p", {}, "Every line with a take was spoken once, and was good.")];
  const parts = [
    ["wave", "spoken again", "retries"],
    ["doubt", "doubtful", "doubtful"],
    ["warn", "given up", "given_up"],
  ].map(([name, title, key]) => ({ name, title, values: all.map((one) => one[key]) }));
  const sums = parts.map(({ title, values }) => `${grouped(values.reduce((sum, one) => sum + one, 0))} ${title}`);
  return [
    chart(
      `By chapter: ${sums.join(", ")}`,
      [[bars({ names: all.map((one) => String(one.number)), parts }), MIDDLE]],
      ["By chapter: ", ...parts.map(({ name }, i) => legend(name, sums[i]))],
      table("Retries by chapter", [["no.", "n"], ["chapter", "w"], ...parts.map(({ title }) => [title, "n"])], all.map((one, i) => [one.number, own(one.title), ...parts.map(({ values }) => grouped(values[i]))])),
    ),
    table(
      "Lines that were spoken again, or are not good",
      [...PLACE, ["outcome", "c"], ["faults", "w"], ["tries", "n"], ...ORIGIN],
      troubles.map((one) => [
        hands.go(one.place),
        h("span", { class: one.given_up || one.doubtful ? "bad" : null }, one.outcome),
        h("ul", {}, ...one.faults.map(([fault, times]) => h("li", {}, times > 1 ? `${fault} (${times} times)` : fault))),
        one.tries,
        ...origin(one.place),
      ]),
    ),
  ];
}

function time({ chapters: all }) {
  const total = all.reduce((sum, one) => sum + one.wall_seconds, 0);
  if (!total) return null;
  const shares = all.map((one) => Math.round((1000 * one.wall_seconds) / total) / 10);
  const rows = all.map((one, i) => [one.number, own(one.title), clock(one.speech_seconds), shares[i].toFixed(1)]);
  return [
    chart(
      `Share of each of ${counted(all.length, "chapter")} in the work of rendering`,
      [[bars({ names: all.map((one) => String(one.number)), parts: [{ name: "accent", title: "% of the work", values: shares }] }), MIDDLE]],
      ["Percent of the work of rendering in each chapter: all its waits from request to take, with tries that failed."],
      table("Work by chapter", [["no.", "n"], ["chapter", "w"], ["speech", "n"], ["percent of the work", "n"]], rows),
    ),
    note("Lines are rendered side by side: their waits added up are more than the time that the render took, so only shares are shown."),
  ];
}

function voices({ speakers }) {
  const most = Math.max(...speakers.map((one) => one.share), 0.001);
  const bar = (share) => {
    const piece = h("span", { class: "piece accent", "aria-hidden": "true" });
    piece.style.width = `${(100 * share) / most}%`;
    return h("span", { class: "part" }, piece);
  };
  return [
    table(
      "Voices by share",
      [["speaker", ""], ["share of speech", "share"], ["percent", "n"], ["speech", "n"], ["lines", "n"], ["pace", "n"], ["level, dB", "n"], ["outliers", "n"], ["corrected", "n"]],
      speakers.map((one) => [
        own(one.name), bar(one.share), (100 * one.share).toFixed(1), clock(one.seconds), grouped(one.chunks),
        one.pace === null ? "" : one.pace.toFixed(2), one.level === null ? "" : minus(one.level), some(one.outliers), some(one.corrected),
      ]),
    ),
    note("Shares and speech are as in the panel Cast: at the speakers' speeds, with the expected length of lines that are not rendered. Pace is the median length of takes against what their texts should take: 1.1 is slower. Level is as spoken, before voices are evened out. Corrected lines are brought closer to the speaker's usual level, or pace, in the files."),
  ];
}

const KINDS = { speaker: "change of speaker", "set by hand": "pause set by hand" };
const kind = (name) => KINDS[name] ?? name;

function pauses({ pauses: all }, hands) {
  if (!all.count) return [h("p", {}, "There are none between lines.")];
  const names = all.histogram.map((_, i) => (i * all.bin_seconds).toFixed(1));
  const after = (one) => hands.go(one.after, true);
  return [
    chart(
      `Lengths of ${counted(all.count, "pause")}`,
      [[bars({ names, parts: [{ name: "wave", title: "pauses", values: all.histogram }] }), MIDDLE]],
      ["How many pauses between lines there are of each length in seconds; those of 6 s and more count together."],
      table(
        "Pauses by kind",
        [["after a", "c"], ["pauses", "n"], ["shortest", "n"], ["median", "n"], ["longest", "n"], ["together", "n"]],
        all.kinds.map(([name, count, least, median, most, sum]) => [kind(name), grouped(count), ...[least, median, most].map((one) => `${one.toFixed(2)} s`), clock(sum)]),
      ),
    ),
    h("p", {}, `${counted(all.bad_count, "join")} where another pause is heard than is planned, or where an edge of a take is at fault.`),
    all.bad.length
      ? table(
          "Joins to hear",
          [["after line", "c"], ["planned", "n"], ["heard", "n"], ["faults", "w"], ["text before it", "w"], ["source", "s"]],
          all.bad.map((one) => [after(one), `${one.seconds.toFixed(2)} s`, one.heard === null ? "" : `${one.heard.toFixed(2)} s`, one.faults.join("; "), own(one.after.text), own(one.after.source)]),
        )
      : null,
    h(
      "details",
      {},
      h("summary", {}, `The ${all.longest.length} longest`),
      table(
        "Longest pauses",
        [["after line", "c"], ["seconds", "n"], ["text before it", "w"], ["kind", "c"], ["source", "s"]],
        all.longest.map((one) => [after(one), one.seconds.toFixed(2), own(one.after.text), kind(one.kind), own(one.after.source)]),
      ),
    ),
  ];
}

function chains({ chains: { lengths, modes, pinned } }) {
  const total = lengths.reduce((sum, [, number]) => sum + number, 0);
  const ofModes = modes.map(([mode, number]) => `${grouped(number)} ${modeWords(mode) || "spoken from the text alone"}`).join(", ");
  return [
    note("A chain is a row of lines, each of which goes on from the sound of the line before."),
    h("p", {}, `${counted(total, "chain")}. Lines: ${ofModes}.${pinned ? ` ${counted(pinned, "take")} pinned by hand.` : ""}`),
    lengths.some(([length]) => length > 1)
      ? chart(
          `Chains by their number of lines: ${counted(total, "chain")}`,
          [[bars({ names: lengths.map(([length]) => String(length)), parts: [{ name: "wave", title: "chains", values: lengths.map(([, number]) => number) }] }), MIDDLE]],
          ["How many chains there are of each number of lines."],
          table("Chains by length", [["lines in a chain", "n"], ["chains", "n"]], lengths.map((row) => row.map(grouped))),
        )
      : h("p", {}, "Each line is spoken on its own."),
  ];
}

// -- lists -----------------------------------------------------------------------------------------

function leftOut({ left_out: all, import_report: list }) {
  const imported = list ? note(`What the import left out of the manuscript is in none of the chapters: it is listed in ${list}, in the book's folder.`) : null;
  if (!all.length) return [h("p", {}, "Nothing: all text of the book's chapters is spoken."), imported];
  return [
    imported,
    table(
      "Left out",
      [["text", "w"], ["why", "c"], ["source", "s"], ["chapter", "n"]],
      all.map((one) => [own(one.text), one.reason, own(one.source), one.chapter]),
    ),
  ];
}

function pickups({ pickups: all }, hands) {
  if (!all.length) return null;
  const isNamed = all.some(({ who }) => who);
  const time = ({ place, time: written }) => (place ? (place.start === null ? "" : clock(place.start)) : written.replace(/\.\d+$/, ""));
  return [
    table(
      "Pickups",
      [...PLACE, ["time", "n"], ["note", "w"], ...(isNamed ? [["noted by", "c"]] : []), ["state", ""], ...ORIGIN],
      all.map((one) => [
        one.place ? hands.go(one.place) : one.chunk,
        time(one),
        own(one.note),
        ...(isNamed ? [own(one.who)] : []),
        one.is_lost ? "its text is gone" : one.done ? "done" : "to do",
        ...origin(one),
      ]),
    ),
  ];
}

function files({ files: all }) {
  if (!all.length) return [h("p", {}, "None has been made yet.")];
  const name = (one) => (one.url ? h("a", { href: one.url }, own(one.name)) : own(one.name));
  const verdict = (one) => {
    const failed = one.checks.filter((check) => !check.ok);
    const bad = [
      one.note,
      one.unreadable,
      ...failed.map((check) => `${check.name}: ${check.figure}${check.demand ? `, asked for ${check.demand}` : ""}`),
    ].filter(Boolean);
    if (bad.length) return h("span", { class: "bad" }, bad.join("; "));
    return one.figures ? "ok" : "not measured";
  };
  return [
    table(
      "Finished files",
      [["file", "w"], ["size", "n"], ["length", "n"], ["LUFS", "n"], ["RMS, dB", "n"], ["true peak, dBTP", "n"], ["kbit/s", "n"], ["checks", "w"]],
      all.map((one) => {
        const [seconds, ...levels] = one.figures ?? [];
        const figures = one.figures ? [clock(seconds), ...levels.slice(0, 3).map((level) => minus(level)), levels[3]] : ["", "", "", "", ""];
        return [name(one), sizeWords(one.bytes), ...figures, verdict(one)];
      }),
    ),
    ...all
      .filter((one) => one.profile && one.checks.length)
      .map((one) =>
        h(
          "details",
          {},
          h("summary", {}, own(one.name), ` against ${one.profile}`),
          table(
            `Checks of ${one.name}`,
            [["check", ""], ["measured", ""], ["asked for", ""], ["result", ""]],
            one.checks.map((check) => [check.name, check.figure, check.demand, check.ok ? check.demand && "ok" : h("span", { class: "bad" }, "fails")]),
          ),
        ),
      ),
  ];
}

function byChapter({ chapters: all }, hands) {
  if (!all.some((one) => one.curve)) return null;
  return all.filter((one) => one.curve).map((one) => {
    const { curve, target } = one;
    const length = curve.seconds;
    const [low, high] = bounds([...curve.loudness, target, -20]);
    const y = { from: Math.max(SILENT, Math.min(low, -43)), to: Math.max(high + 2, -5) };
    const onTime = (seconds) => hands.seek(one, seconds);
    const figures = `${clock(length)} at ${minus(curve.integrated)} LUFS, range ${curve.spread.toFixed(1)} LU`;
    return h(
      "article",
      { id: `report-chapter-${one.number}` },
      h("h3", {}, `${one.number}. `, own(one.title)),
      h("p", { class: one.good ? "note" : "note bad" }, one.good ? figures : `${one.state}; ${figures}`),
      chart(
        `Waveform and short-term loudness of chapter ${one.number}: ${figures}`,
        [
          [waveform({ ...curve, length, onTime }), LOW],
          [lines({ length, y: { ...y, ticks: ticks(y.from, y.to, 4) }, target, lines: [{ name: "accent", values: curve.loudness }], onTime }), MIDDLE],
        ],
        [`Waveform; short-term loudness in LUFS, over 3 s; ${target === null ? `target: ${one.target_words}` : `dashed: the target, ${minus(target, 0)} LUFS`}.`],
        null,
      ),
      hands.sound?.(one),
    );
  });
}

const SECTIONS = [
  ["completeness", "Completeness", completeness],
  ["chapters", "Chapters", chapters],
  ["loudness", "Loudness", loudness],
  ["pitch", "Pitch", pitch],
  ["pace", "Pace", pace],
  ["steadiness", "Steadiness", steadiness],
  ["retries", "Retries and flags", retries],
  ["pickups", "Pickups", pickups],
  ["time", "Where time went", time],
  ["voices", "Voices", voices],
  ["pauses", "Pauses", pauses],
  ["chains", "Chains", chains],
  ["unspoken", "Left out", leftOut],
  ["files", "Files", files],
  ["sound", "Chapter by chapter", byChapter],
];
