// Slack's mrkdwn, as far as the bot uses it, as DOM nodes. Nothing here ever becomes HTML by string: every text is a text node.

import { element } from "./dom.js";

const MARKS = /<([^<>\n]+)>|(?<![\w*])\*([^\s*](?:[^*\n]*[^\s*])?)\*(?![\w*])|`([^`\n]+)`/g;

export const unescaped = (text) => text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

export function mrkdwn(text, names) {
  const found = document.createDocumentFragment();
  text.split("\n").forEach((line, at) => found.append(...(at ? [element("br")] : []), ...inline(line, names)));
  return found;
}

function inline(text, names) {
  const nodes = [];
  let end = 0;
  for (const { 0: whole, 1: token, 2: bold, 3: code, index } of text.matchAll(MARKS)) {
    nodes.push(unescaped(text.slice(end, index)));
    if (token) nodes.push(tokenNode(token, names));
    else nodes.push(bold ? element("strong", {}, ...inline(bold, names)) : element("code", {}, unescaped(code)));
    end = index + whole.length;
  }
  return [...nodes, unescaped(text.slice(end))].filter((one) => one !== "");
}

function tokenNode(token, names) {
  const [target, label] = token.split(/\|(.*)/s);
  if (target.startsWith("!date^")) return dateNode(target, label);
  if (/^[@#!]/.test(target)) {
    const id = target.replace(/^(@|#|!subteam\^|!)/, "");
    return element("span", { class: "mention" }, `${target[0] === "#" ? "#" : "@"}${names[id] ?? label ?? id}`);
  }
  if (/^(https?:|mailto:)/.test(target)) {
    return element("a", { href: unescaped(target), rel: "noreferrer", target: "_blank" }, unescaped(label ?? target));
  }
  return unescaped(label ?? target);
}

// The formats that the bot uses.
const FORMATS = {
  "{date_short}": (at) => at.toLocaleDateString("en-GB", { dateStyle: "medium" }),
  "{time}": (at) => at.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" }),
  "{time_secs}": (at) => at.toLocaleTimeString("en-GB"),
};

function dateNode(target, fallback) {
  const [, seconds, format] = target.split("^");
  const at = new Date(Number(seconds) * 1000);
  if (!format || Number.isNaN(at.getTime())) return unescaped(fallback ?? target);
  const words = format.replace(/\{\w+\}/g, (one) => FORMATS[one]?.(at) ?? one);
  return element("time", { datetime: at.toISOString(), title: fallback ?? "" }, words);
}
