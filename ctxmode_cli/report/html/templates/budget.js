"use strict";
// The budget to play with. `fit` goes by the rules of ctxmode_cli/context/steps/budget.py; a test compares the two.

/**
 * What of a request's blocks goes in.
 *
 * @param blocks the request's tokens (report/html/blocks.py)
 * @param set the budget: `request` tokens in all, ceilings `system`, `input` and `history` (null: none), `low`,
 *   `calls_first`, `documents` (chunks at most, null: all) and `documents_first`
 */
function fit(blocks, set) {
  const fixed = blocks.tools + blocks.reply + blocks.system;
  const input = fitInput(blocks, set, fixed);
  if (input.unsendable) return input;
  let room = set.request - fixed - input.tokens;
  const most = set.documents === null ? blocks.documents.length : Math.min(set.documents, blocks.documents.length);
  let documents = 0;
  if (set.documents_first) {
    documents = documentsThatFit(blocks, most, room);
    room -= documentTokens(blocks, documents);
  }
  const limit = set.history === null || set.history > room ? room : set.history;
  const history = fitHistory(blocks, set, limit);
  let used = history.tokens;
  if (history.trimmed && limit !== set.history) used = Math.max(used, Math.trunc(set.low * limit));
  if (!set.documents_first) {
    const forItsShare = set.input !== null && fixed + set.input <= set.request;
    documents = documentsThatFit(blocks, most, input.step !== null && !forItsShare ? 0 : room - used);
  }
  const tokens = fixed + input.tokens + history.tokens + documentTokens(blocks, documents);
  return { unsendable: null, over: 0, input, history, documents, tokens, free: set.request - tokens };
}

/** The current input, without its oldest call groups where it does not fit; `step` is the first that goes in. */
function fitInput(blocks, set, fixed) {
  const [whole, ...left] = blocks.input;
  const refuse = (unsendable, over) => ({ unsendable, over });
  const room = Math.min(set.request - fixed, set.input === null ? Infinity : set.input);
  if (set.system !== null && fixed - blocks.reply > set.system)
    return refuse("system", fixed - blocks.reply - set.system);
  if (whole <= room) return { tokens: whole, step: null };
  if (fixed > set.request) return refuse("system", fixed - set.request);
  const step = left.findIndex((tokens) => tokens <= room);
  if (step < 0) return refuse("input", blocks.input[blocks.input.length - 1] - room);
  return { tokens: left[step], step };
}

/** What lies before the input: its notes, and turns from the newest back. */
function fitHistory(blocks, set, limit) {
  const notes = { ...blocks.notes };
  const plan = { notes, start: 0, called: 0, trimmed: false, steppedDown: null };
  const told = () => Object.values(notes).reduce((sum, tokens) => sum + tokens, 0);
  plan.tokens = told() + blocks.turns[0];
  if (plan.tokens <= limit) return plan;
  plan.trimmed = true;
  if (notes.card > limit) delete notes.card;
  if (notes.summary !== undefined && told() > limit) {
    delete notes.summary;
    delete notes.constraints;
    plan.steppedDown = "sliding";
  }
  const mark = Math.max(0, Math.trunc(set.low * limit) - told());
  let tokensFrom = blocks.turns;
  if (set.calls_first && blocks.calls.length) {
    tokensFrom = blocks.talk;
    plan.called = blocks.calls.length;
    if (told() + blocks.talk[0] <= limit) {
      const first = blocks.calls.findIndex((tokens) => tokens <= mark);
      if (first >= 0) plan.called = first;
      plan.tokens = told() + (first >= 0 ? blocks.calls[first] : blocks.talk[0]);
      return plan;
    }
  }
  if (told() + tokensFrom[0] > limit) plan.start = tokensFrom.findIndex((tokens) => tokens <= mark);
  if (plan.steppedDown && plan.start === tokensFrom.length - 1) plan.steppedDown = "zero";
  plan.tokens = told() + tokensFrom[plan.start];
  return plan;
}

function documentTokens(blocks, count) {
  return count ? blocks.documents[count - 1] : 0;
}

/** As many of the best `most` chunks as fit into `room`. */
function documentsThatFit(blocks, most, room) {
  let count = most;
  while (count && blocks.documents[count - 1] > room) count -= 1;
  return count;
}

