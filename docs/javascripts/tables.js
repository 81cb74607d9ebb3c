// Tables and formulas that are wider than the page scroll. The keyboard reaches them, too.
(function () {
  function mark() {
    for (const wrap of document.querySelectorAll(".md-typeset__scrollwrap, div.arithmatex")) {
      if (wrap.scrollWidth > wrap.clientWidth) wrap.tabIndex = 0;
      else wrap.removeAttribute("tabindex");
    }
  }
  // The theme wraps tables after the page was read.
  new MutationObserver(mark).observe(document.documentElement, { childList: true, subtree: true });
  addEventListener("resize", mark);
  addEventListener("load", mark);
})();
