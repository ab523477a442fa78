// The desk beside the workspace: the day, trouble, the counts at the top, and the tour.

import { send } from "./composer.js";
import { at, button, element, replaceWithin } from "./dom.js";
import { ask, documents, happen, of, quietly, trouble } from "./live.js";
import { choose } from "./page.js";

// ---- top: the bot, and the counts

export function drawTop() {
  const counts = documents.get("counts");
  if (!counts) return;
  const isUp = documents.get("bot").is_running;
  replaceWithin(at("bot-state"), element("span", { class: isUp ? "up" : "down" }, isUp ? "bot is up" : "bot is dead"));
  const rows = [
    ["told", counts.told],
    ["lost", counts.lost, counts.lost > 0],
    ["doubled", counts.doubled, counts.doubled > 0],
    ...(counts.on_the_way ? [["on the way", counts.on_the_way]] : []),
    ...(counts.given_up ? [["given up", counts.given_up]] : []),
    ["out of order", counts.out_of_order, counts.out_of_order > 0],
    ["how late", counts.late_median_s === null ? "–" : `${counts.late_median_s.toFixed(2)} s`],
  ];
  replaceWithin(
    at("counts"),
    ...rows.map(([name, value, isBad]) => element("div", { class: isBad ? "count is-bad" : "count", "data-count": name }, element("dt", {}, name), element("dd", {}, String(value)))),
  );
}

// ---- the day

const STATUS = { declared: "to come", result: "run", abandoned: "abandoned" };
const PACES = [["Play", 15], ["Quick", 0.5], ["Very quick", 0.05], ["Pause", null]];
const HOME_FIRST = ["IRE", "GB"];
const act = (what, id, label) => button(label, () => happen(what, id));

function drawRace(race) {
  const acts = {
    declared: [act("settle", race.id, "Settle"), act("abandon_race", race.id, "Abandon"), act("wrong_order", race.id, "Wrong order"), act("forge", race.id, "Forge")],
    result: [act("correct", race.id, "Correct"), act("abandon_race", race.id, "Abandon")],
  };
  return element("li", { class: `race is-${race.status}`, "data-race": race.id },
    element("span", {}, element("strong", {}, race.off), ` ${race.title}: ${race.winner ?? race.reason ?? STATUS[race.status]}`),
    element("span", { class: "acts" }, ...(acts[race.status] ?? [])),
  );
}

function drawMeeting(meeting, isOpen) {
  const run = meeting.races.filter((race) => race.status === "result").length;
  return element("details", { "data-id": meeting.id, open: isOpen },
    element("summary", {}, meeting.course, element("span", { class: "tally" }, ` ${run} of ${meeting.races.length} run`)),
    act("abandon_meeting", meeting.id, "Abandon the meeting"),
    element("ul", { class: "races" }, ...meeting.races.map(drawRace)),
  );
}

export function drawDay() {
  const meetings = of("meeting");
  const open = new Set([...document.querySelectorAll("#panel-day details[open]")].map((one) => one.dataset.id));
  const { every_s: every, is_begun: isBegun } = documents.get("day") ?? {};
  const regions = [...new Set(meetings.map((one) => one.region))].sort((one, other) => HOME_FIRST.indexOf(other) - HOME_FIRST.indexOf(one));
  replaceWithin(
    at("panel-day"),
    element("p", { class: "acts", role: "group", "aria-label": "The day plays by itself" }, ...PACES.map(([label, every_s]) => button(label, () => quietly(ask("play", { every_s })), { "aria-pressed": String(isBegun && every === every_s) }))),
    element("p", { class: "acts" }, act("burst", "", "Settle 50 races at once"), act("publish_cards", "", "Publish tomorrow’s cards")),
    ...regions.map((region) => element("section", {}, element("h3", {}, region), ...meetings.filter((one) => one.region === region).map((one) => drawMeeting(one, open.has(one.id))))),
  );
}

// ---- trouble

export function drawTroubles() {
  replaceWithin(
    at("panel-trouble"),
    element("p", {}, "Switch a trouble on, let something happen under “The day”, and switch the trouble off. The counts at the top are made from deliveries and channels alone."),
    element("p", { id: "problems" }, ...(documents.get("counts")?.problems ?? []).map((one) => element("span", { class: "is-error" }, `${one}. `))),
    element("ul", { class: "troubles" },
      ...of("trouble").map((one) =>
        element("li", {},
          element("button", { type: "button", role: "switch", "aria-checked": String(one.on), disabled: Boolean(one.needs), "data-trouble": one.name, onclick: () => trouble(one.name, !one.on) }, one.title),
          element("p", {}, one.needs ?? one.expected, one.did && !one.needs ? element("span", { class: "did" }, ` ${one.did}`) : ""),
        ),
      ),
    ),
  );
}

