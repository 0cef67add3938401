'use strict';
/* Puts the page to work: charts, tables, paper. */

document.addEventListener('themechange', redrawAll);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redrawAll);

prepareTables();
if (METRICS.length) {
  metricTabs();
  factorChoice();
} else {
  byId('metric-panel').hidden = true;
}
if (model.cells.some((cell) => cell.spectrum.length)) spectrumChoice();
else byId('spectrum').closest('figure').hidden = true;
if (model.curves) curvesChoice();
drawComparisons();
effectsChoice();
stepChoice();
timeChoice();
prepareTrials();
if (model.reference) referenceChoice();
if (model.search && model.search.cells.some((search) => search.steps.length)) searchChoice();
else if (byId('search-levels')) byId('search-levels').closest('figure').hidden = true;
(model.operating_points || []).forEach((_, place) => drawOperatingPoint(place));

matchMedia('print').addEventListener('change', (event) => setPrinting(event.matches));
addEventListener('beforeprint', () => setPrinting(true));
addEventListener('afterprint', () => setPrinting(false));
document.documentElement.dataset.ready = 'true';
