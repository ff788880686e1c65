// Tells the server every ten seconds that the page is open, from a worker: pages in the background sleep.
// Tells the page whether the server answered; while it does not, it is asked more often.

const [OFTEN, RARELY] = [2000, 10_000];

addEventListener("message", (event) => {
  const { address, page } = event.data;
  const call = async () => {
    const told = fetch(address, { method: "POST", headers: { "Content-Type": "application/json", "X-Page": page }, body: "{}" });
    const answered = await told.then((response) => response.ok, () => false);
    postMessage({ answered });
    setTimeout(call, answered ? RARELY : OFTEN);
  };
  setTimeout(call, RARELY);
});

export {};
