// People type questions, but the search finds pages by the beginnings of words, even of "a" and "I",
// which are on every page. So such words are removed from what the search's worker is asked.

const STOP_WORDS = new Set(
  `a about after all am an and any are as at be by can could do does for from get has have how i if
  in into is it its just make me my of on or our should so that the their them then there they
  this to use want was we what when where which while who why will with would you your`.split(/\s+/),
);
const QUERY = 2; // Material's message type

const { postMessage } = Worker.prototype;
Worker.prototype.postMessage = function (message, ...others) {
  if (message?.type === QUERY && typeof message.data === "string") {
    const keywords = message.data.split(" ").filter((word) => !STOP_WORDS.has(word.replace(/\W/g, "").toLowerCase()));
    if (keywords.length) message = { ...message, data: keywords.join(" ") };
  }
  return postMessage.call(this, message, ...others);
};
