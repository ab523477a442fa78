// Block Kit as DOM. A block or an element that is not known here is shown as raw JSON with a warning.

import { dialogForm, element } from "./dom.js";
import { drawInput } from "./forms.js";
import { mrkdwn, unescaped } from "./mrkdwn.js";

export function drawBlocks(blocks, context) {
  return element("div", { class: "blocks" }, ...blocks.map((block) => drawBlock(block, context)));
}

const drawBlock = (block, context) => BLOCKS[block.type]?.(block, context) ?? unknown("block", block);

export function unknown(what, value) {
  return element("div", { class: "unknown" }, element("strong", {}, `unknown ${what}: ${value.type}`), element("pre", {}, JSON.stringify(value, null, 2)));
}

const text = (object, context) => object && (object.type === "mrkdwn" ? mrkdwn(object.text, context.names) : unescaped(object.text));

const BLOCKS = {
  header: (block, context) => element("h3", { class: "block-header" }, text(block.text, context)),
  divider: () => element("hr"),
  section: (block, context) =>
    element("div", { class: "section" },
      element("div", { class: "section-text" },
        text(block.text, context),
        block.fields ? element("div", { class: "fields" }, ...block.fields.map((one) => element("div", {}, text(one, context)))) : null,
      ),
      block.accessory ? element("div", { class: "accessory" }, drawElement(block.accessory, context)) : null,
    ),
  context: (block, context) =>
    element("div", { class: "context" }, ...block.elements.map((one) => element("span", {}, text(one, context)))),
  actions: (block, context) => element("div", { class: "actions" }, ...block.elements.map((one) => drawElement(one, context))),
  input: drawInput,
  data_table: dataTable,
  data_visualization: chart,
  container: (block, context) => {
    const inner = block.child_blocks.map((one) => drawBlock(one, context));
    const title = element("strong", {}, text(block.title, context));
    if (!block.is_collapsible) return element("div", { class: "container" }, title, ...inner);
    return element("details", { class: "container", open: !block.default_collapsed }, element("summary", {}, title), ...inner);
  },
};

const inOrder = (one, other) => one.text.localeCompare(other.text, "en", { numeric: true });

function dataTable(block) {
  const [head, ...rows] = block.rows;
  const size = block.page_size ?? 10;
  const shown = { page: 0, by: null, down: false };
  const holder = element("div", { class: "table" });
  const draw = () => {
    const sorted = shown.by === null ? rows : [...rows].sort((one, other) => inOrder(one[shown.by], other[shown.by]));
    if (shown.down) sorted.reverse();
    const pages = Math.max(1, Math.ceil(rows.length / size));
    const part = sorted.slice(shown.page * size, (shown.page + 1) * size);
    const heads = head.map((one, at) =>
      element("th", { scope: "col", "aria-sort": shown.by === at ? (shown.down ? "descending" : "ascending") : "none" },
        element("button", { class: "sort", onclick: () => { Object.assign(shown, { down: shown.by === at && !shown.down, by: at, page: 0 }); draw(); } }, one.text),
      ),
    );
    const cell = (one, at) => (at === block.row_header_column_index ? element("th", { scope: "row" }, one.text) : element("td", {}, one.text));
    const turn = (label, page) => element("button", { disabled: page < 0 || page >= pages, onclick: () => { shown.page = page; draw(); } }, label);
    const pager = [turn("Earlier rows", shown.page - 1), ` ${shown.page + 1} of ${pages} `, turn("Later rows", shown.page + 1)];
    holder.replaceChildren(
      element("p", { class: "caption" }, block.caption),
      element("table", {},
        element("thead", {}, element("tr", {}, ...heads)),
        element("tbody", {}, ...part.map((row) => element("tr", {}, ...row.map(cell)))),
      ),
      pages > 1 ? element("p", { class: "pager" }, ...pager) : "",
    );
  };
  draw();
  return holder;
}

function chart(block) {
  const { series } = block.chart;
  const top = Math.max(1, ...series.flatMap((one) => one.data.map((point) => point.value)));
  const last = Math.max(1, ...series.map((one) => one.data.length - 1));
  const label = `${block.title}: ${series.map((one) => `${one.name}, ${one.data.at(-1)?.value}`).join("; ")}`;
  return element("figure", { class: "chart" },
    element("figcaption", {}, block.title),
    element("svg", { viewBox: `0 0 ${last} ${top}`, preserveAspectRatio: "none", role: "img", "aria-label": label },
      ...series.map((one, number) => element("polyline", { class: `line-${number}`, points: one.data.map((point, at) => `${at},${top - point.value}`).join(" ") })),
    ),
    element("p", { class: "legend" }, ...series.map((one, number) => element("span", { class: `key key-${number}` }, one.name))),
  );
}

function drawElement(one, context) {
  if (one.type !== "button") return unknown("element", one);
  return element("button", { type: "button", class: `button ${one.style ?? ""}`, onclick: () => press(one, context) }, one.text.text);
}

async function press(one, context) {
  if (!one.confirm || (await agreed(one.confirm, context))) context.press(one.action_id, one.value ?? "");
}

// A confirmation as Slack draws it.
function agreed(confirm, context) {
  const deny = element("button", { class: "button", value: "" }, confirm.deny.text);
  const agree = element("button", { class: "button primary", value: "yes", autofocus: true }, confirm.confirm.text);
  const form = dialogForm("confirm-title", confirm.title.text, element("p", {}, text(confirm.text, context)), [deny, agree]);
  const dialog = element("dialog", { class: "modal", "aria-labelledby": "confirm-title" }, form);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.onclose = () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    };
  });
}
