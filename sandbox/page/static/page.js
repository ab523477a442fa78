// The workspace: channels, messages, threads, Home and forms, each part drawn from the documents.

import { drawBlocks } from "./blocks.js";
import "./composer.js";
import { drawDay, drawTop, drawTour, drawTroubles } from "./desk.js";
import { arrange, at, button, dialogForm, element, replaceWithin } from "./dom.js";
import { ask, chosen, documents, listen, names, notice, of, people, quietly } from "./live.js";
import { mrkdwn } from "./mrkdwn.js";

// On a phone a focused line brings up the keyboard.
const hasMouse = matchMedia("(hover: hover)").matches;
const seen = new Map();
const drawn = new Map();

function draw() {
  for (const part of [drawTop, drawSide, drawMessages, drawDay, drawTroubles, drawView, drawTour]) part();
}

// ---- channels and people

const titleOf = (channel) => (channel.dm_user ? "racing-bot (direct)" : `#${channel.name}`);
const isNew = (message) => message.ts > (seen.get(message.channel) ?? "");
const ofChannel = (id) => of("message").filter((one) => one.channel === id && !one.only);

function drawSide() {
  // First, because the channels are those of the person who is chosen.
  replaceWithin(at("person"), ...Object.entries(people()).map(([id, name]) => element("option", { value: id }, name)));
  const channels = of("channel").filter((one) => !one.dm_user || one.dm_user === chosen.person);
  chosen.channel ??= channels.find((one) => !one.dm_user)?.id ?? null;
  const row = (channel) => {
    const count = channel.id === chosen.channel ? 0 : ofChannel(channel.id).filter(isNew).length;
    const label = [
      titleOf(channel),
      channel.is_archived ? element("span", { class: "flag" }, " archived") : null,
      count ? element("span", { class: "unread", "aria-label": `${count} unread` }, String(count)) : null,
    ];
    const looks = { class: count ? "has-news" : null, "aria-current": channel.id === chosen.channel ? "true" : null };
    return element("li", {}, button(label, () => choose(channel.id), looks));
  };
  replaceWithin(at("channels"), ...channels.filter((one) => !one.dm_user).map(row));
  replaceWithin(at("apps"), ...channels.filter((one) => one.dm_user).map(row));
}

export function choose(channelId) {
  Object.assign(chosen, { channel: channelId, thread: null, tab: "messages" });
  at("side").hidePopover();
  draw();
  if (hasMouse) at("line").focus({ preventScroll: true });
}

// ---- messages

const TOGETHER_MS = 5 * 60_000;
const dayOf = (message) => new Date(message.received_at).toDateString();
const isReply = (message) => Boolean(message.thread_ts) && message.thread_ts !== message.ts;
const repliesTo = (message, all) => all.filter((one) => isReply(one) && one.thread_ts === message.ts);
const isAtEnd = (list) => list.scrollHeight - list.scrollTop - list.clientHeight < 60;
let shown = "";
let follows = true;
let lastTop = 0;

function whatIsComing(channel) {
  if (documents.get("day")?.is_begun === false) return ["Nothing here yet. The demo plays a day of some seconds: its channels subscribe, and messages come here."];
  if (channel.dm_user) return ["Nothing here yet. Type ", element("code", {}, "help"), " below and press Enter."];
  return ["Nothing here yet. Type ", element("code", {}, "/racing subscribe GB"), " below and press Enter; then settle a race under “The day”."];
}

function drawMessages() {
  const channel = documents.get(`channel/${chosen.channel}`);
  if (!channel) return;
  const list = at("messages");
  const isHome = Boolean(channel.dm_user) && chosen.tab === "home";
  const place = `${channel.id}/${chosen.person}/${chosen.tab}`;
  const isNewPlace = shown !== place;
  follows ||= isNewPlace;
  shown = place;
  at("channel-title").textContent = titleOf(channel);
  at("line").placeholder = channel.dm_user ? "Message racing-bot, for example: help" : `Message ${titleOf(channel)}, or a command: /racing help`;
  drawTabs(channel);
  const all = of("message").filter((one) => one.channel === channel.id && (!one.only || one.only === chosen.person)).sort((one, other) => (one.ts < other.ts ? -1 : 1));
  const wanted = isHome ? [drawHome(channel)] : rows(all.filter((one) => !isReply(one)), all);
  if (wanted.length === 0) wanted.push(element("li", { class: "empty" }, ...whatIsComing(channel)));
  arrange(list, wanted);
  drawThread(all);
  if (isHome && isNewPlace) list.scrollTop = 0;
  if (!isHome && follows) goToEnd();
  drawNewer();
}

