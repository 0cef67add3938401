'use strict';
/* Unpacks the data of the charts and the page's scripts, which are compressed, and runs these. Without scripts, and in a browser that
   cannot unpack, the page reads as it was written. */

(async () => {
  if (typeof DecompressionStream !== 'function') return;
  const byId = (id) => document.getElementById(id);
  const unpack = (id) => {
    const bytes = Uint8Array.from(atob(byId(id).textContent), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'))).text();
  };
  const [data, ...scripts] = await Promise.all(['model', 'packed-library', 'packed-scripts'].map(unpack));
  byId('model').textContent = data;
  scripts.forEach((text) => {
    const script = document.createElement('script');
    script.textContent = text;
    document.body.append(script);
  });
})();
