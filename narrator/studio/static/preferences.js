// What the browser remembers between visits: speed, theme, the last place in each book.

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
export const preference = (name, otherwise) => read(HERE)[name] ?? otherwise;

/** @param {string} name @param {unknown} value */
export const savePreference = (name, value) => write(HERE, { ...read(HERE), [name]: value });

const ofBook = (book) => `${HERE}:${book.root}/${book.manifest}`;

/** @returns {{ chapter?: number, chunk?: string, time?: number }} */
export const lastPlace = (book) => read(ofBook(book));

/** @param {any} book @param {{ chapter: number, chunk: string, time: number }} place */
export const savePlace = (book, place) => write(ofBook(book), place);
