// The page of `zoo demo`: chooses the model and shows the part that fits it.

import { ask, chosen, find, make, state } from "/common.js";
import { startPictures } from "/pictures.js";
import { startRuns } from "/runs.js";
import { startText } from "/text.js";

function fillChoice() {
  const select = find("model");
  for (const [group, title] of [["runs", "Runs"], ["models", "Models on this disk"]]) {
    const offers = state.offers.filter((offer) => offer.group === group);
    if (!offers.length) continue;
    const list = make("optgroup");
    list.label = title;
    for (const offer of offers) {
      const option = make("option", "", `${offer.name} (${offer.kind})`);
      option.value = offer.key;
      list.append(option);
    }
    select.append(list);
  }
}

function showPart() {
  const offer = chosen();
  for (const kind of ["pictures", "text"]) find(kind).hidden = offer?.kind !== kind;
}

async function start() {
  try {
    Object.assign(state, await (await ask("/api/state")).json());
  } catch (error) {
    find("trouble").textContent = error.message;
    find("trouble").hidden = false;
    return;
  }
  fillChoice();
  find("model").addEventListener("change", showPart);
  startPictures();
  startText();
  startRuns(state.offers.filter((offer) => offer.group === "runs"));
  showPart();
}

start();
