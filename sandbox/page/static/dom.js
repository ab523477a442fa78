// DOM nodes: made, drawn anew within their old nodes, and put into order.

const HANDLERS = ["onclick", "onchange", "onsubmit"];

export const at = (id) => document.getElementById(id);

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) made[name] = value;
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((one) => one !== null && one !== undefined));
  return made;
}

export const button = (label, onclick, attributes = {}) => element("button", { type: "button", class: "small", onclick, ...attributes }, label);

// Draws a part anew within its old nodes: focus, selection and a click that has begun stay where they are.
export function replaceWithin(holder, ...nodes) {
  morphChildren(holder, nodes.filter((one) => one !== "" && one !== null));
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
export function arrange(list, wanted) {
  const kept = new Set(wanted);
  for (const node of [...list.children]) if (!kept.has(node)) node.remove();
  wanted.forEach((node, place) => {
    if (list.children[place] !== node) list.insertBefore(node, list.children[place] ?? null);
  });
}
