'use strict';
/* Puts what the server says of a run in place of what the page shows. All of it is markup of the server, in which texts are escaped. */
(() => {
  const live = document.getElementById('live');
  if (!live.dataset.events) return;
  const status = document.getElementById('live-status');
  const source = new EventSource(live.dataset.events);
  source.addEventListener('state', (event) => {
    live.innerHTML = event.data;
    status.textContent = '';
  });
  source.addEventListener('ended', (event) => {
    source.close();
    live.innerHTML = event.data;
    status.textContent = 'The run has ended.';
    document.documentElement.dataset.ended = 'true';
  });
  source.addEventListener('problem', (event) => {
    source.close();
    status.textContent = event.data;
  });
  source.addEventListener('error', () => {
    if (source.readyState !== EventSource.CLOSED) status.textContent = 'The connection is lost, and is opened again.';
  });
})();
