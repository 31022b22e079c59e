// Before the page is drawn: light, dark, or as the system has it. Not a module, so that it is early.
"use strict";
{
  const theme = JSON.parse(localStorage.getItem("narrator-studio") ?? "{}").theme;
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
}
