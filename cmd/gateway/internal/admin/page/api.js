// Questions to the admin plane. The token lives in this module's memory and
// nowhere else: no storage, no cookie, no address. A reload forgets it.

let token = '';

export function setToken(text) {
  token = text;
}

export function hasToken() {
  return token !== '';
}

// Problem is an answer that is an error of the plane: its code, and its words.
export class Problem extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }

  // denied: the token is missing or another.
  get denied() {
    return this.status === 401;
  }
}

// Gone: nothing answered.
export class Gone extends Error {}

const patience = 15000; // milliseconds; a dry run of a large request has more
const longest = 500; // characters of a problem that are shown

// ask sends one question and returns what the answer holds, or null where it holds
// nothing. It throws a Problem or Gone; a question that was called off by its signal
// throws the signal's reason.
export async function ask(method, path, {body, signal, wait = patience} = {}) {
  const headers = {Accept: 'application/json'};
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  const limits = [AbortSignal.timeout(wait), ...(signal ? [signal] : [])];
  let answer;
  let text;
  try {
    answer = await fetch(path, {method, headers, body, cache: 'no-store', redirect: 'error', signal: AbortSignal.any(limits)});
    text = await answer.text();
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    throw new Gone('The replica does not answer.', {cause: error});
  }
  if (answer.ok) return text ? JSON.parse(text) : null;
  throw problemOf(answer.status, text);
}

// problemOf reads the envelope. What stands between may answer with anything.
function problemOf(status, text) {
  try {
    const {message, code} = JSON.parse(text).error;
    return new Problem(status, String(code), cut(String(message)));
  } catch {
    return new Problem(status, '', `The answer was ${status} and could not be read.`);
  }
}

function cut(text) {
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}

// words are a problem as the page tells it.
export function words(error) {
  if (error instanceof Gone) return 'The replica does not answer.';
  if (error instanceof Problem) return error.code ? `${sentence(error.message)} (${error.status} ${error.code})` : error.message;
  return `This page failed: ${cut(String(error?.message ?? error))}`;
}

function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?…]$/.test(text) ? '' : '.');
}
