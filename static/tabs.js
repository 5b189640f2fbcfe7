// On a narrow screen the row of tabs scrolls: the one that is open comes into sight.
"use strict";

const openTab = document.querySelector(".tabs [aria-current]");

function bringIntoSight() {
  const row = openTab.closest(".tabs");
  row.scrollLeft = openTab.offsetLeft - row.offsetLeft - (row.clientWidth - openTab.offsetWidth) / 2;
}

if (openTab) {
  bringIntoSight();
  addEventListener("resize", bringIntoSight);
}