function rows(messages, all) {
  const wanted = [];
  let before = null;
  for (const message of messages) {
    if (!before || dayOf(before) !== dayOf(message)) wanted.push(dayLine(message));
    const isJoined = before && dayOf(before) === dayOf(message) && before.user === message.user && before.only === message.only && new Date(message.received_at) - new Date(before.received_at) < TOGETHER_MS;
    wanted.push(messageLine(message, repliesTo(message, all), Boolean(isJoined)));
    before = message;
  }
  return wanted;
}

// What is drawn from the same values keeps its node.
function kept(key, values, draw) {
  const before = drawn.get(key);
  if (before?.values.every((one, number) => one === values[number])) return before.node;
  const node = draw();
  drawn.set(key, { values, node });
  return node;
}

function dayLine(message) {
  const today = new Date().toDateString();
  const words = dayOf(message) === today ? "Today" : new Date(message.received_at).toLocaleDateString("en-GB", { weekday: "long", day: "numeric", month: "long" });
  return kept(`day/${message.channel}/${dayOf(message)}`, [words], () => element("li", { class: "day" }, element("span", {}, words)));
}

function messageLine(message, replies, isJoined, place = "") {
  return kept(`${place}${message.channel}/${message.ts}`, [message, replies.length, replies.at(-1), isJoined], () => drawMessage(message, replies, isJoined, Boolean(place)));
}

// What came below while the person reads above.
function drawNewer() {
  const top = ofChannel(chosen.channel).filter((one) => !isReply(one));
  if (top.length && isAtEnd(at("messages")) && chosen.tab !== "home") seen.set(chosen.channel, top.at(-1).ts);
  const count = top.filter(isNew).length;
  at("newer").hidden = count === 0 || chosen.tab === "home";
  at("newer").textContent = `↓ ${count} new ${count === 1 ? "message" : "messages"}`;
}

function goToEnd() {
  follows = true;
  at("messages").scrollTop = at("messages").scrollHeight;
}

// Only who scrolls up stops to follow: a list that shrinks is no longer at its end either.
at("messages").addEventListener("scroll", () => {
  const list = at("messages");
  follows = isAtEnd(list) || (follows && list.scrollTop >= lastTop);
  lastTop = list.scrollTop;
  drawNewer();
});
at("newer").addEventListener("click", goToEnd);
// The tour comes and goes, and a keyboard of a phone too.
new ResizeObserver(() => { if (follows && chosen.tab !== "home") goToEnd(); }).observe(at("messages"));

const clockOf = (instant) => new Date(instant).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });

function avatar(person) {
  if (!person) return element("span", { class: "avatar is-bot", "aria-hidden": "true" }, "🏇");
  const hue = [...person].reduce((sum, letter) => sum + letter.charCodeAt(0) * 47, 0) % 360;
  return element("span", { class: "avatar", style: `background: hsl(${hue} 45% 35%)`, "aria-hidden": "true" }, person[0].toUpperCase());
}

function drawMessage(message, replies, isJoined, isInThread) {
  const context = contextOf({ channel: message.channel, ts: message.ts });
  const classes = ["message", message.only ? "is-ephemeral" : "", isJoined ? "is-joined" : "", /^ABANDONED/.test(message.text) ? "is-alarm" : ""];
  const phone = element("p", { class: "phone", hidden: true }, element("strong", {}, "racing-bot"), element("br"), mrkdwn(message.text.length > 240 ? `${message.text.slice(0, 239)}…` : message.text, names()));
  const person = people()[message.user];
  const app = person ? null : element("span", { class: "app" }, "APP");
  const clock = element("time", { class: isJoined ? "gutter" : null }, clockOf(message.received_at));
  const last = replies.at(-1);
  return element("li", { class: classes.filter(Boolean).join(" "), "data-ts": message.ts },
    message.only ? element("p", { class: "only" }, "👁 Only visible to you") : null,
    isJoined ? clock : avatar(person),
    element("div", { class: "body" },
      isJoined ? null : element("div", { class: "who" }, element("strong", {}, person ?? "racing-bot"), app, clock),
      message.blocks.length ? drawBlocks(message.blocks, context) : element("div", { class: "blocks" }, element("div", { class: "section" }, mrkdwn(message.text, context.names))),
      message.edited && !message.only ? element("span", { class: "edited" }, "(edited)") : null,
      phone,
      replies.length ? button(`${replies.length === 1 ? "1 reply" : `${replies.length} replies`}, last ${clockOf(last.received_at)}`, () => openThread(message.ts), { class: "replies" }) : null,
    ),
    !message.only
      ? element("div", { class: "hover" },
          isInThread ? null : button("💬", () => openThread(message.ts), { "aria-label": "Open the thread", title: "Open the thread" }),
          button("📱", () => { phone.hidden = !phone.hidden; }, { "aria-label": "As a phone notifies", title: "As a phone notifies" }),
        )
      : null,
  );
}

