(() => {
  const form = document.querySelector("form");
  const findings = [...document.querySelectorAll(".finding")];
  const applyFilters = () => {
    const audience = form.elements.audience.value;
    const rule = form.elements.rule.value;
    let count = 0;
    for (const finding of findings) {
      const isShown = (!audience || finding.dataset[audience] !== "same") && (!rule || finding.dataset.rule === rule);
      finding.hidden = !isShown;
      count += Number(isShown);
    }
    for (const group of document.querySelectorAll(".group")) {
      group.hidden = !group.querySelector(".finding:not([hidden])");
    }
    form.elements.count.value = `${count} of ${findings.length} changes`;
  };
  form.hidden = false;
  form.addEventListener("input", applyFilters);
  applyFilters();
})();
