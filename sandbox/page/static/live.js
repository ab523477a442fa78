// What the page knows and asks: documents come as a stream, and what a person does is one request.

import { at } from "./dom.js";

export const documents = new Map();
export const chosen = { channel: null, thread: null, tab: "messages", get person() { return at("person").value; } };

const NOTICE_MS = 8_000;
let fading = null;

export const of = (kind) => [...documents].filter(([key]) => key.startsWith(`${kind}/`)).map(([, value]) => value);
export const people = () => Object.fromEntries(of("person").filter((one) => !one.is_bot).map((one) => [one.id, one.name]));
export const names = () => Object.fromEntries([...of("person"), ...of("channel")].map((one) => [one.id, one.name]));

export function notice(words, isError = false) {
  clearTimeout(fading);
  if (words) fading = setTimeout(() => notice(""), NOTICE_MS);
  at("notice").textContent = words;
  at("notice").classList.toggle("is-error", isError);
}

export async function ask(what, body) {
  const answer = await fetch(`/api/${what}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  const { said, error } = await answer.json();
  if (error) throw new Error(error);
  if (typeof said === "string") notice(said);
  return said;
}

export const quietly = (work) => work.catch((error) => notice(error.message, true));
export const happen = (what, id = "") => quietly(ask("happen", { what, id }));
export const trouble = (name, on) => quietly(ask("trouble", { name, on }));

export function listen(draw) {
  const source = new EventSource("/api/live");
  source.onmessage = ({ data }) => {
    const { changed, gone } = JSON.parse(data);
    for (const [key, value] of Object.entries(changed)) documents.set(key, value);
    for (const key of gone) documents.delete(key);
    draw();
  };
  source.onerror = () => notice("The demo does not answer. The page goes on once the demo answers again.", true);
}