/** Each block as it stands: what it is, its tokens as wanted and as sent, in the order of the request. */
function standing(blocks, set, result) {
  const none = result.unsendable !== null;
  const rows = [{ kind: "system", name: "System messages and tool schemas", of: blocks.tools + blocks.system }];
  rows[0].sent = none ? 0 : rows[0].of;
  const names = { card: "Fact card", summary: "Summary", constraints: "Hard constraints" };
  for (const [kind, name] of Object.entries(names))
    if (blocks.notes[kind] !== undefined)
      rows.push({ kind, name, of: blocks.notes[kind], sent: none ? 0 : result.history.notes[kind] || 0 });
  const documents = {
    kind: "documents",
    name: `Documents: ${none ? 0 : result.documents} of ${blocks.documents.length} chunks`,
    of: documentTokens(blocks, blocks.documents.length),
    sent: none ? 0 : documentTokens(blocks, result.documents),
  };
  if (blocks.documents.length && set.documents_first) rows.push(documents);
  blocks.words.forEach((words, turn) =>
    rows.push({ kind: "history", name: words || "…", of: blocks.turns[turn] - blocks.turns[turn + 1], sent: none ? 0 : turnTokens(blocks, result.history, turn) }),
  );
  if (blocks.documents.length && !set.documents_first) rows.push(documents);
  rows.push({ kind: "input", name: "Current input", of: blocks.input[0], sent: none ? 0 : result.input.tokens });
  return rows.filter((row) => row.of);
}

/** What is sent of one turn of the history. */
function turnTokens(blocks, history, turn) {
  if (turn < history.start) return 0;
  let tokens = blocks.turns[turn] - blocks.turns[turn + 1];
  for (let step = 0; step < history.called; step += 1) {
    const after = step + 1 < blocks.calls.length ? blocks.calls[step + 1] : blocks.talk[0];
    if (blocks.steps[step] === turn) tokens -= blocks.calls[step] - after;
  }
  return tokens;
}

/** What became of a block. */
function fate(row) {
  if (row.sent === row.of) return "stays";
  return row.sent ? "shrinks" : "falls out";
}

window.ctxmodeBudget = { fit, standing };

