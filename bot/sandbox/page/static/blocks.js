// Block Kit as DOM. A block or an element that is not known here is shown as raw JSON with a warning.

import { element, mrkdwn, unescaped } from "./mrkdwn.js";

export function drawBlocks(blocks, context) {
  return element("div", { class: "blocks" }, ...blocks.map((block) => drawBlock(block, context)));
}

function drawBlock(block, context) {
  const draw = BLOCKS[block.type];
  return draw ? draw(block, context) : unknown("block", block);
}

function unknown(what, value) {
  return element("div", { class: "unknown" }, element("strong", {}, `unknown ${what}: ${value.type}`), element("pre", {}, JSON.stringify(value, null, 2)));
}

function text(object, context) {
  if (!object) return null;
  return object.type === "mrkdwn" ? mrkdwn(object.text, context.names) : unescaped(object.text ?? "");
}

const BLOCKS = {
  header: (block, context) => element("h3", { class: "block-header" }, text(block.text, context)),
  divider: () => element("hr"),
  section: (block, context) =>
    element(
      "div",
      { class: "section" },
      element(
        "div",
        { class: "section-text" },
        text(block.text, context),
        block.fields ? element("div", { class: "fields" }, ...block.fields.map((one) => element("div", {}, text(one, context)))) : null,
      ),
      block.accessory ? element("div", { class: "accessory" }, drawElement(block.accessory, block, context)) : null,
    ),
  context: (block, context) =>
    element("div", { class: "context" }, ...block.elements.map((one) => (one.type === "image" ? picture(one) : element("span", {}, text(one, context))))),
  actions: (block, context) => element("div", { class: "actions" }, ...block.elements.map((one) => drawElement(one, block, context))),
  image: (block) => picture(block),
  markdown: (block) => element("div", { class: "section" }, block.text),
  input: (block, context) => drawInput(block, context),
  rich_text: (block, context) => element("div", { class: "section" }, ...block.elements.map((one) => richText(one, context))),
  table: (block, context) => plainTable(block.rows, context),
  data_table: (block, context) => dataTable(block, context),
  data_visualization: (block) => chart(block),
  container: (block, context) =>
    element(
      "details",
      { class: "container", open: block.is_collapsed === false || block.collapsed === false },
      element("summary", {}, text(block.title, context) ?? "More"),
      ...(block.blocks ?? block.elements ?? []).map((one) => drawBlock(one, context)),
    ),
  card: (block, context) =>
    element("div", { class: "container" }, element("strong", {}, text(block.title, context)), text(block.body ?? block.text, context)),
};

export const KNOWN_BLOCKS = Object.keys(BLOCKS);

const picture = (one) => element("span", { class: "picture" }, `[${one.alt_text ?? "picture"}]`);

function richText(one, context) {
  const inner = (one.elements ?? []).map((part) => richText(part, context));
  switch (one.type) {
    case "rich_text_section":
      return element("p", {}, ...inner);
    case "rich_text_quote":
      return element("blockquote", {}, ...inner);
    case "rich_text_preformatted":
      return element("pre", {}, ...inner);
    case "rich_text_list":
      return element(one.style === "ordered" ? "ol" : "ul", {}, ...inner.map((part) => element("li", {}, part)));
    case "text":
      return styled(one);
    case "link":
      return element("a", { href: one.url, rel: "noreferrer", target: "_blank" }, one.text ?? one.url);
    case "user":
      return element("span", { class: "mention" }, `@${context.names[one.user_id] ?? one.user_id}`);
    case "channel":
      return element("span", { class: "mention" }, `#${context.names[one.channel_id] ?? one.channel_id}`);
    case "emoji":
      return `:${one.name}:`;
    default:
      return unknown("rich text", one);
  }
}

function styled(one) {
  const style = one.style ?? {};
  const tag = style.code ? "code" : style.bold ? "strong" : style.italic ? "em" : style.strike ? "s" : "span";
  return element(tag, {}, one.text);
}

function cell(value, context) {
  if (value === null || value === undefined) return "";
  if (value.type === "raw_text") return value.text;
  if (value.type === "raw_number") return value.text ?? String(value.value);
  if (value.type === "rich_text") return value.elements.map((one) => richText(one, context));
  if (value.type === "button") return drawElement(value, {}, context);
  return value.text ?? unknown("cell", value);
}

function plainTable(rows, context) {
  const [head, ...body] = rows;
  return element(
    "div",
    { class: "table" },
    element(
      "table",
      {},
      element("thead", {}, element("tr", {}, ...head.map((one) => element("th", { scope: "col" }, cell(one, context))))),
      element("tbody", {}, ...body.map((row) => element("tr", {}, ...row.map((one) => element("td", {}, cell(one, context)))))),
    ),
  );
}

const sortable = (value) => {
  const words = value?.text ?? String(value?.value ?? "");
  const number = Number.parseFloat(words);
  return Number.isNaN(number) ? [1, words] : [0, number];
};

