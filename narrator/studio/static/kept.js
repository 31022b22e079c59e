// What the browser keeps between visits: speed, theme, where one was in each book.

const HERE = "narrator-studio";

/** @returns {Record<string, any>} */
function read(key) {
  try {
    return JSON.parse(localStorage.getItem(key) ?? "{}") ?? {};
  } catch {
    return {};
  }
}

function write(key, values) {
  try {
    localStorage.setItem(key, JSON.stringify(values));
  } catch {
    // A browser that keeps nothing is as good, but for the next visit.
  }
}

/** @param {string} name @param {any} otherwise */
export const kept = (name, otherwise) => read(HERE)[name] ?? otherwise;

/** @param {string} name @param {unknown} value */
export const keep = (name, value) => write(HERE, { ...read(HERE), [name]: value });

const ofBook = (book) => `${HERE}:${book.root}/${book.manifest}`;

/** @returns {{ chapter?: number, chunk?: string, time?: number }} */
export const keptPlace = (book) => read(ofBook(book));

/** @param {any} book @param {{ chapter: number, chunk: string, time: number }} place */
export const keepPlace = (book, place) => write(ofBook(book), place);
