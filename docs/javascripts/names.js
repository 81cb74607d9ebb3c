// Names what the theme adds to a page by script: each block of code gets a landmark with its buttons, and landmarks need names.

const names = new MutationObserver(() => {
  for (const [place, buttons] of document.querySelectorAll(".md-code__nav").entries()) {
    const name = `Buttons of code block ${place + 1}`;
    if (buttons.getAttribute("aria-label") !== name) buttons.setAttribute("aria-label", name);
  }
});

names.observe(document.body, { childList: true, subtree: true });