const compared = ([kind, one], [otherKind, other]) => kind - otherKind || (one > other) - (one < other);

function dataTable(block, context) {
  const [head, ...rows] = block.rows;
  const size = block.page_size ?? 10;
  const shown = { page: 0, by: null, down: false };
  const holder = element("div", { class: "table" });
  const draw = () => {
    const sorted = shown.by === null ? rows : [...rows].sort((one, other) => compared(sortable(one[shown.by]), sortable(other[shown.by])));
    if (shown.down) sorted.reverse();
    const pages = Math.max(1, Math.ceil(rows.length / size));
    const part = sorted.slice(shown.page * size, (shown.page + 1) * size);
    const heads = head.map((one, at) =>
      element(
        "th",
        { scope: "col", "aria-sort": shown.by === at ? (shown.down ? "descending" : "ascending") : "none" },
        element("button", { class: "sort", onclick: () => { Object.assign(shown, { down: shown.by === at && !shown.down, by: at, page: 0 }); draw(); } }, cell(one, context)),
      ),
    );
    holder.replaceChildren(
      block.caption ? element("p", { class: "caption" }, typeof block.caption === "string" ? block.caption : block.caption.text) : "",
      element(
        "table",
        {},
        element("thead", {}, element("tr", {}, ...heads)),
        element("tbody", {}, ...part.map((row) => element("tr", {}, ...row.map((one, at) => element(at === (block.row_header_column_index ?? -1) ? "th" : "td", at === block.row_header_column_index ? { scope: "row" } : {}, cell(one, context)))))),
      ),
      pages > 1
        ? element(
            "p",
            { class: "pager" },
            element("button", { disabled: shown.page === 0, onclick: () => { shown.page -= 1; draw(); } }, "Earlier rows"),
            ` ${shown.page + 1} of ${pages} `,
            element("button", { disabled: shown.page >= pages - 1, onclick: () => { shown.page += 1; draw(); } }, "Later rows"),
          )
        : "",
    );
  };
  draw();
  return holder;
}

function chart(block) {
  const series = block.chart?.series ?? [];
  const all = series.flatMap((one) => one.data.map((point) => Number(point.value)));
  const top = Math.max(1, ...all);
  const [width, height] = [480, 140];
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `${block.title}: ${series.map((one) => `${one.name}, last ${one.data.at(-1)?.value}`).join("; ")}`);
  series.forEach((one, number) => {
    const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
    const step = width / Math.max(1, one.data.length - 1);
    line.setAttribute("points", one.data.map((point, at) => `${(at * step).toFixed(1)},${(height - (Number(point.value) / top) * (height - 8)).toFixed(1)}`).join(" "));
    line.setAttribute("class", `line-${number}`);
    svg.append(line);
  });
  return element(
    "figure",
    { class: "chart" },
    element("figcaption", {}, block.title ?? "Chart"),
    svg,
    element("p", { class: "legend" }, ...series.map((one, number) => element("span", { class: `key key-${number}` }, one.name))),
  );
}

function drawElement(one, block, context) {
  const draw = ELEMENTS[one.type];
  return draw ? draw(one, block, context) : unknown("element", one);
}

const optionText = (option) => option.text?.text ?? option.value;
const optionsOf = (one) => [...(one.options ?? []), ...(one.option_groups ?? []).flatMap((group) => group.options)];

const ELEMENTS = {
  button: (one, _block, context) =>
    one.url
      ? element("a", { class: "button", href: one.url, rel: "noreferrer", target: "_blank" }, one.text.text)
      : element("button", { type: "button", class: `button ${one.style ?? ""}`, "aria-label": one.accessibility_label, onclick: (event) => press(event, one, one.value ?? "", context) }, one.text.text),
  static_select: (one, _block, context) =>
    element(
      "select",
      { "aria-label": one.placeholder?.text ?? one.action_id, onchange: (event) => press(event, one, event.target.value, context) },
      element("option", { value: "" }, one.placeholder?.text ?? "Choose"),
      ...optionsOf(one).map((option) => element("option", { value: option.value, selected: one.initial_option?.value === option.value }, optionText(option))),
    ),
  overflow: (one, _block, context) =>
    element(
      "select",
      { "aria-label": "More", onchange: (event) => press(event, one, event.target.value, context) },
      element("option", { value: "" }, "⋯"),
      ...one.options.map((option) => element("option", { value: option.value }, optionText(option))),
    ),
};

function press(event, one, value, context) {
  const asked = () => context.press(one.action_id, value);
  if (!one.confirm || window.confirm(`${one.confirm.title.text}\n\n${one.confirm.text.text}`)) asked();
  else if (event.target.tagName === "SELECT") event.target.value = "";
}

// ---- forms

