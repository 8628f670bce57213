"use strict";
// Draws each chart anew, so that it answers to a pointer; where that fails, the drawing in the page stays.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const options = {
    actions: false,
    ast: true, // expressions are interpreted: the page forbids itself to evaluate text as script
    defaultStyle: false,
    renderer: "svg",
    tooltip: { disableDefaultStyle: true },
  };
  for (const figure of document.querySelectorAll("figure[data-chart]")) {
    window
      .vegaEmbed(figure.querySelector(".live"), data.charts[figure.dataset.chart], options)
      .then(() => figure.classList.add("drawn"))
      .catch((error) => console.error(figure.dataset.chart, error));
  }
})();
