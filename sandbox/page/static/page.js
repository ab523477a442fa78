// The page: documents come as a stream, each part is drawn from them, and what a person does is one request.

import { drawBlocks } from "./blocks.js";
import { element, mrkdwn } from "./mrkdwn.js";

const documents = new Map();
const at = (id) => document.getElementById(id);
const chosen = { channel: null, person: null, thread: null, tab: "messages" };
const seen = new Map();
const openView = { id: null };

const of = (kind) => [...documents].filter(([key]) => key.startsWith(`${kind}/`)).map(([, value]) => value);

async function ask(what, body) {
  const answer = await fetch(`/api/${what}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  const { said, error } = await answer.json();
  notice(error ?? (typeof said === "string" ? said : ""), Boolean(error));
  if (error) throw new Error(error);
  return said;
}

function notice(words, isError = false) {
  at("notice").textContent = words;
  at("notice").classList.toggle("is-error", isError);
}

const HANDLERS = ["onclick", "onchange", "onsubmit"];

// Draws a part anew within its old nodes: focus, selection and a click that has begun stay where they are.
function replaceWithin(holder, ...nodes) {
  morphChildren(holder, nodes.filter((one) => one !== ""));
}

function morphChildren(holder, nodes) {
  nodes.forEach((fresh, place) => {
    const old = holder.childNodes[place];
    if (old) morph(old, fresh);
    else holder.append(fresh);
  });
  while (holder.childNodes.length > nodes.length) holder.lastChild.remove();
}

function morph(old, fresh) {
  if (old.nodeName !== fresh.nodeName) return old.replaceWith(fresh);
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return undefined;
  }
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  for (const name of HANDLERS) old[name] = fresh[name];
  return morphChildren(old, [...fresh.childNodes]);
}

// The nodes in their order; a node that stays is not taken out, so that it keeps focus, selection and animation.
function arrange(list, wanted) {
  const kept = new Set(wanted);
  for (const node of [...list.children]) if (!kept.has(node)) node.remove();
  wanted.forEach((node, place) => {
    if (list.children[place] !== node) list.insertBefore(node, list.children[place] ?? null);
  });
}

const quietly = (work) => work.catch((error) => notice(error.message, true));

// ---- the stream

function listen() {
  const source = new EventSource("/api/live");
  source.onmessage = ({ data }) => {
    const { changed, gone } = JSON.parse(data);
    const kinds = new Set([...Object.keys(changed), ...gone].map((key) => key.split("/")[0]));
    for (const [key, value] of Object.entries(changed)) documents.set(key, value);
    for (const key of gone) documents.delete(key);
    draw(kinds);
  };
  source.onerror = () => notice("The demo does not answer; the page goes on when it does.", true);
}

function draw(kinds) {
  const any = (...names) => names.some((name) => kinds.has(name));
  if (any("meta", "counts")) drawTop();
  if (any("channel", "person", "message", "ephemeral")) drawSide();
  if (any("channel", "person", "message", "ephemeral", "view", "day")) drawMessages();
  if (any("meeting", "day")) drawPanel("panel-day");
  if (any("trouble", "counts")) drawPanel("panel-trouble");
  if (any("delivery", "call", "meta")) drawPanel("panel-hood");
  if (any("view")) drawView();
  if (any("meta", "meeting")) drawLines();
}

// A hidden panel is drawn when its tab is chosen.
function drawPanel(id) {
  if (!at(id).hidden) PANELS[id]();
}

// ---- top: the bot, and the counts

function drawTop() {
  const meta = documents.get("meta");
  if (!meta) return;
  replaceWithin(
    at("bot-state"),
    element("span", { class: meta.bot.running ? "up" : "down" }, meta.bot.running ? "bot is up" : "bot is dead"),
    element("span", {}, meta.waiting ? ` · ${meta.waiting} deliveries wait to be sent again` : ""),
  );
  const counts = documents.get("counts");
  if (!counts) return;
  const late = counts.late_median_s === null ? "–" : `${counts.late_median_s.toFixed(2)} s`;
  const rows = [
    ["told", counts.told, false],
    ...(counts.on_the_way ? [["on the way", counts.on_the_way, false]] : []),
    ...(counts.given_up ? [["given up", counts.given_up, false]] : []),
    ["lost", counts.lost, counts.lost > 0],
    ["doubled", counts.doubled, counts.doubled > 0],
    ["out of order", counts.out_of_order, counts.out_of_order > 0],
    ["how late", late, false],
  ];
  replaceWithin(
    at("counts"),
    ...rows.map(([name, value, isBad]) => element("div", { class: isBad ? "count is-bad" : "count", "data-count": name }, element("dt", {}, name), element("dd", {}, String(value)))),
  );
}

// ---- channels and people

function names() {
  return Object.fromEntries([...of("person"), ...of("channel")].map((one) => [one.id, one.name]));
}

function people() {
  return Object.fromEntries(of("person").filter((one) => !one.bot).map((one) => [one.id, one.name]));
}

const titleOf = (channel) => (channel.dm_user ? "racing-bot (direct)" : `#${channel.name}`);

function unread(channel) {
  const last = seen.get(channel.id) ?? "";
  return of("message").filter((one) => one.channel === channel.id && one.ts > last).length;
}

function drawSide() {
  // First, because the channels are those of the person who is chosen.
  const person = at("person");
  const before = chosen.person ?? person.value;
  replaceWithin(person, ...Object.entries(people()).map(([id, name]) => element("option", { value: id, selected: id === before }, name)));
  chosen.person = person.value;
  const channels = of("channel").filter((one) => !one.dm_user || one.dm_user === chosen.person).sort((one, other) => Boolean(one.dm_user) - Boolean(other.dm_user));
  chosen.channel ??= channels[0]?.id ?? null;
  replaceWithin(
    at("channels"),
    ...channels.map((channel) => {
      const count = channel.id === chosen.channel ? 0 : unread(channel);
      return element(
        "li",
        {},
        element(
          "button",
          { type: "button", "aria-current": channel.id === chosen.channel ? "true" : null, onclick: () => choose(channel.id) },
          titleOf(channel),
          channel.archived ? element("span", { class: "flag" }, " archived") : "",
          count ? element("span", { class: "unread", "aria-label": `${count} unread` }, String(count)) : "",
        ),
      );
    }),
  );
}

function choose(channelId) {
  Object.assign(chosen, { channel: channelId, thread: null, tab: "messages" });
  drawSide();
  drawMessages();
  at("line").focus();
}

// ---- messages

const drawn = new Map();

function whatIsComing() {
  if (documents.get("day")?.in_terminal) return ["Nothing here yet. The terminal plays a day of some seconds: its channels subscribe, and messages come here."];
  return ["Nothing here yet. Type ", element("code", {}, "/racing subscribe GB"), " below and press Send; then settle a race under “The day”."];
}

function drawMessages() {
  const channel = documents.get(`channel/${chosen.channel}`);
  if (!channel) return;
  at("channel-title").textContent = titleOf(channel);
  const list = at("messages");
  at("line").placeholder = channel.dm_user ? "help" : "/racing subscribe GB";
  const ephemerals = of("ephemeral").filter((one) => one.channel === channel.id && one.only === chosen.person);
  const all = [...of("message").filter((one) => one.channel === channel.id), ...ephemerals].sort((one, other) => (one.ts < other.ts ? -1 : 1));
  const newest = all.findLast((one) => !one.only);
  if (newest) seen.set(channel.id, newest.ts);
  const isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
  drawTabs(channel);
  const isHome = channel.dm_user && chosen.tab === "home";
  const wanted = isHome ? [drawHome(channel)] : all.filter((one) => !isReply(one)).map((message) => kept(message, repliesTo(message, all)));
  if (wanted.length === 0) wanted.push(element("li", { class: "empty" }, ...whatIsComing()));
  arrange(list, wanted);
  drawThread(channel, all);
  if (isAtEnd) list.scrollTop = list.scrollHeight;
}

const isReply = (message) => Boolean(message.thread_ts) && message.thread_ts !== message.ts;

const repliesTo = (message, all) => all.filter((one) => isReply(one) && one.thread_ts === message.ts);

// A message that has not changed keeps its node.
function kept(message, replies, place = "") {
  const key = `${place}${message.only ? "ephemeral" : "message"}/${message.channel}/${message.ts}`;
  const marks = [message, replies.length, replies.at(-1)];
  const before = drawn.get(key);
  if (before && before.marks.every((one, number) => one === marks[number])) return before.node;
  const node = drawMessage(message, replies);
  drawn.set(key, { marks, node });
  return node;
}

// ---- a thread, beside the channel

function openThread(ts) {
  chosen.thread = ts;
  drawMessages();
  at("thread").querySelector("button").focus();
}

function closeThread() {
  const ts = chosen.thread;
  chosen.thread = null;
  drawMessages();
  document.querySelector(`#messages [data-ts="${ts}"] .replies`)?.focus();
}

function drawThread(channel, all) {
  const pane = at("thread");
  const parent = all.find((one) => one.ts === chosen.thread);
  pane.hidden = !parent;
  if (!parent) return pane.replaceChildren();
  const replies = repliesTo(parent, all);
  const list = pane.querySelector("ol") ?? element("ol", { class: "talk" });
  if (!list.isConnected) {
    pane.replaceChildren(element("h3", {}, "Thread ", element("button", { type: "button", class: "small", "aria-label": "Close the thread", onclick: closeThread }, "×")), list);
  }
  arrange(list, [parent, ...replies].map((one) => kept(one, [], "thread/")));
  return undefined;
}

// ---- the app's Home, a tab of its direct messages

function drawTabs(channel) {
  const tab = (name, label) => element("button", { type: "button", "aria-pressed": String(chosen.tab === name), onclick: () => openTab(name) }, label);
  replaceWithin(at("channel-tabs"), ...(channel.dm_user ? [tab("home", "Home"), tab("messages", "Messages")] : []));
}

function openTab(name) {
  chosen.tab = name;
  drawMessages();
  if (name === "home") quietly(ask("home", { user: chosen.person }));
}

function drawHome(channel) {
  const view = documents.get(`view/VHOME${channel.dm_user}`);
  if (!view) return element("li", { class: "empty" }, "The app has published no Home for this person.");
  const press = (action_id, value) => quietly(ask("press", { user: chosen.person, view: view.id, action_id, value }));
  return element("li", { class: "message" }, drawBlocks(view.blocks, { names: names(), people: people(), press }));
}

function drawMessage(message, replies) {
  const context = contextOf(message);
  const clock = new Date(message.at).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  const isAlarm = /^ABANDONED/.test(message.text);
  return element(
    "li",
    { class: `message${message.only ? " is-ephemeral" : ""}${isAlarm ? " is-alarm" : ""}`, "data-ts": message.ts },
    element("div", { class: "who" }, ...whoOf(message), ` ${clock}`, message.edited ? " (edited)" : "", message.only ? element("span", { class: "only" }, " Only visible to you") : ""),
    message.blocks.length ? drawBlocks(message.blocks, context) : element("div", { class: "blocks" }, element("div", { class: "section" }, mrkdwn(message.text, context.names))),
    replies.length ? element("button", { type: "button", class: "small replies", onclick: () => openThread(message.ts) }, `${replies.length === 1 ? "1 reply" : `${replies.length} replies`}, last ${clockOf(replies.at(-1).at).slice(0, 5)}`) : "",
    element("details", { class: "more" }, element("summary", {}, "As a phone notifies, and raw"), element("p", { class: "phone" }, element("strong", {}, "racing-bot"), element("br"), notification(message.text)), element("pre", {}, JSON.stringify({ text: message.text, blocks: message.blocks, metadata: message.metadata }, null, 2))),
  );
}

function whoOf(message) {
  const person = message.only ? undefined : people()[message.user];
  if (person) return [element("strong", {}, person)];
  return [element("strong", {}, "racing-bot"), element("span", { class: "app" }, "APP")];
}

const notification = (text) => mrkdwn(text.length > 240 ? `${text.slice(0, 239)}…` : text, names());

function contextOf(message) {
  return {
    names: names(),
    people: people(),
    press: (action_id, value) => quietly(ask("press", { user: chosen.person, channel: message.channel, ts: message.ts, action_id, value })),
  };
}

// ---- the day

const STATUS = { declared: "to come", result: "run", abandoned: "abandoned" };

function drawDay() {
  const meetings = of("meeting");
  const open = new Set([...document.querySelectorAll("#panel-day details[open]")].map((one) => one.dataset.id));
  const act = (what, id, label) => element("button", { type: "button", class: "small", onclick: () => quietly(ask("happen", { what, id })) }, label);
  const regions = [...new Set(meetings.map((one) => one.region))];
  const parts = regions.map((region) =>
    element(
      "section",
      {},
      element("h3", {}, region),
      ...meetings
        .filter((one) => one.region === region)
        .map((meeting) =>
          element(
            "details",
            { "data-id": meeting.id, open: open.has(meeting.id) },
            element("summary", {}, meeting.course, element("span", { class: "tally" }, ` ${meeting.races.filter((race) => race.status === "result").length} of ${meeting.races.length} run`)),
            act("abandon_meeting", meeting.id, "Abandon the meeting"),
            element(
              "ul",
              { class: "races" },
              ...meeting.races.map((race) =>
                element(
                  "li",
                  { class: `race is-${race.status}`, "data-race": race.id },
                  element("span", {}, element("strong", {}, race.off), ` ${race.title}: ${race.winner ?? race.reason ?? STATUS[race.status]}`),
                  element(
                    "span",
                    { class: "acts" },
                    ...(race.status === "declared" ? [act("settle", race.id, "Settle"), act("abandon_race", race.id, "Abandon"), act("wrong_order", race.id, "Wrong order"), act("forge", race.id, "Forge")] : []),
                    ...(race.status === "result" ? [act("correct", race.id, "Correct"), act("abandon_race", race.id, "Abandon")] : []),
                    ...(race.status === "declared" ? [] : [act("deliver_again", race.id, "Deliver again")]),
                  ),
                ),
              ),
            ),
          ),
        ),
    ),
  );
  replaceWithin(
    at("panel-day"),
    element(
      "p",
      { class: "acts", role: "group", "aria-label": "The day plays by itself" },
      ...[["Play", 4], ["Quick", 0.5], ["Very quick", 0.05], ["Pause", null]].map(([label, every_s]) => element("button", { type: "button", class: "small", "aria-pressed": String((documents.get("day")?.every_s ?? null) === every_s), onclick: () => quietly(ask("play", { every_s })) }, label)),
    ),
    element("p", { class: "acts" }, act("burst", "", "Settle 50 races at once"), act("publish_cards", "", "Publish tomorrow’s cards")),
    ...parts,
  );
}

// ---- trouble

function drawTroubles() {
  const counts = documents.get("counts") ?? {};
  replaceWithin(
    at("panel-trouble"),
    element("p", {}, "Switch a trouble on, let something happen under “The day”, and switch the trouble off. The counts at the top are made from deliveries and channels alone."),
    element(
      "ul",
      { class: "troubles" },
      ...of("trouble").map((one) =>
        element(
          "li",
          {},
          element("button", { type: "button", role: "switch", "aria-checked": String(one.on), disabled: Boolean(one.needs), "data-trouble": one.name, onclick: () => quietly(ask("trouble", { name: one.name, on: !one.on })) }, one.title),
          element("p", {}, one.needs ?? one.expected, one.did && !one.needs ? element("span", { class: "did" }, ` ${one.did}`) : ""),
        ),
      ),
    ),
    element("p", { id: "problems" }, ...(counts.problems ?? []).map((one) => element("span", { class: "is-error" }, `${one}. `))),
  );
}

// ---- under the hood

const clockOf = (instant) => new Date(instant).toLocaleTimeString("en-GB", { hour12: false }) + new Date(instant).toISOString().slice(19, 23);

function drawHood() {
  const { used, per_month, per_minute, last_minute } = documents.get("meta").service;
  const [deliveries, calls] = [of("delivery"), of("call")];
  const last = deliveries.at(-1);
  const table = (caption, head, rows) =>
    element(
      "details",
      { open: document.querySelector(`#panel-hood details[data-name="${caption}"]`)?.open ?? true, "data-name": caption },
      element("summary", {}, caption),
      element("div", { class: "table", tabindex: "0", role: "region", "aria-label": caption }, element("table", {}, element("thead", {}, element("tr", {}, ...head.map((one) => element("th", { scope: "col" }, one)))), element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((one) => element("td", {}, one ?? ""))))))),
    );
  replaceWithin(
    at("panel-hood"),
    last ? wayOf(last, calls) : element("p", {}, "Nothing was delivered yet."),
    table("Deliveries", ["at", "event", "race", "status", "answers", "again"], deliveries.slice(-30).reverse().map((one) => [clockOf(one.at), one.event, `${one.course ?? ""} ${one.off ?? ""}`, one.status, one.attempts.map((attempt) => attempt.status ?? attempt.error).join(", "), element("button", { type: "button", class: "small", onclick: () => quietly(ask("replay", { delivery: one.id })) }, "Replay")])),
    element("p", {}, `Quota: ${used.toLocaleString("en-GB")} of ${per_month.toLocaleString("en-GB")} requests this month; ${last_minute} of ${per_minute} in the last minute.`),
  );
}