function drawInput(block, context) {
  const one = block.element;
  const id = `input-${block.block_id}`;
  const draw = INPUTS[one.type];
  const made = draw ? draw(one, block, context, id) : { node: unknown("input", one), value: () => null };
  context.inputs?.push({ block, one, value: made.value });
  return element(
    "div",
    { class: "input", "data-block": block.block_id },
    element(made.group ? "p" : "label", made.group ? { id: `${id}-label`, class: "label" } : { for: id }, block.label.text, block.optional ? " (optional)" : ""),
    made.node,
    block.hint ? element("p", { class: "hint" }, block.hint.text) : null,
    element("p", { class: "error", role: "alert" }),
  );
}

function several(one, id, options, chosen) {
  const values = new Set(chosen);
  const node = element(
    "select",
    { id, multiple: true, size: Math.min(6, Math.max(2, options.length)) },
    ...options.map((option) => element("option", { value: option.value, selected: values.has(option.value) }, optionText(option))),
  );
  return { node, value: () => [...node.selectedOptions].map((picked) => options.find((option) => option.value === picked.value)) };
}

const INPUTS = {
  plain_text_input: (one, _block, _context, id) => {
    const node = element(one.multiline ? "textarea" : "input", { id, maxlength: one.max_length, placeholder: one.placeholder?.text });
    node.value = one.initial_value ?? "";
    return { node, value: () => ({ type: one.type, value: node.value || null }) };
  },
  static_select: (one, _block, _context, id) => {
    const options = optionsOf(one);
    const node = element("select", { id }, element("option", { value: "" }, one.placeholder?.text ?? "Choose"), ...options.map((option) => element("option", { value: option.value, selected: one.initial_option?.value === option.value }, optionText(option))));
    return { node, value: () => ({ type: one.type, selected_option: options.find((option) => option.value === node.value) ?? null }) };
  },
  multi_static_select: (one, _block, _context, id) => {
    const made = several(one, id, optionsOf(one), (one.initial_options ?? []).map((option) => option.value));
    return { node: made.node, value: () => ({ type: one.type, selected_options: made.value() }) };
  },
  multi_users_select: (one, _block, context, id) => {
    const options = Object.entries(context.people).map(([value, name]) => ({ value, text: { text: name } }));
    const made = several(one, id, options, one.initial_users ?? []);
    return { node: made.node, value: () => ({ type: one.type, selected_users: made.value().map((option) => option.value) }) };
  },
  checkboxes: (one, block, _context, id) => {
    const chosen = new Set((one.initial_options ?? []).map((option) => option.value));
    const boxes = one.options.map((option, at) => {
      const box = element("input", { type: "checkbox", id: `${id}-${at}`, checked: chosen.has(option.value) });
      return { box, option, node: element("div", {}, box, element("label", { for: `${id}-${at}` }, optionText(option))) };
    });
    return {
      group: true,
      node: element("div", { role: "group", "aria-labelledby": `${id}-label` }, ...boxes.map((one_) => one_.node)),
      value: () => ({ type: one.type, selected_options: boxes.filter((one_) => one_.box.checked).map((one_) => one_.option) }),
    };
  },
  radio_buttons: (one, _block, _context, id) => {
    const boxes = one.options.map((option, at) => {
      const box = element("input", { type: "radio", name: id, id: `${id}-${at}`, checked: one.initial_option?.value === option.value });
      return { box, option, node: element("div", {}, box, element("label", { for: `${id}-${at}` }, optionText(option))) };
    });
    return {
      group: true,
      node: element("div", { role: "radiogroup", "aria-labelledby": `${id}-label` }, ...boxes.map((one_) => one_.node)),
      value: () => ({ type: one.type, selected_option: boxes.find((one_) => one_.box.checked)?.option ?? null }),
    };
  },
  multi_external_select: (one, _block, context, id) => {
    const chosen = new Map((one.initial_options ?? []).map((option) => [option.value, option]));
    const list = element("ul", { class: "chosen" });
    const offers = element("ul", { class: "offers", role: "listbox", "aria-label": "Offers" });
    const typed = element("input", { id, placeholder: one.placeholder?.text ?? "Type to search", role: "combobox", "aria-expanded": "false", autocomplete: "off" });
    const draw = () =>
      list.replaceChildren(...[...chosen.values()].map((option) => element("li", {}, optionText(option), element("button", { type: "button", "aria-label": `Remove ${optionText(option)}`, onclick: () => { chosen.delete(option.value); draw(); typed.focus(); } }, "×"))));
    let asked = 0;
    typed.addEventListener("input", async () => {
      const mine = (asked += 1);
      if (typed.value.length < (one.min_query_length ?? 3)) return offers.replaceChildren();
      const found = await context.lookUp(one.action_id, typed.value);
      if (mine !== asked) return undefined;
      typed.setAttribute("aria-expanded", String(found.length > 0));
      offers.replaceChildren(...found.map((option) => element("li", { role: "option" }, element("button", { type: "button", onclick: () => { chosen.set(option.value, option); typed.value = ""; offers.replaceChildren(); draw(); typed.focus(); } }, optionText(option)))));
      return undefined;
    });
    draw();
    return { node: element("div", {}, list, typed, offers), value: () => ({ type: one.type, selected_options: [...chosen.values()] }) };
  },
};
