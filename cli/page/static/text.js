// Text: streamed as server-sent events; stopping closes the connection, and the server notices.

import { ask, chosen, find, limits, make } from "/common.js";

let stopping = null; // an AbortController while text is being written

/** (event, data) of a stream of server-sent events. */
async function* events(reply) {
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += value;
    const blocks = rest.split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const [, name, data] = block.match(/^event: (.*)\ndata: (.*)$/s) ?? [];
      if (name) yield [name, JSON.parse(data)];
    }
  }
}

function prepare(prompt) {
  const written = find("written");
  written.replaceChildren(make("span", "given", prompt), make("span"));
  written.hidden = false;
  written.setAttribute("aria-busy", "true");
  find("go").disabled = true;
  find("stop").disabled = false;
  find("text-status").textContent = "Writing …";
  return written;
}

async function write() {
  if (stopping) return;
  const prompt = find("prompt").value;
  if (prompt.length > limits().prompt) {
    find("text-status").textContent = `The beginning is ${prompt.length} characters; expected at most ${limits().prompt}.`;
    return;
  }
  stopping = new AbortController();
  const written = prepare(prompt);
  const wanted = {
    model: chosen().key,
    prompt,
    max_tokens: find("tokens").valueAsNumber,
    temperature: find("temperature").valueAsNumber,
    seed: find("seed").valueAsNumber,
  };
  let said = "The connection ended before the text did.";
  try {
    const reply = await ask("/api/write", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(wanted),
      signal: stopping.signal,
    });
    for await (const [name, value] of events(reply)) {
      if (name === "piece") {
        const near = written.scrollHeight - written.scrollTop - written.clientHeight < 40;
        written.lastChild.append(value.text);
        if (near) written.scrollTop = written.scrollHeight;
      } else if (name === "end") {
        said = value.reason === "end" ? `Done in ${value.seconds} s.` : `Ended: ${value.reason}.`;
      } else {
        said = value.error;
      }
    }
  } catch (error) {
    said = error.name === "AbortError" ? "Stopped." : error.message;
  }
  stopping = null;
  find("text-status").textContent = said;
  written.setAttribute("aria-busy", "false");
  find("go").disabled = false;
  find("stop").disabled = true;
}

export function startText() {
  find("tokens").max = limits().tokens;
  find("write").addEventListener("submit", (event) => {
    event.preventDefault();
    write();
  });
  find("prompt").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) find("write").requestSubmit();
  });
  find("stop").addEventListener("click", () => stopping?.abort());
}
