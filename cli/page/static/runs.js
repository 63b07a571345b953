// Runs: asked about every few seconds while they run and the page is looked at.

import { ask, find, make } from "/common.js";

const PAUSE = 3000; // milliseconds
const STATES = { running: "running", silent: "no news", finished: "finished" };

function duration(seconds) {
  const minutes = Math.round(seconds / 60);
  if (seconds < 60) return `${Math.round(seconds)} s`;
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function result(values) {
  const shown = Object.entries(values).map(([name, value]) =>
    name === "accuracy" ? `accuracy ${(100 * value).toFixed(1)}%` : `${name} ${value.toPrecision(4)}`);
  return shown.length ? `Best so far: ${shown.join(", ")}.` : "";
}

function left(live) {
  if (live.state === "finished") return "";
  if (live.state === "silent") {
    return `No news for ${duration(live.silentSeconds)}. If it has ended, go on with: ${live.resume}`;
  }
  if (live.share >= 1) return "It is about to end.";
  if (live.secondsLeft === null) return "How long it takes is known after the first epoch.";
  return `About ${duration(live.secondsLeft)} left.`;
}

/** Markup that the server made as elements; the page's policy lets no script in it run. */
function parsed(markup) {
  return document.adoptNode(new DOMParser().parseFromString(markup, "text/html").body.firstElementChild);
}

/** The parts of a run's article, made once; what changes is put into them. */
function frame(article, offer) {
  const title = make("span");
  const badge = make("span", "state");
  const heading = make("h3");
  heading.append(title, badge);
  const words = make("p");
  const progress = make("progress");
  progress.max = 1;
  progress.setAttribute("aria-label", `${offer.name}: share that is done`);
  const report = make("a", "", "All about it on one page");
  report.href = `/runs/${offer.key}/report`;
  report.target = "_blank";
  report.hidden = true;
  const charts = make("div");
  const sample = make("div");
  article.replaceChildren(heading, words, progress, report, charts, sample);
  return { title, badge, words, progress, report, charts, sample, drawn: "", told: "" };
}

function show(parts, offer, live) {
  parts.title.textContent = offer.name;
  parts.badge.className = `state ${live.state}`;
  parts.badge.textContent = STATES[live.state];
  const epochs = `${live.title}: ${live.epoch} of ${live.epochs} epochs complete.`;
  parts.words.textContent = [epochs, result(live.result), left(live)].filter(Boolean).join(" ");
  parts.progress.value = live.share;
  parts.report.hidden = !live.report || live.state !== "finished";
  if (live.charts !== parts.drawn) {
    parts.drawn = live.charts;
    parts.charts.replaceChildren(parsed(live.charts));
  }
  const sample = live.samples.at(-1);
  if (sample && sample.text !== parts.told) {
    parts.told = sample.text;
    const heading = make("h4", "", `What it writes after epoch ${sample.epoch}`);
    parts.sample.replaceChildren(heading, make("pre", "", sample.text));
  }
}

async function watch(parts, offer) {
  let live = null;
  try {
    live = await (await ask(`/api/runs/${offer.key}`)).json();
    show(parts, offer, live);
  } catch (error) {
    parts.title.textContent = offer.name;
    parts.words.textContent = error.message;
  }
  if (live?.state === "finished") return;
  const again = () => watch(parts, offer);
  setTimeout(() => {
    if (document.hidden) document.addEventListener("visibilitychange", again, { once: true });
    else again();
  }, PAUSE);
}

export function startRuns(offers) {
  find("runs").hidden = !offers.length;
  for (const offer of offers) {
    const article = make("article", "run");
    article.setAttribute("aria-label", offer.name);
    find("run-list").append(article);
    watch(frame(article, offer), offer);
  }
}
