'use strict';
/* Light and dark. Pages of a server keep it for the next page; a file keeps nothing. Runs in the head, so that no page is first drawn in the
   other one. */
(() => {
  const root = document.documentElement;
  const key = 'waggle-theme';
  const isServed = location.protocol.startsWith('http');
  root.classList.add('themed');
  const kept = isServed ? localStorage.getItem(key) : null;
  if (kept === 'light' || kept === 'dark') root.dataset.theme = kept;
  const isDark = () => (root.dataset.theme || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';
  document.addEventListener('click', (event) => {
    if (!event.target.closest('#theme')) return;
    root.dataset.theme = isDark() ? 'light' : 'dark';
    if (isServed) localStorage.setItem(key, root.dataset.theme);
    document.dispatchEvent(new Event('themechange'));
  });
})();
