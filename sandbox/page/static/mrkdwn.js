// Slack's mrkdwn as DOM nodes. Nothing here ever becomes HTML by string: every text is a text node.

import { element } from "./dom.js";

const TOKEN = /<([^<>\n]+)>/;
const STYLED = /(?<![\w*])\*([^\s*](?:[^*\n]*[^\s*])?)\*(?![\w*])|`([^`\n]+)`|(?<!\w)_([^\s_](?:[^_\n]*[^\s_])?)_(?!\w)|(?<![\w~])~([^\s~](?:[^~\n]*[^\s~])?)~(?![\w~])/;

export const unescaped = (text) => text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

export function mrkdwn(text, names) {
  const found = document.createDocumentFragment();
  let quote = null;
  text.split("\n").forEach((line, at, lines) => {
    if (line.startsWith("&gt;")) {
      quote ??= found.appendChild(element("blockquote"));
      quote.append(...inline(line.slice(4).trimStart(), names), element("br"));
      return;
    }
    quote = null;
    found.append(...inline(line, names));
    if (at < lines.length - 1) found.append(element("br"));
  });
  return found;
}

function inline(text, names) {
  const nodes = [];
  let rest = text;
  while (rest) {
    const token = TOKEN.exec(rest);
    const styled = STYLED.exec(rest);
    if (!token && !styled) {
      nodes.push(unescaped(rest));
      break;
    }
    const next = !styled || (token && token.index <= styled.index) ? token : styled;
    if (next.index) nodes.push(unescaped(rest.slice(0, next.index)));
    nodes.push(next === token ? tokenNode(next[1], names) : styledNode(next, names));
    rest = rest.slice(next.index + next[0].length);
  }
  return nodes;
}

function styledNode([, bold, code, italic, struck], names) {
  if (code !== undefined) return element("code", {}, unescaped(code));
  const [tag, words] = bold !== undefined ? ["strong", bold] : italic !== undefined ? ["em", italic] : ["s", struck];
  return element(tag, {}, ...inline(words, names));
}

function tokenNode(token, names) {
  const [target, label] = token.split(/\|(.*)/s);
  if (target.startsWith("!date^")) return dateNode(target, label);
  if (target.startsWith("@") || target.startsWith("!subteam^")) {
    const id = target.replace(/^@|^!subteam\^/, "");
    return element("span", { class: "mention" }, `@${names[id] ?? label ?? id}`);
  }
  if (target.startsWith("#")) return element("span", { class: "mention" }, `#${names[target.slice(1)] ?? label ?? target.slice(1)}`);
  if (target.startsWith("!")) return element("span", { class: "mention" }, `@${target.slice(1)}`);
  if (/^(https?:|mailto:)/.test(target)) {
    return element("a", { href: unescaped(target), rel: "noreferrer", target: "_blank" }, unescaped(label ?? target));
  }
  return unescaped(label ?? target);
}

const SHORT = { dateStyle: "medium" };
const AGO = new Intl.RelativeTimeFormat("en");
const DAY_MS = 86_400_000;

// "today", "yesterday" or "tomorrow", by the reader's days.
function nearDay(at) {
  const days = (moment) => Math.floor(new Date(moment.getFullYear(), moment.getMonth(), moment.getDate(), 12) / DAY_MS);
  return { "-1": "yesterday", 0: "today", 1: "tomorrow" }[days(at) - days(new Date())];
}

const FORMATS = {
  "{date_num}": (at) => at.toLocaleDateString("sv-SE"),
  "{date}": (at) => at.toLocaleDateString("en-GB", { dateStyle: "long" }),
  "{date_short}": (at) => at.toLocaleDateString("en-GB", SHORT),
  "{date_long}": (at) => at.toLocaleDateString("en-GB", { dateStyle: "full" }),
  "{date_pretty}": (at) => nearDay(at) ?? at.toLocaleDateString("en-GB", { dateStyle: "long" }),
  "{date_short_pretty}": (at) => nearDay(at) ?? at.toLocaleDateString("en-GB", SHORT),
  "{date_long_pretty}": (at) => nearDay(at) ?? at.toLocaleDateString("en-GB", { dateStyle: "full" }),
  "{time}": (at) => at.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" }),
  "{time_secs}": (at) => at.toLocaleTimeString("en-GB"),
  "{ago}": (at) => AGO.format(Math.round((at - Date.now()) / 60000), "minute"),
};

function dateNode(target, fallback) {
  const [, seconds, format] = target.split("^");
  const at = new Date(Number(seconds) * 1000);
  if (!format || Number.isNaN(at.getTime())) return unescaped(fallback ?? target);
  const words = format.replace(/\{\w+\}/g, (one) => FORMATS[one]?.(at) ?? one);
  return element("time", { datetime: at.toISOString(), title: fallback ?? "" }, words);
}
