'use strict';
/* The page of a trial: the charts over time are moved into it while it is open. Without scripts the style shows the page alone, with
   its tables. */

/** The charts over time, and the place they have in the report. */
const timeFigures = ['time-rate', 'time-latency', 'time-cpu', 'time-backlog', ...model.system_metrics.map((_, place) => `time-metric-${place}`)]
  .map((id) => byId(id) && byId(id).closest('figure')).filter(Boolean);
const timeHome = timeFigures.length ? make('div', { className: 'time-charts' }) : null;
/** What the report shows, while a page of a trial is open. */
let shownInReport = null;

const openPage = () => {
  const target = location.hash.length > 1 ? byId(decodeURIComponent(location.hash.slice(1))) : null;
  return target && target.matches('article.page') ? target : null;
};

function followAddress() {
  if (!timeHome) return;
  const page = openPage();
  const trial = page && model.trials.find((one) => one.page === page.id);
  if (trial) {
    windows.delete('time');
    if (!shownInReport) shownInReport = { trial: timeView.trial, facet: timeView.facet };
    timeView.facet = null;
    const before = page.querySelector('dl') || page.lastElementChild;
    before.after(timeHome);
    showTrial(trial);
    page.focus({ preventScroll: true });
    scrollTo(0, 0);
  } else if (!byId('time-choice').parentElement.contains(timeHome)) {
    byId('time-choice').after(timeHome);
    timeView.facet = shownInReport.facet;
    showTrial(shownInReport.trial);
    shownInReport = null;
    const target = location.hash.length > 1 && byId(location.hash.slice(1));
    if (target) target.scrollIntoView();
  }
}

function prepareTrials() {
  if (!timeHome) return;
  byId('time-choice').after(timeHome);
  timeHome.append(...timeFigures);
  addEventListener('hashchange', followAddress);
  followAddress();
}
