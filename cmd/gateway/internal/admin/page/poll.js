// Asking again and again. While the page is hidden nothing is asked; while nobody
// answers it is asked less and less often.

const every = 2000; // milliseconds
const seldom = 30000;

// poll calls ask(signal) until it is stopped, never twice at a time. told(error,
// next) is called after each: error is null when it went well, next the moment of
// the next try. A try that went wrong doubles the pause.
export function poll(ask, told) {
  const stopped = new AbortController();
  let pause = every;
  let timer = 0;
  let asking = false;
  let again = false;

  async function now() {
    clearTimeout(timer);
    timer = 0;
    if (asking) {
      again = true;
      return;
    }
    asking = true;
    again = false;
    let error = null;
    try {
      await ask(stopped.signal);
      pause = every;
    } catch (problem) {
      error = problem;
      pause = Math.min(pause * 2, seldom);
    }
    asking = false;
    if (stopped.signal.aborted) return;
    told(error, Date.now() + pause);
    if (again) now();
    else wait();
  }

  function wait() {
    clearTimeout(timer);
    timer = document.hidden || stopped.signal.aborted ? 0 : setTimeout(now, pause);
  }

  function seen() {
    if (document.hidden) {
      clearTimeout(timer);
      timer = 0;
    } else if (!timer) {
      now();
    }
  }

  document.addEventListener('visibilitychange', seen, {signal: stopped.signal});
  if (!document.hidden) now();
  return {now, stop: () => { stopped.abort(); clearTimeout(timer); }};
}
