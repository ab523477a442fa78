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
  container: (block, context) => {
    const inner = (block.child_blocks ?? []).map((one) => drawBlock(one, context));
    const title = [element("strong", {}, text(block.title, context) ?? ""), block.subtitle ? element("div", { class: "hint" }, text(block.subtitle, context)) : null];
    if (!block.is_collapsible) return element("div", { class: "container" }, ...title, ...inner);
    return element("details", { class: "container", open: !block.default_collapsed }, element("summary", {}, ...title), ...inner);
  },
  card: (block, context) =>
    element(
      "div",
      { class: "container" },
      block.hero_image ? picture(block.hero_image) : null,
      block.icon ? picture(block.icon) : null,
      element("strong", {}, text(block.title, context)),
      block.subtitle ? element("div", { class: "hint" }, text(block.subtitle, context)) : null,
      element("div", {}, text(block.body, context)),
      block.actions ? element("div", { class: "actions" }, ...block.actions.map((one) => drawElement(one, block, context))) : null,
    ),
  context_actions: (block, context) => element("div", { class: "actions" }, ...block.elements.map((one) => drawElement(one, block, context))),
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

const SVG = "http://www.w3.org/2000/svg";

function shape(tag, attributes) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

const [WIDTH, HEIGHT] = [480, 140];

function lines(series, top, area) {
  return series.map((one, number) => {
    const step = WIDTH / Math.max(1, one.data.length - 1);
    const points = one.data.map((point, at) => `${(at * step).toFixed(1)},${(HEIGHT - (Number(point.value) / top) * (HEIGHT - 8)).toFixed(1)}`);
    if (area) points.push(`${WIDTH},${HEIGHT}`, `0,${HEIGHT}`);
    return shape(area ? "polygon" : "polyline", { points: points.join(" "), class: `${area ? "area" : "line"}-${number}` });
  });
}

function bars(series, top) {
  const slots = Math.max(1, ...series.map((one) => one.data.length));
  const width = WIDTH / slots / (series.length + 1);
  return series.flatMap((one, number) =>
    one.data.map((point, at) => {
      const height = (Number(point.value) / top) * (HEIGHT - 8);
      return shape("rect", { x: (at * (WIDTH / slots) + number * width).toFixed(1), y: (HEIGHT - height).toFixed(1), width: width.toFixed(1), height: height.toFixed(1), class: `area-${number}` });
    }),
  );
}

// A share of the circle as a dashed stroke: the whole is 100.
function slices(segments) {
  const whole = segments.reduce((sum, one) => sum + Number(one.value), 0) || 1;
  let begun = 0;
  return segments.map((one, number) => {
    const share = (Number(one.value) / whole) * 100;
    const made = shape("circle", { cx: WIDTH / 2, cy: HEIGHT / 2, r: 30, pathLength: 100, "stroke-dasharray": `${share} ${100 - share}`, "stroke-dashoffset": -begun, class: `slice-${number}` });
    begun += share;
    return made;
  });
}

function chart(block) {
  const { type = "line", series = [], segments = [] } = block.chart ?? {};
  const top = Math.max(1, ...series.flatMap((one) => one.data.map((point) => Number(point.value))));
  const svg = shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" });
  const named = type === "pie" ? segments.map((one) => ({ name: one.label, last: one.value })) : series.map((one) => ({ name: one.name, last: one.data.at(-1)?.value }));
  svg.setAttribute("aria-label", `${block.title}: ${named.map((one) => `${one.name}, ${one.last}`).join("; ")}`);
  svg.append(...(type === "pie" ? slices(segments) : type === "bar" ? bars(series, top) : lines(series, top, type === "area")));
  return element(
    "figure",
    { class: "chart" },
    element("figcaption", {}, block.title ?? "Chart"),
    svg,
    element("p", { class: "legend" }, ...named.map((one, number) => element("span", { class: `key key-${number}` }, one.name))),
  );
}

function drawElement(one, block, context) {
  const draw = ELEMENTS[one.type];
  if (draw) return draw(one, block, context);
  return INPUTS[one.type] ? drawChoice(one, block, context) : unknown("element", one);
}

// An input outside a form acts at once, with the first chosen value.
function drawChoice(one, block, context) {
  const made = INPUTS[one.type](one, block, context, `choice-${one.action_id}`);
  made.node.addEventListener("change", () => {
    const { value, selected_option, selected_options, ...others } = made.value() ?? {};
    const chosen = value ?? (selected_option ?? selected_options?.[0])?.value ?? Object.values(others).flat()[1];
    if (chosen) context.press(one.action_id, chosen);
  });
  return element("div", { role: "group", "aria-label": one.placeholder?.text ?? one.action_id }, made.node);
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
  image: (one) => picture(one),
  feedback_buttons: (one, _block, context) =>
    element("span", {}, ...[one.positive_button, one.negative_button].map((button) => element("button", { type: "button", class: "button", "aria-label": button.accessibility_label, onclick: () => context.press(one.action_id, button.value) }, button.text.text))),
  icon_button: (one, _block, context) => element("button", { type: "button", class: "button", "aria-label": one.accessibility_label ?? one.text?.text, onclick: (event) => press(event, one, one.value ?? "", context) }, one.text?.text ?? one.icon),
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
    element("p", { class: "error", role: "alert", id: `${id}-error` }),
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

// One of the people, the channels, or both.
function pickedName(one, id, names, initial, field) {
  const node = element("select", { id }, element("option", { value: "" }, one.placeholder?.text ?? "Choose"), ...Object.entries(names).map(([value, name]) => element("option", { value, selected: value === initial }, name)));
  return { node, value: () => ({ type: one.type, [field]: node.value || null }) };
}

function pickedNames(one, id, names, initial, field) {
  const options = Object.entries(names).map(([value, name]) => ({ value, text: { text: name } }));
  const made = several(one, id, options, initial ?? []);
  return { node: made.node, value: () => ({ type: one.type, [field]: made.value().map((option) => option.value) }) };
}

const channelsOf = (context) => Object.fromEntries(Object.entries(context.names).filter(([id]) => /^[CGD]/.test(id)));

const INPUTS = {
  users_select: (one, _block, context, id) => pickedName(one, id, context.people, one.initial_user, "selected_user"),
  channels_select: (one, _block, context, id) => pickedName(one, id, channelsOf(context), one.initial_channel, "selected_channel"),
  conversations_select: (one, _block, context, id) => pickedName(one, id, { ...context.people, ...channelsOf(context) }, one.initial_conversation, "selected_conversation"),
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
  multi_channels_select: (one, _block, context, id) => pickedNames(one, id, channelsOf(context), one.initial_channels, "selected_channels"),
  multi_conversations_select: (one, _block, context, id) => pickedNames(one, id, { ...context.people, ...channelsOf(context) }, one.initial_conversations, "selected_conversations"),
  external_select: (one, block, context, id) => {
    const made = INPUTS.multi_external_select({ ...one, initial_options: one.initial_option ? [one.initial_option] : [] }, block, context, id);
    return { node: made.node, value: () => ({ type: one.type, selected_option: made.value().selected_options.at(-1) ?? null }) };
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
