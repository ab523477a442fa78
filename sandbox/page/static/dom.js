// DOM nodes: made, drawn anew within their old nodes, and put into order.

const HANDLERS = ["onclick", "onchange", "onsubmit"];

export const at = (id) => document.getElementById(id);

const NAMESPACES = { svg: "http://www.w3.org/2000/svg", polyline: "http://www.w3.org/2000/svg" };

export function element(tag, attributes = {}, ...children) {
  const made = document.createElementNS(NAMESPACES[tag] ?? document.documentElement.namespaceURI, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) made[name] = value;
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((one) => one !== null && one !== undefined));
  return made;
}

export const button = (label, onclick, attributes = {}) => element("button", { type: "button", class: "small", onclick, ...attributes }, label);

// The form of a dialog, as Slack draws forms and confirmations.
export const dialogForm = (id, title, body, buttons, { onsubmit, close } = {}) =>
  element("form", { method: "dialog", onsubmit },
    element("header", {}, element("h2", { id }, title), close),
    element("div", { class: "modal-body" }, body),
    element("footer", {}, ...buttons),
  );

// Draws a part anew within its old nodes: focus, selection and a click that has begun stay where they are.
export function replaceWithin(holder, ...parts) {
  const nodes = parts.filter((one) => one !== "" && one !== null);
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
    return;
  }
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  for (const name of HANDLERS) old[name] = fresh[name];
  replaceWithin(old, ...fresh.childNodes);
}

// The nodes in their order; a node that stays is not taken out, so that it keeps focus, selection and animation.
export function arrange(list, wanted) {
  const kept = new Set(wanted);
  for (const node of [...list.children]) if (!kept.has(node)) node.remove();
  wanted.forEach((node, place) => {
    if (list.children[place] !== node) list.insertBefore(node, list.children[place] ?? null);
  });
}

// A field that offers rows in a list: typing finds them, the arrows go through them, Enter or a press picks, Escape hides.
// `first` is the row that Enter picks before any arrow; -1 is none.
export function offering(field, list, { find, row, pick, first = -1 }) {
  let [rows, active, asked] = [[], -1, 0];
  const draw = () => {
    list.hidden = rows.length === 0;
    field.setAttribute("aria-expanded", String(!list.hidden));
    if (active < 0) field.removeAttribute("aria-activedescendant");
    else field.setAttribute("aria-activedescendant", `${list.id}-${active}`);
    list.replaceChildren(...rows.map((one, place) => element("li", { id: `${list.id}-${place}`, role: "option", "aria-selected": String(place === active), onclick: () => pick(one) }, ...row(one))));
    list.children[Math.max(active, 0)]?.scrollIntoView({ block: "nearest" });
  };
  const show = (found) => {
    rows = found;
    active = Math.min(first, rows.length - 1);
    draw();
  };
  const hide = () => { asked += 1; show([]); };
  const search = async () => {
    const mine = (asked += 1);
    const found = await find(field.value);
    if (mine === asked) show(found);
  };
  field.addEventListener("input", search);
  field.addEventListener("blur", hide);
  // The focus stays in the field.
  list.addEventListener("mousedown", (event) => event.preventDefault());
  field.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && list.hidden) search();
    else if (step) {
      active = active < 0 && step < 0 ? rows.length - 1 : (active + step + rows.length) % rows.length;
      draw();
    } else if (event.key === "Escape" && !list.hidden) hide();
    else if (event.key === "Enter" && active >= 0) pick(rows[active]);
    else return;
    event.preventDefault();
  });
  return { search, hide, best: () => rows[Math.max(active, 0)] };
}
