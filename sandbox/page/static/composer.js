// The composer: the list of commands with their usage while typing, and the echo of what was typed.

import { at, element } from "./dom.js";
import { ask, chosen, of, quietly } from "./live.js";

const COMMANDS = [
  ["/racing subscribe", "[region…|all] [results] [abandonments] [racecards] [course] [class:1] [digest:18:00] [ack:10m]", "Let this channel receive racing"],
  ["/racing unsubscribe", "[region…|all] [results] [abandonments] [racecards]", "End a subscription, or a part of it"],
  ["/racing list", "", "What this channel receives, with buttons to change it"],
  ["/racing watch", 'horse:"Name" | trainer:"Name" | jockey:"Name" [me]', "Follow a horse, a trainer or a jockey"],
  ["/racing watching", "", "What is watched, with buttons to end"],
  ["/racing pause", "[2h | until 18:00]", "Hold what this channel receives"],
  ["/racing resume", "", "End the pause"],
  ["/racing next", "[region | course]", "The next races to go off"],
  ["/racing trace", "course time", "Who was told of a race and when, or why not"],
  ["/racing status", "", "How the bot is doing"],
  ["/racing drill", "[here]", "A marked test alert through the bot’s public address"],
  ["/racing help", "[command]", "All commands, or one in detail"],
  ["/racecard", "[region] [day] [course]", "The racecards of a day"],
  ["/results", "[region] [day] [course]", "The results of a day, and what was abandoned"],
  ["/usage", "[day | endpoint]", "The data service’s quota"],
];
const SHOWN = 8;
const PLACED = ["/racing subscribe", "/racecard", "/results"];
const line = at("line");
const offers = at("offers");
let active = -1;

// The echo is a message that only the person sees, until the page is loaded anew.
export const echoes = [];

function completions() {
  const meetings = of("meeting");
  const places = ["all", ...new Set(meetings.map((one) => one.region)), ...new Set(meetings.map((one) => one.course))];
  return [...COMMANDS, ...PLACED.flatMap((command) => places.map((place) => [`${command} ${place}`, "", ""]))];
}

function offered(typed) {
  if (!typed.startsWith("/")) return [];
  const words = typed.toLowerCase();
  const begun = completions().filter(([command]) => command.toLowerCase().startsWith(words.trimEnd()));
  const said = COMMANDS.filter(([command]) => words.startsWith(`${command} `) && !begun.some(([one]) => one === command));
  return [...begun.slice(0, SHOWN - said.length), ...said];
}

function draw() {
  const found = offered(line.value);
  offers.hidden = found.length === 0;
  line.setAttribute("aria-expanded", String(found.length > 0));
  active = Math.min(active, found.length - 1);
  if (active >= 0) line.setAttribute("aria-activedescendant", `offer-${active}`);
  else line.removeAttribute("aria-activedescendant");
  offers.replaceChildren(
    ...found.map(([command, usage, what], place) =>
      element(
        "li",
        { id: `offer-${place}`, role: "option", "aria-selected": String(place === active), onclick: () => complete(command) },
        element("strong", {}, command),
        usage ? element("span", { class: "usage" }, ` ${usage}`) : null,
        what ? element("span", { class: "what" }, what) : null,
      ),
    ),
  );
}

function complete(command) {
  line.value = `${command} `;
  active = -1;
  draw();
  line.focus();
}

export function hideOffers() {
  active = -1;
  offers.hidden = true;
  line.setAttribute("aria-expanded", "false");
}

line.addEventListener("input", () => { active = -1; draw(); });
line.addEventListener("blur", () => setTimeout(() => { if (document.activeElement !== line) hideOffers(); }, 150));
line.addEventListener("keydown", (event) => {
  const shown = offers.hidden ? [] : [...offers.querySelectorAll("strong")].map((one) => one.textContent);
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === "Escape") hideOffers();
  else if (step && shown.length) active = (active + step + shown.length + (active < 0 && step < 0 ? 1 : 0)) % shown.length;
  else if (event.key === "Tab" && !event.shiftKey && shown.length && line.value.trim() !== shown[Math.max(active, 0)]) complete(shown[Math.max(active, 0)]);
  else if (event.key === "Enter" && active >= 0) complete(shown[active]);
  else return;
  event.preventDefault();
  if (step) draw();
});

let drawEcho = () => {};

// What the person says in a channel. A command is echoed.
export function send(channel, text) {
  const now = Date.now();
  const said = { ts: (now / 1000).toFixed(6), channel, user: chosen.person, only: chosen.person, text, blocks: [], at: new Date(now).toISOString(), echo: true };
  if (text.startsWith("/")) echoes.push(said);
  drawEcho();
  return ask("type", { channel, user: chosen.person, text });
}

export function onSent(drawn) {
  drawEcho = drawn;
  at("composer").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = line.value.trim();
    hideOffers();
    line.value = "";
    if (text) quietly(send(chosen.channel, text));
  });
}
