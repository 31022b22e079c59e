// What the person at this page may do. The server decides; the page only leaves out what it refuses.

const { rights } = document.body.dataset;

export const isOwner = rights === "owner";
export const canEdit = rights !== "listen";
