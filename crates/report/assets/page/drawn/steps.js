'use strict';
/* Scenario steps: the response time distribution of one cell, one line per step. */

const stepView = { cell: null };

function stepOption(look) {
  const steps = stepView.cell.steps.filter((step) => step.spectrum.length);
  const lines = steps.map((step, place) => ({
    name: step.name, spectrum: step.spectrum, color: look.series[place % look.series.length], type: dashOf(place, look), opacity: 1,
  }));
  return spectrumLines(look, lines, { legend: true });
}

/** The cell whose steps are shown, if there are several. */
function stepChoice() {
  const figure = document.getElementById('step-spectrum');
  if (!figure) return;
  const cells = model.cells.filter((cell) => cell.steps && cell.steps.some((step) => step.spectrum.length));
  if (!cells.length) {
    figure.closest('figure').hidden = true;
    return;
  }
  const label = byId('step-spectrum-label');
  const name = label.textContent;
  const choose = (cell) => {
    stepView.cell = cell;
    if (cells.length > 1) {
      byId('step-choice').replaceChildren(chooser('cell', cells.map((one) => one.label), cells.indexOf(cell), (to) => choose(cells[to])));
      label.textContent = `${name}: ${cell.label}${cell.believed ? '' : ` (${cell.verdict})`}`;
    }
    draw('step-spectrum', stepOption);
  };
  choose(cells.find((cell) => cell.cell === model.best) || cells[0]);
}
