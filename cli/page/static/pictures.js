// Pictures: sent one after the other, each answered with a card.

import { ask, chosen, find, limits, make } from "/common.js";

const megabytes = (bytes) => `${Math.round(bytes / 1e6)} MB`;
const percent = (share) => `${(100 * share).toFixed(1)}%`;
const baseName = (name) => name.split(/[\\/]/).pop() || "picture";

let stopping = null; // an AbortController while pictures are being sent

function shares(card, file, found, images) {
  const list = make("ul", "shares");
  list.setAttribute("aria-label", "Likeliest classes; choose one to see what speaks for it");
  for (const one of found.top) {
    const row = make("li");
    const button = make("button");
    button.type = "button";
    button.setAttribute("aria-pressed", String(one.class === found.explained));
    const track = make("span", "track");
    const fill = make("span", "fill");
    fill.style.display = track.style.display = "block";
    fill.style.width = percent(one.probability);
    track.append(fill);
    track.setAttribute("aria-hidden", "true");
    button.append(make("span", "what", one.class), make("span", "share", percent(one.probability)), track);
    button.addEventListener("click", () => explain(card, file, found, one, list, button, images));
    row.append(button);
    list.append(row);
  }
  return list;
}

async function explain(card, file, found, one, list, button, images) {
  if (!images.heat) return;
  try {
    const again = await look(file, card.dataset.model, undefined, one.number);
    images.heat.src = again.heat;
    images.heat.alt = `Where the model looked for ${one.class}`;
    images.caption.textContent = `what speaks for ${one.class}`;
    for (const other of list.querySelectorAll("button")) other.setAttribute("aria-pressed", "false");
    button.setAttribute("aria-pressed", "true");
  } catch (error) {
    find("pictures-status").textContent = error.message;
  }
}

function picture(address, alt, text) {
  const figure = make("figure");
  const image = make("img");
  image.src = address;
  image.alt = alt;
  const caption = make("figcaption", "", text);
  figure.append(image, caption);
  return { figure, image, caption };
}

function goodCard(file, offer, found) {
  const card = make("li", "card");
  card.dataset.model = offer.key;
  const pair = make("div", "pair");
  const seen = picture(found.seen, `${found.name} as the model sees it`, "what the model sees");
  pair.append(seen.figure);
  const images = {};
  if (found.heat) {
    const heat = picture(found.heat, `Where the model looked for ${found.explained}`, `what speaks for ${found.explained}`);
    Object.assign(images, { heat: heat.image, caption: heat.caption });
    pair.append(heat.figure);
  }
  const facts = `${found.width} × ${found.height} pixels, by ${offer.name}`;
  card.append(pair, make("p", "name", found.name), make("p", "path", facts));
  if (baseName(file.name) !== file.name) {
    card.append(make("p", "note", "The file's name held a path; only its last part is used, as a label."));
  }
  card.append(shares(card, file, found, images));
  return card;
}

function badCard(message) {
  const card = make("li", "card bad");
  card.append(make("p", "", message));
  return card;
}

async function look(file, model, signal, explained) {
  const { bytes } = limits();
  if (file.size > bytes) {
    const most = `expected at most ${megabytes(bytes)}`;
    throw new Error(`${baseName(file.name)}: ${megabytes(file.size)}; ${most}. For larger pictures type: zoo predict RUN PICTURE`);
  }
  const asked = new URLSearchParams({ model, name: file.name });
  if (explained !== undefined) asked.set("explain", explained);
  const reply = await ask(`/api/look?${asked}`, { method: "POST", body: file, signal });
  return reply.json();
}

async function lookAtAll(files) {
  if (!files.length || stopping) return;
  const offer = chosen();
  const most = limits().pictures;
  const taken = files.slice(0, most);
  const status = find("pictures-status");
  const rest = files.length > most ? ` Only the first ${most} of ${files.length} are taken at once.` : "";
  stopping = new AbortController();
  find("pictures-stop").hidden = taken.length < 2;
  find("looks").setAttribute("aria-busy", "true");
  let done = 0;
  let refused = 0;
  let last = "";
  for (const file of taken) {
    status.textContent = `Looking at ${done + 1} of ${taken.length}: ${baseName(file.name)} …`;
    try {
      const found = await look(file, offer.key, stopping.signal);
      last = `${found.name}: ${found.top[0].class}, ${percent(found.top[0].probability)}`;
      find("looks").prepend(goodCard(file, offer, found));
    } catch (error) {
      if (error.name === "AbortError") break;
      refused += 1;
      last = error.message;
      find("looks").prepend(badCard(error.message));
    }
    done += 1;
  }
  const stopped = stopping.signal.aborted;
  stopping = null;
  const counted = `${done - refused} of ${taken.length} looked at`;
  const failed = refused ? `, ${refused} refused` : "";
  status.textContent = taken.length === 1 && !stopped
    ? `${last}.${rest}`.replace(/\.\.$/, ".")
    : `${stopped ? "Stopped: " : ""}${counted}${failed}.${rest}`;
  find("pictures-stop").hidden = true;
  find("pictures-clear").hidden = !find("looks").children.length;
  find("looks").setAttribute("aria-busy", "false");
}

export function startPictures() {
  const { bytes, pictures } = limits();
  find("files-help").textContent =
    `JPEG, PNG, WebP, GIF, BMP or TIFF; up to ${megabytes(bytes)} each, ${pictures} at once.`;
  const drop = find("drop");
  find("files").addEventListener("change", (event) => {
    lookAtAll([...event.target.files]);
    event.target.value = ""; // so that the same file can be chosen again
  });
  // A file that misses the field would replace the page.
  for (const name of ["dragover", "drop"]) window.addEventListener(name, (event) => event.preventDefault());
  drop.addEventListener("dragover", () => drop.classList.add("over"));
  for (const name of ["dragleave", "drop"]) drop.addEventListener(name, () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => lookAtAll([...event.dataTransfer.files]));
  window.addEventListener("paste", (event) => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length && chosen()?.kind === "pictures") lookAtAll(files);
  });
  find("pictures-stop").addEventListener("click", () => stopping?.abort());
  find("pictures-clear").addEventListener("click", () => {
    find("looks").replaceChildren();
    find("pictures-clear").hidden = true;
    find("pictures-status").textContent = "";
    find("files").focus();
  });
}
