'use strict';
/* Light and dark, kept for the next page. */
(() => {
  const root = document.documentElement;
  const key = 'waggle-theme';
  root.classList.add('js');
  const kept = localStorage.getItem(key);
  if (kept === 'light' || kept === 'dark') root.dataset.theme = kept;
  const isDark = () => (root.dataset.theme || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';
  document.getElementById('theme').addEventListener('click', () => {
    root.dataset.theme = isDark() ? 'light' : 'dark';
    localStorage.setItem(key, root.dataset.theme);
  });
})();
