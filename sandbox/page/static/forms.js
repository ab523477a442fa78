// The fields of a form. A menu is drawn as Slack draws it: the chosen options, and a field that searches among the others.

import { unknown } from "./blocks.js";
import { element, offering } from "./dom.js";

const optionText = (option) => option.text.text;
const named = (names) => Object.entries(names).map(([value, name]) => ({ value, text: { text: name } }));
const optionsOf = (one) => [...(one.options ?? []), ...(one.option_groups ?? []).flatMap((group) => group.options)];

export function drawInput(block, context) {
  const one = block.element;
  const id = `input-${block.block_id}`;
  const made = INPUTS[one.type]?.(one, context, id) ?? { node: unknown("input", one), value: () => null };
  context.inputs?.push({ block, one, value: () => ({ type: one.type, ...made.value() }) });
  return element("div", { class: "input", "data-block": block.block_id },
    element(made.group ? "p" : "label", made.group ? { id: `${id}-label`, class: "label" } : { for: id }, block.label.text, block.optional ? " (optional)" : ""),
    made.node,
    block.hint ? element("p", { class: "hint" }, block.hint.text) : null,
    element("p", { class: "error", role: "alert", id: `${id}-error` }),
  );
}

function menu(one, id, find, initial = [], named_as = "selected_options", valueOf = (option) => option) {
  const chosen = new Map(initial.map((option) => [option.value, option]));
  const chips = element("ul", { class: "chosen" });
  const list = element("ul", { id: `${id}-offers`, class: "offers", role: "listbox", "aria-label": "Options", hidden: true });
  const field = element("input", { id, role: "combobox", "aria-expanded": "false", "aria-controls": list.id, "aria-autocomplete": "list", "aria-describedby": `${id}-error`, autocomplete: "off", placeholder: one.placeholder?.text });
  const drawChosen = () =>
    chips.replaceChildren(...[...chosen.values()].map((option) => element("li", {}, optionText(option), element("button", { type: "button", "aria-label": `Remove ${optionText(option)}`, onclick: () => { toggle(option); field.focus(); } }, "×"))));
  function toggle(option) {
    if (!chosen.delete(option.value) && chosen.size < (one.max_selected_items ?? Infinity)) chosen.set(option.value, option);
    drawChosen();
  }
  const offers = offering(field, list, {
    find,
    first: 0,
    row: (option) => [element("span", { class: "tick" }, chosen.has(option.value) ? "✓" : ""), optionText(option)],
    pick: (option) => { toggle(option); field.value = ""; offers.search(); },
  });
  field.addEventListener("click", offers.search);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Backspace" && !field.value && chosen.size) toggle([...chosen.values()].at(-1));
    // Enter opens the menu, and does not submit the form.
    if (event.key === "Enter" && !event.defaultPrevented) offers.search();
    if (event.key === "Enter") event.preventDefault();
  });
  drawChosen();
  return { node: element("div", { class: "menu" }, chips, field, list), value: () => ({ [named_as]: [...chosen.values()].map(valueOf) }) };
}

const among = (options) => (typed) => options.filter((option) => optionText(option).toLowerCase().includes(typed.trim().toLowerCase()));

// A menu of people or of channels, whose value is ids.
function idMenu(one, id, options, initial, field) {
  const chosen = (initial ?? []).map((value) => options.find((option) => option.value === value) ?? { value, text: { text: value } });
  return menu(one, id, among(options), chosen, field, (option) => option.value);
}

const INPUTS = {
  plain_text_input: (one, _context, id) => {
    const node = element("input", { id, "aria-describedby": `${id}-error`, maxlength: one.max_length, placeholder: one.placeholder?.text, value: one.initial_value });
    return { node, value: () => ({ value: node.value || null }) };
  },
  multi_static_select: (one, _context, id) => menu(one, id, among(optionsOf(one)), one.initial_options),
  multi_external_select: (one, context, id) => menu(one, id, (typed) => (typed.length < (one.min_query_length ?? 3) ? [] : context.lookUp(one.action_id, typed)), one.initial_options),
  multi_users_select: (one, context, id) => idMenu(one, id, named(context.people), one.initial_users, "selected_users"),
  multi_conversations_select: (one, context, id) => idMenu(one, id, named(context.names).filter(({ value }) => /^[CG]/.test(value)), one.initial_conversations, "selected_conversations"),
  checkboxes: (one, _context, id) => {
    const chosen = new Set((one.initial_options ?? []).map((option) => option.value));
    const boxes = one.options.map((option, at) => element("input", { type: "checkbox", id: `${id}-${at}`, checked: chosen.has(option.value) }));
    const rows = boxes.map((box, at) => element("div", {}, box, element("label", { for: box.id }, optionText(one.options[at]))));
    return {
      group: true,
      node: element("div", { role: "group", "aria-labelledby": `${id}-label`, "aria-describedby": `${id}-error` }, ...rows),
      value: () => ({ selected_options: one.options.filter((_option, at) => boxes[at].checked) }),
    };
  },
};
