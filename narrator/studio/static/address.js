// Where a book's server is: at the root, or under /book/ID where a start page has opened it.

const BASE = /^\/book\/[0-9a-f]+(?=\/)/.exec(location.pathname)?.[0] ?? "";

/** The address of something of this book. @param {string} path as the book's routes name it */
export const addressOf = (path) => (path.startsWith("/") ? BASE + path : path);