function wayOf(delivery, calls) {
  const attempt = delivery.attempts.at(-1);
  const after = attempt ? calls.filter((one) => one.at >= attempt.at).slice(0, 8) : [];
  return element(
    "section",
    {},
    element("h3", {}, "The way of the last event"),
    element(
      "ol",
      { class: "way" },
      element("li", {}, `${clockOf(delivery.at)} the data service has ${delivery.event}, ${delivery.course ?? ""} ${delivery.off ?? ""}`),
      ...delivery.attempts.map((one) => element("li", {}, `${clockOf(one.at)} delivered: ${one.status ?? one.error} ${one.answer}`)),
      ...after.map((one) => element("li", {}, `${clockOf(one.at)} ${one.method} in #${names()[one.channel] ?? one.channel}: ${one.answer}`)),
    ),
  );
}

// ---- forms

function drawView() {
  const views = of("view").filter((one) => one.type !== "home");
  const view = views.at(-1);
  const modal = at("modal");
  if (!view) {
    if (modal.open) modal.close();
    openView.id = null;
    return;
  }
  if (openView.id === view.id && openView.hash === view.hash) return;
  Object.assign(openView, { id: view.id, hash: view.hash });
  const inputs = [];
  const context = {
    names: names(),
    people: people(),
    inputs,
    press: (action_id, value) => quietly(ask("press", { user: chosen.person, view: view.id, action_id, value })),
    lookUp: (action_id, typed) => ask("lookup", { user: chosen.person, view: view.id, action_id, typed }).catch(() => []),
  };
  const form = element(
    "form",
    { method: "dialog", onsubmit: (event) => { event.preventDefault(); quietly(submit(view, inputs)); } },
    element("h2", { id: "modal-title" }, view.title.text),
    drawBlocks(view.blocks, context),
    element("p", { class: "acts" }, element("button", { type: "button", onclick: () => quietly(ask("close", { user: chosen.person, view: view.id })) }, view.close?.text ?? "Cancel"), view.submit ? element("button", { class: "button primary" }, view.submit.text) : ""),
  );
  modal.replaceChildren(form);
  if (!modal.open) modal.showModal();
}

