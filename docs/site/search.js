// People type questions. The search looks for words by their beginnings, also for "a" and "I",
// which every page has: words that say nothing are left out of what its worker is asked.

const SILENT = new Set(
  `a about after all am an and any are as at be by can could do does for from get has have how i if
  in into is it its just make me my of on or our should so that the their them then there they
  this to use want was we what when where which while who why will with would you your`.split(/\s+/),
);
const QUERY = 2; // Material's message type

const { postMessage } = Worker.prototype;
Worker.prototype.postMessage = function (message, ...others) {
  if (message?.type === QUERY && typeof message.data === "string") {
    const telling = message.data.split(" ").filter((word) => !SILENT.has(word.replace(/\W/g, "").toLowerCase()));
    if (telling.length) message = { ...message, data: telling.join(" ") };
  }
  return postMessage.call(this, message, ...others);
};
