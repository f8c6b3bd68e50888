caches && caches.open('x').then((to) => to.put('/x', new Response('x'.repeat(1e7)))).catch(() => {});
indexedDB.open('x').onsuccess = () => {};
try { for (let i = 0; ; i++) localStorage.setItem(i, 'x'.repeat(1e6)) } catch (error) {}
