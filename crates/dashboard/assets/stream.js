// The connection to the server. It comes back by itself: soon at first, then ever less often.

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 8_000;

export function follow({ onUpdate, onLost, onBye }) {
  let waitMs = FIRST_WAIT_MS;
  let over = false;

  function connect() {
    const source = new EventSource("/events");
    let left = false;

    source.addEventListener("update", (event) => {
      waitMs = FIRST_WAIT_MS;
      over = false;
      onUpdate(JSON.parse(event.data));
    });
    source.addEventListener("bye", () => {
      over = true;
      onBye();
      leave();
    });
    source.addEventListener("error", leave);

    // The browser's own way back has no end to it and no growing pauses.
    function leave() {
      if (left) return;
      left = true;
      source.close();
      if (!over) onLost();
      setTimeout(connect, waitMs);
      waitMs = Math.min(LONGEST_WAIT_MS, 2 * waitMs);
    }
  }

  connect();
}
