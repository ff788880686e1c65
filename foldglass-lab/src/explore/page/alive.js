// Tells the server every ten seconds that the page is open, from a worker: pages in the background sleep.

addEventListener("message", (event) => {
  const { address, page } = event.data;
  setInterval(() => {
    fetch(address, { method: "POST", headers: { "Content-Type": "application/json", "X-Page": page }, body: "{}" }).catch(() => {});
  }, 10_000);
});

export {};
