// Mends what axe finds in mdBook's own pages.
(() => {
  // What scrolls sideways can be scrolled from the keyboard.
  const focusScrollers = () => {
    for (const box of document.querySelectorAll("pre code, .table-wrapper")) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    }
  };
  focusScrollers();
  addEventListener("resize", focusScrollers);

  // The switch of the sidebar is a label that has the attributes of a button.
  const toggle = document.getElementById("mdbook-sidebar-toggle");
  if (!toggle) return;
  toggle.setAttribute("role", "button");
  toggle.tabIndex = 0;
  toggle.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    toggle.click();
  });
})();