async function submit(view, inputs) {
  const values = {};
  for (const { block, one, value } of inputs) (values[block.block_id] ??= {})[one.action_id] = value();
  const errors = await ask("submit", { user: chosen.person, view: view.id, values });
  for (const holder of at("modal").querySelectorAll("[data-block]")) showError(holder, errors?.[holder.dataset.block] ?? "");
}

function showError(holder, words) {
  const error = holder.querySelector(".error");
  error.textContent = words;
  const input = holder.querySelector("input, select, textarea");
  input?.setAttribute("aria-invalid", String(Boolean(words)));
  input?.setAttribute("aria-describedby", error.id);
}

// ---- the composer

const SHAPES = ["/racing help", "/racing list", "/racing status", "/racing trace", "/racing unsubscribe all", "/racecard", "/results", "/usage"];

function drawLines() {
  const meetings = of("meeting");
  const regions = [...new Set(meetings.map((one) => one.region))];
  const lines = [
    "/racing subscribe",
    ...["all", ...regions].flatMap((region) => [`/racing subscribe ${region}`, `/racecard ${region}`, `/results ${region}`]),
    ...meetings.map((one) => `/racing subscribe ${one.course}`),
    ...SHAPES,
  ];
  at("lines").replaceChildren(...lines.map((line) => element("option", { value: line })));
}

at("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = at("line").value.trim();
  if (!text) return;
  at("line").value = "";
  quietly(ask("type", { channel: chosen.channel, user: chosen.person, text }));
});

at("person").addEventListener("change", (event) => {
  chosen.person = event.target.value;
  if (documents.get(`channel/${chosen.channel}`)?.dm_user) chosen.channel = null;
  chosen.tab = "messages";
  drawSide();
  drawMessages();
});

at("modal").addEventListener("cancel", (event) => {
  event.preventDefault();
  if (openView.id) quietly(ask("close", { user: chosen.person, view: openView.id }));
});

const PANELS = { "panel-day": drawDay, "panel-trouble": drawTroubles, "panel-hood": drawHood };
const tabs = [...document.querySelectorAll("[role=tab]")];

function select(tab) {
  for (const one of tabs) {
    one.setAttribute("aria-selected", String(one === tab));
    one.tabIndex = one === tab ? 0 : -1;
    at(one.getAttribute("aria-controls")).hidden = one !== tab;
    drawPanel(one.getAttribute("aria-controls"));
  }
}

for (const tab of tabs) {
  tab.addEventListener("click", () => select(tab));
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length];
    select(next);
    next.focus();
  });
}

listen();
