// What all parts of the page use.

export const find = (id) => document.getElementById(id);

/** An element with a class and text; text stays text. */
export function make(tag, look = "", text = "") {
  const element = document.createElement(tag);
  if (look) element.className = look;
  if (text) element.textContent = text;
  return element;
}

/** The answer to a request, or an Error whose message is for people. */
export async function ask(address, options = {}) {
  let reply;
  try {
    reply = await fetch(address, { ...options, headers: { "X-Zoo": "page", ...options.headers } });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("zoo demo does not answer; is it still running in the terminal?");
  }
  if (reply.ok) return reply;
  const said = await reply.json().catch(() => ({}));
  throw new Error(said.error || `the answer was ${reply.status}`);
}

export const state = { offers: [], limits: {} };
export const chosen = () => state.offers.find((offer) => offer.key === find("model").value);
export const limits = () => state.limits;