// ---- the tour: three steps, each over when the workspace shows it. A cookie remembers, since the port changes.

const TOUR = "racing-bot-tour=done";
const ASKED = "/racing subscribe GB ack:10m";
const KILL = "bot_killed_in_burst";
const tour = { step: document.cookie.includes(TOUR) ? null : -1, channel: "C0GB", known: new Set() };

const alarms = () => of("message").filter((one) => one.channel === tour.channel && !one.only && one.text.startsWith("ABANDONED") && !tour.known.has(one.ts));
const nextRace = (region) => of("meeting").filter((one) => !region || one.region === region).flatMap((one) => one.races.map((race) => ({ ...race, course: one.course }))).find((race) => race.status === "declared");
const isOn = () => Boolean(documents.get(`trouble/${KILL}`)?.on);
const remembered = () => { tour.step = null; document.cookie = `${TOUR}; max-age=31536000; SameSite=Strict`; drawTour(); };
const NO_RACE = ["No race is left today.", "Start the demo again for another day, and take the tour before its races are run.", "End the tour", () => { tour.step = null; drawTour(); }];
const goTo = (step) => { Object.assign(tour, { step, wasKilled: false }); if (step === 0) tour.known = new Set(alarms().map((one) => one.ts)); drawTour(); };

function showAlarm() {
  choose(tour.channel);
  [...document.querySelectorAll("#messages .is-alarm button")].filter((one) => one.textContent === "I have it").at(-1)?.focus();
}

async function abandon(race) {
  choose(tour.channel);
  await send(tour.channel, ASKED);
  happen("abandon_race", race.id);
}

// Each step: its words, and the button that goes on, where there is one.
const STEPS = [
  {
    say: () => {
      const race = nextRace("GB");
      if (!race) return NO_RACE;
      return ["Abandon a race.", `The button types ${ASKED}: somebody has to take each abandonment. Then watch #gb-racing: the alarm comes within a second.`, `Abandon the ${race.off} at ${race.course}`, () => abandon(race)];
    },
    isOver: () => alarms().length > 0,
  },
  {
    say: () => ["Press “I have it” under the alarm.", "Everybody in the channel then reads who has the abandonment, and since when. If nobody pressed within ten minutes, the bot would ask again.", "Show me the button", showAlarm],
    isOver: () => alarms().some((message) => message.text.includes(" has it since ")),
  },
  {
    say: () => {
      tour.wasKilled ||= isOn();
      if (!tour.wasKilled && !nextRace()) return NO_RACE;
      if (!tour.wasKilled) return ["Kill the bot while 50 races settle.", "The channels asked for some of these results. Watch the counts at the top.", "Kill the bot", () => trouble(KILL, true)];
      if (isOn() && documents.get("bot").is_running) return ["The bot starts.", "A few seconds, and the bot is ready."];
      if (isOn()) return ["The bot is dead.", "The data service gets no answer, and will send again. Bring the bot back:", "Start the bot", () => trouble(KILL, false)];
      const { told, lost, doubled, on_the_way, held } = documents.get("counts");
      if (on_the_way > held) return [`${on_the_way - held} still on the way.`, "The results come now, each once, a message a second in each channel.", "End the tour", remembered];
      return [lost ? "Something is missing." : "Nothing was lost.", `${told} told, ${lost} lost, ${doubled} doubled${held ? `, ${held} held for a pause or an hour` : ""}. More failures are under Trouble.`, "End the tour", remembered];
    },
  },
];

export function drawTour() {
  const box = at("tour");
  box.hidden = tour.step === null || !documents.get("day")?.is_begun;
  if (box.hidden) return;
  // A page that was loaded anew while the bot is dead goes on with the bot's return.
  if (tour.step < 0) return goTo(isOn() ? STEPS.length - 1 : 0);
  if (STEPS[tour.step].isOver?.()) tour.step += 1;
  const [what, look, label, act] = STEPS[tour.step].say();
  replaceWithin(
    box,
    element("p", {}, element("span", { class: "step" }, `${tour.step + 1} of ${STEPS.length}`), element("strong", {}, ` ${what} `), look),
    element("p", { class: "acts" }, label ? button(label, act, { class: "button primary" }) : "", tour.wasKilled ? "" : button("Skip the tour", remembered)),
  );
}

at("start-tour").addEventListener("click", () => goTo(0));