// What blocks of a message or of a view need: names, and what a press does.
function contextOf(where) {
  return {
    names: names(),
    people: people(),
    press: (action_id, value) => quietly(ask("press", { user: chosen.person, ...where, action_id, value })),
    lookUp: (action_id, typed) => ask("lookup", { user: chosen.person, ...where, action_id, typed }).catch(() => []),
  };
}

// ---- a thread, in a pane of its own

function openThread(ts) {
  chosen.thread = ts;
  drawMessages();
  at("thread").querySelector(hasMouse ? "input" : "button").focus();
}

function closeThread() {
  const ts = chosen.thread;
  chosen.thread = null;
  drawMessages();
  document.querySelector(`#messages [data-ts="${ts}"] :is(.replies, .hover button)`)?.focus();
}

function drawThread(all) {
  const pane = at("thread");
  const parent = all.find((one) => one.ts === chosen.thread);
  pane.hidden = !parent;
  if (!parent) return pane.replaceChildren();
  const replies = repliesTo(parent, all);
  const list = pane.querySelector("ol") ?? element("ol", { class: "talk" });
  if (!list.isConnected) pane.replaceChildren(element("div", { class: "title" }, element("h2", {}, "Thread"), button("×", closeThread, { "aria-label": "Close the thread" })), list, replyForm());
  arrange(list, [parent, ...replies].map((one) => messageLine(one, [], false, "thread/")));
}

function replyForm() {
  const line = element("input", { class: "line", "aria-label": "A reply", placeholder: "Reply…", maxlength: 1000, autocomplete: "off" });
  const onsubmit = (event) => {
    event.preventDefault();
    const text = line.value.trim();
    // Slack's own words.
    if (text.startsWith("/")) return notice(`${text.split(" ")[0]} is not supported in threads. Sorry!`, true);
    if (text) quietly(ask("type", { channel: chosen.channel, user: chosen.person, text, thread_ts: chosen.thread }));
    line.value = "";
  };
  return element("form", { class: "composer", onsubmit }, line, element("button", { "aria-label": "Send the reply" }, "➤"));
}

at("thread").addEventListener("keydown", (event) => { if (event.key === "Escape") closeThread(); });

// ---- the app's Home, a tab of its direct messages

function drawTabs(channel) {
  const tab = (name, label) => button(label, () => openTab(name), { "aria-pressed": String(chosen.tab === name) });
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
  return kept("home", [view], () => element("li", { class: "home" }, drawBlocks(view.blocks, contextOf({ view: view.id }))));
}

// ---- forms

function drawView() {
  const view = of("view").filter((one) => one.type !== "home").at(-1);
  const modal = at("modal");
  if (!view) return modal.close();
  modal.oncancel = (event) => { event.preventDefault(); leave(view); };
  arrange(modal, [kept("form", [view.id, view.hash], () => drawForm(view))]);
  if (modal.open) return;
  modal.showModal();
  modal.querySelector(".modal-body :is(input, select)")?.focus();
}

const leave = (view) => quietly(ask("close", { user: chosen.person, view: view.id }));

function drawForm(view) {
  const inputs = [];
  const close = () => leave(view);
  const onsubmit = (event) => { event.preventDefault(); quietly(submit(view, inputs)); };
  const buttons = [button(view.close?.text ?? "Cancel", close, { class: "button" }), view.submit ? element("button", { class: "button primary" }, view.submit.text) : ""];
  const body = drawBlocks(view.blocks, { ...contextOf({ view: view.id }), inputs });
  return dialogForm("modal-title", view.title.text, body, buttons, { onsubmit, close: button("×", close, { "aria-label": "Leave the form" }) });
}

async function submit(view, inputs) {
  const values = {};
  for (const { block, one, value } of inputs) (values[block.block_id] ??= {})[one.action_id] = value();
  const errors = await ask("submit", { user: chosen.person, view: view.id, values });
  for (const holder of at("modal").querySelectorAll("[data-block]")) {
    const words = errors?.[holder.dataset.block] ?? "";
    holder.querySelector(".error").textContent = words;
    holder.querySelector("input")?.setAttribute("aria-invalid", String(Boolean(words)));
  }
}

at("person").addEventListener("change", () => {
  if (documents.get(`channel/${chosen.channel}`)?.dm_user) chosen.channel = null;
  Object.assign(chosen, { tab: "messages", thread: null });
  draw();
});

at("composer").addEventListener("submit", () => { follows = true; drawMessages(); });
listen(draw);
