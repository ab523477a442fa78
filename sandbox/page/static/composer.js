// The composer: the list of commands with their usage while typing, and the echo of what was typed.

import { at, element, offering } from "./dom.js";
import { ask, chosen, documents, of, quietly } from "./live.js";

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

const offers = offering(line, at("offers"), {
  find: offered,
  row: ([command, usage, what]) => [element("strong", {}, command), usage ? element("span", { class: "usage" }, ` ${usage}`) : null, what ? element("span", { class: "what" }, what) : null],
  pick: complete,
});

function complete([command]) {
  line.value = `${command} `;
  offers.search();
  line.focus();
}

line.addEventListener("keydown", (event) => {
  const best = offers.best();
  if (event.key !== "Tab" || event.shiftKey || !best || line.value.trim() === best[0]) return;
  event.preventDefault();
  complete(best);
});

// What the person says in a channel. A command is echoed as a message that only the person sees, until the page is loaded anew.
export function send(channel, text) {
  const ts = (Date.now() / 1000).toFixed(6);
  if (text.startsWith("/")) documents.set(`message/${channel}/${ts}`, { ts, channel, user: chosen.person, only: chosen.person, text, blocks: [], received_at: new Date().toISOString() });
  return quietly(ask("type", { channel, user: chosen.person, text }));
}

at("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = line.value.trim();
  offers.hide();
  line.value = "";
  if (text) send(chosen.channel, text);
});