(() => {
  const demo = document.getElementById("budget");
  if (!demo) return;
  const offers = JSON.parse(document.getElementById("data").textContent).budget;
  const part = (name) => demo.querySelector(`[data-part="${name}"]`);
  const figures = (tokens) => tokens.toLocaleString("en-US");
  const sliders = ["window", "reserved", "system", "input", "history", "documents"].map((name) => demo.querySelector(`[name="${name}"]`));
  let blocks, order;

  /** The ceilings that the sliders stand for: all the way to the right is none. */
  function settings() {
    const value = Object.fromEntries(sliders.map((slider) => [slider.name, Number(slider.value)]));
    const ceiling = (name) => (value[name] === Number(demo.querySelector(`[name="${name}"]`).max) ? null : value[name]);
    return {
      request: value.window - value.reserved,
      system: ceiling("system"),
      input: ceiling("input"),
      history: ceiling("history"),
      documents: ceiling("documents"),
      low: blocks.settings.low,
      calls_first: order.indexOf("calls") > order.indexOf("talk"),
      documents_first: order.indexOf("documents") < order.indexOf("talk"),
    };
  }

  function choose(index) {
    blocks = offers[index];
    const set = blocks.settings;
    order = ordered(set.documents_first, set.calls_first);
    const notes = Object.values(blocks.notes).reduce((sum, tokens) => sum + tokens, 0);
    const all = { system: blocks.tools + blocks.system, input: blocks.input[0], history: notes + blocks.turns[0] };
    all.documents = blocks.documents.length;
    const whole = all.system + blocks.reply + all.input + all.history + documentTokens(blocks, all.documents);
    const start = Math.min(set.request, Math.ceil(1.2 * whole));
    for (const slider of sliders) {
      const { name } = slider;
      if (name === "reserved") [slider.max, slider.value] = [2 * Math.max(set.reserved, 500), set.reserved];
      else if (name === "window") [slider.max, slider.value] = [Math.ceil(1.2 * whole) + 2 * Math.max(set.reserved, 500), start + set.reserved];
      else [slider.max, slider.value] = [all[name] + 1, set[name] === null ? all[name] + 1 : Math.min(set[name], all[name] + 1)];
    }
    demo.querySelector('[name="documents"]').disabled = set.as_recorded || !all.documents;
    show();
  }

  /** What goes in first: the orders that the program knows. Calls that do not go first go with their turns. */
  function ordered(documentsFirst, callsFirst) {
    const history = callsFirst ? ["talk", "calls"] : ["calls", "talk"];
    return ["input", "system", ...(documentsFirst ? ["documents", ...history] : [...history, "documents"])];
  }

  /** Moves a kind of block up or down. */
  function move(kind, by) {
    const set = settings();
    order = ordered(kind === "documents" ? by < 0 : set.documents_first, kind === "calls" ? by > 0 : set.calls_first);
    show();
  }

  function show() {
    const set = settings();
    const result = fit(blocks, set);
    const rows = standing(blocks, set, result);
    for (const slider of sliders) {
      const at = slider.value === slider.max && !["window", "reserved"].includes(slider.name) ? "no ceiling" : figures(Number(slider.value));
      slider.nextElementSibling.textContent = at;
    }
    part("verdict").textContent = verdict(set, result);
    part("verdict").classList.toggle("bad", result.unsendable !== null);
    draw(rows, set, result);
    list(rows);
    priorities();
  }

  function verdict(set, result) {
    if (result.unsendable === "system") return `Cannot be sent: the system messages are ${figures(result.over)} tokens over the budget.`;
    if (result.unsendable) return `Cannot be sent: the current input is ${figures(result.over)} tokens over the budget.`;
    const down = result.history.steppedDown ? ` It steps down to ${result.history.steppedDown}.` : "";
    return `${figures(result.tokens)} of ${figures(set.request)} tokens are sent, ${figures(result.free)} are free.${down}`;
  }

  /** The request as a bar: what is sent, and what is free. */
  function draw(rows, set, result) {
    const pieces = rows.filter((row) => row.sent).map((row) => [row.kind, row.sent, row.name]);
    part("bar").replaceChildren(
      ...pieces.map(([kind, tokens, name]) => {
        const piece = document.createElement("span");
        piece.className = kind;
        piece.style.flexGrow = tokens;
        piece.title = `${name}: ${figures(tokens)} tokens`;
        return piece;
      }),
    );
    const free = document.createElement("span");
    free.className = "free";
    free.style.flexGrow = result.unsendable ? 1 : result.free;
    part("bar").append(free);
  }

  function list(rows) {
    part("blocks").replaceChildren(
      ...rows.map((row) => {
        const line = document.createElement("tr");
        const is = fate(row);
        line.className = is.replace(" ", "-");
        const cells = [row.name, figures(row.of), figures(row.sent), is];
        cells.forEach((text, index) => {
          const cell = document.createElement(index ? "td" : "th");
          cell.textContent = text;
          if (!index) cell.className = "text block " + row.kind;
          line.append(cell);
        });
        return line;
      }),
    );
  }

  function priorities() {
    const names = {
      input: "Current input",
      system: "System messages and tool schemas",
      talk: "History, from the newest turn back",
      calls: "Tool calls of the history and their results",
      documents: "Retrieved documents",
    };
    const held = order.indexOf("calls") < order.indexOf("talk");
    part("priorities").replaceChildren(
      ...order.map((kind, index) => {
        const line = document.createElement("li");
        line.textContent = names[kind] + (kind === "calls" && held ? " (with their turns)" : "");
        for (const [by, sign] of [[-1, "↑"], [1, "↓"]]) {
          const button = document.createElement("button");
          button.type = "button";
          button.textContent = sign;
          button.dataset.kind = kind;
          button.dataset.by = by;
          button.setAttribute("aria-label", `${names[kind]}: ${by < 0 ? "up" : "down"}`);
          button.disabled = !canMove(kind, by);
          line.append(button);
        }
        return line;
      }),
    );
  }

  function canMove(kind, by) {
    if (kind === "documents") return by < 0 === order.indexOf("documents") > order.indexOf("talk");
    if (kind === "calls") return by > 0 === order.indexOf("calls") < order.indexOf("talk");
    return false;
  }

  for (const slider of sliders) slider.addEventListener("input", show);
  part("priorities").addEventListener("click", (event) => {
    const { kind, by } = event.target.dataset;
    if (kind) move(kind, Number(by));
  });
  const select = demo.querySelector('[name="request"]');
  offers.forEach((offer, index) => select.append(new Option(offer.title, index)));
  select.addEventListener("change", () => choose(select.value));
  demo.hidden = false;
  choose(0);
})();
