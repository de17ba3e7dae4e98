"use strict";
// The table of samples. All data are shown as text nodes, so that no text in them becomes markup.
// The docstrings of page/samples.py explain the one-letter keys of the data.
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const byId = (id) => document.getElementById(id);
  const {
    sides, choices, first, scores, causes, samples, turns, perBlock,
  } = read("index");
  const paired = sides.length > 1;
  const last = sides.length - 1;
  const PER_PAGE = 50;
  const CONTEXTS_SHOWN = 10;
  const LONG = 2000;
  const AROUND = 300;

  // ---- Data: a block is parsed when it is first needed.

  const blocks = new Map();
  const block = (id) => {
    if (!blocks.has(id)) blocks.set(id, read(id));
    return blocks.get(id);
  };
  const at = (name, number) => block(`${name}-${Math.floor(number / perBlock)}`)[number % perBlock];
  const text = (number) => (number === undefined ? "" : at("texts", number));
  const raw = (position) => at("details", position);
  const contextAt = (number) => at("contexts", number);
  // Convert an offset in characters (code points) to one in UTF-16 units, which strings count.
  const units = (string, offset) => [...string].slice(0, offset).join("").length;
  // Without steps, a target is found in full at its first rank.
  const target = (given) => {
    const steps = given.s ?? (given.n || []).slice(0, 1).map((rank) => [rank, 1]);
    const full = steps.find(([, credit]) => credit >= 1);
    return {
      ...given,
      s: steps,
      r: full && full[0],
    };
  };
  const evidence = (item, contexts) =>
    item.p === undefined ? item : { ...item, p: item.p.map((offset) => units(text(contexts[item.r - 1].t), offset)) };
  const side = (given) => {
    if (!given) return given;
    const contexts = given.c && given.c.map((number, nth) => ({ ...contextAt(number), s: given.o?.[nth] ?? undefined }));
    const targets = (result) =>
      result.t && result.t.map(target).map((one) => ({ ...one, e: one.e && one.e.map((item) => evidence(item, contexts)) }));
    return {
      ...given,
      c: contexts,
      s: given.s && given.s.map((stage) => ({ ...stage, c: stage.c.map(contextAt) })),
      f: given.f.map((result) => ({ ...result, t: targets(result) })),
    };
  };
  const detail = (position) => ({ ...raw(position), x: raw(position).x.map(side) });

  // ---- Elements.

  const INVISIBLE =
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\ufeff]|[\u{e0000}-\u{e007f}]|\p{Surrogate}/gu;
  const shown = (string) => {
    const nodes = [];
    let from = 0;
    for (const found of string.matchAll(INVISIBLE)) {
      nodes.push(string.slice(from, found.index));
      const number = found[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
      nodes.push(element("span", { class: "code" }, [`U+${number}`]));
      from = found.index + found[0].length;
    }
    nodes.push(string.slice(from));
    return nodes;
  };
  function element(name, attributes = {}, children = []) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value === false || value === undefined || value === null) continue;
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  }
  const isolated = (string, attributes = {}) => element("bdi", attributes, shown(string));
  const number = (value, digits = 3) =>
    value === null || value === undefined ? "–" : value.toFixed(digits);
  const brief = (value) => (Number.isInteger(value) ? String(value) : String(+value.toPrecision(4)));
  const counted = (count, one, many = `${one}s`) =>
    `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

  // ---- Cells of the table: [status, value for each choice, number of misses for each choice].

  const state = { sort: "order", down: false, page: 0, open: new Set(), shown: [], choice: first };
  const measureOf = (nth) => scores[nth].measures[state.choice];
  // A page with a single score has no letters.
  const letterOf = (score) => (score.letter ? [element("span", { class: "letter" }, [score.letter]), " "] : []);
  const cellOf = (sample, side, nth) => (sample.v[side] ? sample.v[side][nth] : null);
  const scoreOf = (cell) => (cell ? cell[1][state.choice] : null);
  // Return the number of missed targets; null for a sample that was not scored.
  const missedOf = (cell) => (cell && cell[0] === "scored" ? cell[2][state.choice] : null);
  // Return the status of a cell without a value: a scored sample has none if the chosen measure
  // counts none of its targets.
  const statusOf = (cell) => cell[0] === "scored" ? "undefined" : cell[0];
  const gapOf = (sample, nth) => sample.n?.[nth] ?? null;
  const change = (sample, nth) => {
    const before = scoreOf(cellOf(sample, 0, nth));
    const after = scoreOf(cellOf(sample, last, nth));
    if (before === null || after === null || gapOf(sample, nth) !== null) return null;
    // Smaller differences are rounding errors.
    return Math.abs(after - before) <= 1e-6 ? 0 : after - before;
  };
  const chosenScores = () =>
    filters.score.value === "" ? scores.map((_, nth) => nth) : [Number(filters.score.value)];
  const missesOf = (sample) =>
    chosenScores()
      .map((nth) => [nth, missedOf(cellOf(sample, last, nth))])
      .filter(([, count]) => count !== null);
  // Take the most misses of a score, not their sum: two scores may miss the same document.
  const mostMissed = (sample) => {
    const counts = missesOf(sample).map(([, count]) => count);
    return counts.length ? Math.max(...counts) : null;
  };
  // Return the place of a sample in the default order, worst first; null if it has no value.
  const order = (sample) => {
    const nths = chosenScores();
    if (paired) {
      const changes = nths.map((nth) => change(sample, nth)).filter((one) => one !== null);
      if (!changes.length) return null;
      const lowest = Math.min(...changes);
      const highest = Math.max(...changes);
      return lowest < 0 ? lowest : highest > 0 ? 1 - highest : 2;
    }
    const values = nths.map((nth) => scoreOf(cellOf(sample, last, nth))).filter((one) => one !== null);
    if (!values.length) return null;
    // If scores are equal, samples that miss more come first.
    return Math.min(...values) - (mostMissed(sample) || 0) / 1e6;
  };
  const causesOf = (sample) => {
    const only = chosenScores();
    return [...new Set((sample.c || []).filter(([, nth]) => only.includes(nth)).map(([cause]) => cause))];
  };

  const orders = () => [
    { key: "order", name: paired ? "Losses first" : "Failures first", value: order },
    ...columns,
  ];
  const columnsNow = () => [
    { key: "sample", name: "Sample", head: ["Sample"], value: (_, position) => position },
    { key: "question", name: "Question", head: ["Question"], value: (sample) => sample.q || null },
    ...scores.map((score, nth) => ({
      key: `score-${nth}`,
      name: `${score.letter && `${score.letter} `}${measureOf(nth).label}${paired ? " (change)" : ""}`,
      numeric: true,
      head: [...letterOf(score), isolated(measureOf(nth).label)],
      value: paired
        ? (sample) => change(sample, nth)
        : (sample) => scoreOf(cellOf(sample, last, nth)),
    })),
    { key: "missed", name: "Missed", numeric: true, head: ["Missed"], value: (sample) => mostMissed(sample) },
    ...(causes.length
      ? [{ key: "cause", name: "Cause", head: ["Cause"], value: (sample) => causes[causesOf(sample)[0]]?.[1] ?? null }]
      : []),
  ];
  let columns = [];

  // ---- Search: words are found in all texts of a sample, its contexts included.

  let lowered = null;
  const owned = new Map();
  const contextTexts = {
    context: (one) => [one.t],
    id: (one) => [one.i, one.d],
    metadata: (one) => [one.m],
    "": (one) => [one.t, one.i, one.d, one.m],
  };
  const numbersOf = (entry, where) => {
    const found = new Set();
    const add = (...numbers) => numbers.forEach((one) => one !== undefined && found.add(one));
    const asked = (...names) => where === "" || names.includes(where);
    if (asked("question")) add(entry.q);
    if (asked("answer")) add(entry.a);
    if (asked("metadata")) add(entry.m);
    for (const given of entry.x) {
      if (!given) continue;
      if (asked("answer")) add(given.r);
      if (where === "") add(given.e);
      if (where in contextTexts) {
        const texts = contextTexts[where];
        (given.c || []).forEach((number) => add(...texts(contextAt(number))));
        for (const stage of given.s || []) {
          if (where === "") add(stage.n);
          stage.c.forEach((number) => add(...texts(contextAt(number))));
        }
      }
      if (!asked("target")) continue;
      for (const result of given.f) {
        if (where === "") add(result.w);
        for (const one of result.t || []) {
          add(one.t, one.v, one.d);
          for (const item of one.e || []) add(item.q);
        }
        for (const pair of result.u || []) add(...pair);
      }
    }
    return Uint32Array.from(found);
  };
  const searched = (query, where) => {
    const words = query.toLowerCase().match(/"[^"]+"|\S+/g);
    if (!words) return null;
    if (lowered === null) {
      lowered = [];
      for (let nth = 0; byId(`texts-${nth}`); nth += 1) {
        lowered.push(...block(`texts-${nth}`).map((one) => one.toLowerCase()));
      }
    }
    if (!owned.has(where)) owned.set(where, samples.map((_, position) => numbersOf(raw(position), where)));
    const wanted = words.map((word) => word.replace(/^"(.+)"$/, "$1"));
    const holding = wanted.map((word) => lowered.map((one) => one.includes(word)));
    return samples.map((sample, position) => {
      const label = where === "" || where === "id" ? `${sample.l}\n${sample.g || ""}`.toLowerCase() : "";
      return wanted.every(
        (word, nth) => label.includes(word) || owned.get(where)[position].some((one) => holding[nth][one]),
      );
    });
  };

  // ---- Filters.

  const controls = byId("controls");
  const filters = {
    search: byId("search"),
    within: byId("search-in"),
    score: byId("by-score"),
    outcome: byId("by-outcome"),
    cause: byId("by-cause"),
  };
  const OUTCOMES = {
    missed: (cells) => cells.some((cell) => missedOf(cell) > 0),
    found: (cells) =>
      cells.some((cell) => missedOf(cell) !== null) && cells.every((cell) => !missedOf(cell)),
    undefined: (cells) => cells.some((cell) => cell && scoreOf(cell) === null && cell[0] !== "unscored"),
    unscored: (cells) => cells.some((cell) => cell && cell[0] === "unscored"),
  };
  const CHANGES = {
    changed: (changes) => changes.some((one) => one !== null && one !== 0),
    better: (changes) => changes.some((one) => one > 0),
    worse: (changes) => changes.some((one) => one < 0),
    same: (changes) => changes.every((one) => one === 0),
    unpaired: (changes) => changes.some((one) => one === null),
  };
  // Return whether any score misses a target in the report of a side; null if none has a value.
  const failsOn = (sample, side, nths) => {
    const cells = nths.map((nth) => cellOf(sample, side, nth)).filter((cell) => scoreOf(cell) !== null);
    return cells.length ? cells.some((cell) => missedOf(cell) > 0) : null;
  };
  const TURNS = { newly: [false, true], mended: [true, false], still: [true, true] };
  const turnedBy = (sample, nths, [before, after]) =>
    failsOn(sample, 0, nths) === before && failsOn(sample, last, nths) === after;
  const selected = () => {
    const nths = chosenScores();
    const outcome = filters.outcome.value;
    const cause = filters.cause ? filters.cause.value : "";
    const hits = searched(filters.search.value, filters.within.value);
    const keeps = (sample) => {
      if (outcome in TURNS) return turnedBy(sample, nths, TURNS[outcome]);
      if (outcome in CHANGES) return CHANGES[outcome](nths.map((nth) => change(sample, nth)));
      if (!(outcome in OUTCOMES)) return true;
      const over = outcome === "missed" || outcome === "found" ? [last] : sides.keys();
      return [...over].some((side) => OUTCOMES[outcome](nths.map((nth) => cellOf(sample, side, nth))));
    };
    const found = [];
    samples.forEach((sample, position) => {
      if (hits && !hits[position]) return;
      if (cause !== "" && !causesOf(sample).includes(Number(cause))) return;
      if (keeps(sample)) found.push(position);
    });
    return found;
  };
  const sorted = (positions) => {
    const column = orders().find((one) => one.key === state.sort) || orders()[0];
    const values = new Map(positions.map((one) => [one, column.value(samples[one], one)]));
    const sign = state.down ? -1 : 1;
    return positions.sort((first, second) => {
      const [a, b] = [values.get(first), values.get(second)];
      // Samples without a value come last, in both directions of sorting.
      if (a === null || b === null) return (a === null) - (b === null) || first - second;
      if (a === b) return first - second;
      return typeof a === "string" ? sign * a.localeCompare(b, "en") : sign * (a - b);
    });
  };

  // ---- The table.

  const head = byId("head");
  const body = byId("body");
  const status = byId("status");
  const pager = byId("pager");

  let headings = [];
  const showColumns = () => {
    columns = columnsNow();
    headings = columns.map((column) => {
      const button = element("button", { type: "button", onclick: () => sortBy(column.key) }, [
        element("span", {}, column.head),
      ]);
      return element("th", { scope: "col", role: "columnheader", class: column.numeric && "numeric" }, [
        button,
      ]);
    });
    head.replaceChildren(...headings);
    byId("sort").replaceChildren(
      ...orders().map((column) => element("option", { value: column.key }, [column.name.replace(INVISIBLE, "\ufffd")])),
    );
    byId("sort").value = state.sort;
  };
  const sortBy = (key) => {
    const again = state.sort === key;
    // The worst samples come first: sort misses down and all other columns up.
    state.down = again ? !state.down : key === "missed";
    state.sort = key;
    byId("sort").value = key;
    update({ keepPage: false });
  };
  const showSort = () =>
    headings.forEach((heading, nth) => {
      const active = columns[nth].key === state.sort;
      heading.setAttribute("aria-sort", active ? (state.down ? "descending" : "ascending") : "none");
    });

  const bar = (value) => {
    const inner = element("span", { class: "fill" });
    inner.style.setProperty("width", `${Math.round(value * 100)}%`);
    return element("span", { class: "bar", "aria-hidden": "true" }, [inner]);
  };
  const scoreCell = (cell) => {
    if (!cell) return [element("span", { class: "none" }, ["–"])];
    const value = scoreOf(cell);
    if (value === null) return [element("span", { class: `status ${statusOf(cell)}` }, [statusOf(cell)])];
    return [bar(value), element("span", { class: "value" }, [number(value)])];
  };
  const changeCell = (sample, nth) => {
    const moved = change(sample, nth);
    const plain = (cell) => (cell ? (scoreOf(cell) === null ? statusOf(cell) : number(scoreOf(cell))) : "absent");
    const kind = moved === null ? "none" : moved > 0 ? "better" : moved < 0 ? "worse" : "same";
    return [
      element("span", { class: "pair" }, [sides.map((_, which) => plain(cellOf(sample, which, nth))).join(" → ")]),
      element("span", { class: `change ${kind}` }, [
        moved === null ? `not compared${gapOf(sample, nth) === "no common targets" ? ": no common targets" : ""}` : moved === 0 ? "no change" : signed(moved),
      ]),
    ];
  };
  const signed = (value) => `${value > 0 ? "+" : "−"}${Math.abs(value).toFixed(3)}`;

  const row = (position) => {
    const sample = samples[position];
    const open = state.open.has(position);
    const button = element(
      "button",
      {
        type: "button",
        class: "open",
        "aria-expanded": String(open),
        "aria-controls": `sample-${position}`,
        "data-position": position,
      },
      [isolated(sample.l)],
    );
    const cells = columns.map((column) => {
      const attributes = { role: "cell", class: `${column.key.split("-")[0]}${column.numeric ? " numeric" : ""}` };
      if (column.key === "sample") {
        return element("th", { ...attributes, role: "rowheader", scope: "row" }, [button]);
      }
      if (column.key === "question") {
        const group = sample.g ? [" ", element("span", { class: "group" }, ["group ", isolated(sample.g)])] : [];
        return element("td", attributes, [isolated(sample.q || "–"), ...group]);
      }
      if (column.key === "missed") {
        const misses = missesOf(sample);
        return element("td", attributes, [
          element("span", { class: "label" }, ["Missed"]),
          ...(misses.length ? [] : ["–"]),
          ...misses.flatMap(([nth, count]) => [
            element("span", { class: "by-score" }, [
              chosenScores().length > 1 ? element("span", { class: "letter" }, [scores[nth].letter]) : null,
              element("span", { class: count ? "value lacks" : "value" }, [String(count)]),
            ]),
            " ",
          ]),
        ]);
      }
      if (column.key === "cause") {
        return element("td", attributes, causesOf(sample).map((one) =>
          element("button", { type: "button", class: "chip cause", "data-cause": one, title: "Show this cause alone" }, [
            isolated(causes[one][1]),
          ])));
      }
      const nth = Number(column.key.split("-")[1]);
      return element("td", attributes, [
        element("span", { class: "label" }, [isolated(measureOf(nth).label)]),
        ...(paired ? changeCell(sample, nth) : scoreCell(cellOf(sample, last, nth))),
      ]);
    });
    const made = element("tr", { role: "row", class: "sample-row" }, cells);
    return open ? [made, opened(position)] : [made];
  };
  const opened = (position) =>
    element("tr", { role: "row", class: "detail", id: `sample-${position}` }, [
      element("td", { role: "cell", colspan: columns.length }, [details(position)]),
    ]);
  const toggle = (button, wanted) => {
    const position = Number(button.dataset.position);
    const open = wanted ?? !state.open.has(position);
    if (open === state.open.has(position)) return;
    button.setAttribute("aria-expanded", String(open));
    if (open) {
      state.open.add(position);
      button.closest("tr").after(opened(position));
    } else {
      state.open.delete(position);
      byId(`sample-${position}`).remove();
    }
    remember();
  };

  const pages = () => Math.max(1, Math.ceil(state.shown.length / PER_PAGE));
  const render = () => {
    const start = state.page * PER_PAGE;
    body.replaceChildren(...state.shown.slice(start, start + PER_PAGE).flatMap(row));
    pager.hidden = pages() === 1;
    byId("page-of").textContent = `Page ${state.page + 1} of ${pages()}`;
    byId("first").disabled = byId("previous").disabled = state.page === 0;
    byId("next").disabled = byId("last").disabled = state.page === pages() - 1;
  };
  const update = ({ keepPage }) => {
    state.shown = sorted(selected());
    state.page = keepPage ? Math.min(state.page, pages() - 1) : 0;
    const all = counted(samples.length, "sample");
    status.textContent =
      state.shown.length === samples.length
        ? all
        : `${state.shown.length.toLocaleString("en")} of ${all}`;
    byId("none").hidden = state.shown.length > 0;
    showSort();
    render();
    remember();
  };

  // ---- The address: the state of the page is kept in it, so that a link to it can be sent.

  const kept = {
    q: [() => filters.search.value, (value) => (filters.search.value = value)],
    in: [() => filters.within.value, (value) => pick(filters.within, value)],
    score: [() => filters.score.value, (value) => pick(filters.score, value)],
    outcome: [() => filters.outcome.value, (value) => pick(filters.outcome, value)],
    cause: [() => filters.cause?.value ?? "", (value) => pick(filters.cause, value)],
    measure: [() => (state.choice === first ? "" : String(state.choice)), (value) => (state.choice = whole(value, choices.length) ?? first)],
    sort: [() => (state.sort === "order" ? "" : state.sort), (value) => (state.sort = orders().some((one) => one.key === value) ? value : "order")],
    down: [() => (state.down ? "1" : ""), (value) => (state.down = value === "1")],
    page: [() => (state.page ? String(state.page + 1) : ""), (value) => (state.page = (whole(value, 1e9) ?? 1) - 1)],
    open: [
      () => [...state.open].join("."),
      (value) => (state.open = new Set(value.split(".").map((one) => whole(one, samples.length)).filter((one) => one !== null))),
    ],
  };
  const whole = (value, end) => (/^\d+$/.test(value) && Number(value) < end ? Number(value) : null);
  const pick = (select, value) => {
    if (select) select.value = [...select.options].some((one) => one.value === value) ? value : "";
  };
  const remember = () => {
    const parameters = new URLSearchParams();
    for (const [name, [get]] of Object.entries(kept)) if (get()) parameters.set(name, get());
    const address = String(parameters);
    if (address === location.hash.slice(1) || (!address && !location.hash.includes("="))) return;
    // Ignore the error of a frame in which scripts may not change the history.
    try {
      history.replaceState(null, "", address ? `#${address}` : location.pathname + location.search);
    } catch {}
  };
  const follow = () => {
    if (!location.hash.includes("=")) return false;
    const parameters = new URLSearchParams(location.hash.slice(1));
    for (const [name, [, set]] of Object.entries(kept)) {
      if (name !== "measure" || parameters.has(name)) set(parameters.get(name) ?? "");
    }
    // Turn to the page of the table that has the opened sample.
    const [opened] = state.open;
    choose(state.choice);
    if (opened !== undefined && !parameters.has("page")) {
      const place = state.shown.indexOf(opened);
      if (place >= 0) state.page = Math.floor(place / PER_PAGE);
      render();
      remember();
    }
    return true;
  };
  const reach = () => {
    const [opened] = state.open;
    const goal = opened === undefined ? null : body.querySelector(`[data-position="${opened}"]`);
    (goal || byId("samples")).scrollIntoView();
    (goal || byId("samples")).focus({ preventScroll: true });
  };
  addEventListener("hashchange", () => follow() && reach());

  // ---- Labels: the reader's own verdicts on claims, saved as a file for `calibrate`.

  const LABELS = ["supported", "partial", "not_supported"];
  const labels = new Map();
  let saved = true;
  const labelsOf = (name, claim, score, judged) =>
    judged
      ? element("p", { class: "line labels", role: "group", "aria-label": "Your label" }, [
          "Your label: ",
          ...LABELS.map((label) => {
            const key = JSON.stringify([name, claim, score]);
            return element("button", { type: "button", "data-label": label, "data-key": key, "aria-pressed": String(labels.get(key) === label) }, [
              label.replace("_", " "),
            ]);
          }),
        ])
      : null;
  const mark = (button) => {
    const { key, label } = button.dataset;
    if (labels.get(key) === label) labels.delete(key);
    else labels.set(key, label);
    saved = labels.size === 0;
    for (const other of body.querySelectorAll("[data-label]")) {
      other.setAttribute("aria-pressed", String(labels.get(other.dataset.key) === other.dataset.label));
    }
    byId("labeled").hidden = labels.size === 0;
    byId("label-count").textContent = counted(labels.size, "label");
  };
  byId("save-labels").addEventListener("click", () => {
    const lines = [...labels].map(([key, label]) => {
      const [sample, claim, score] = JSON.parse(key);
      return `${JSON.stringify({ sample, claim, score, label })}\n`;
    });
    const link = element("a", { download: "labels.jsonl" });
    link.href = URL.createObjectURL(new Blob(lines, { type: "application/jsonl" }));
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    saved = true;
  });
  addEventListener("beforeunload", (event) => saved || event.preventDefault());
  const turnTo = (page) => {
    state.page = Math.min(Math.max(page, 0), pages() - 1);
    render();
    remember();
    byId("samples").scrollIntoView();
  };

  // ---- One sample.

  const chip = (kind, children, attributes = {}) => element("span", { class: `chip ${kind}`, ...attributes }, children);
  const heading = (level, ...children) => element(`h${level}`, {}, children);
  const paragraph = (string, kind = "text") => element("p", { class: kind, dir: "auto" }, shown(string));

  const details = (position) => {
    const sample = samples[position];
    const entry = detail(position);
    const facts = [
      ["Question", entry.q],
      ["Reference answer", entry.a],
      ...(paired ? [] : [["Response", entry.x[0].r]]),
    ].filter(([, fact]) => fact !== undefined);
    return element("div", { class: "opened" }, [
      paired ? null : element("h3", { class: "hidden" }, [isolated(sample.l)]),
      element("dl", { class: "facts" }, facts.flatMap(([name, fact]) => [
        element("dt", {}, [name]),
        element("dd", {}, [paragraph(text(fact))]),
      ])),
      entry.m === undefined ? null : metadata(entry.m),
      element("div", { class: paired ? "sides paired" : "sides" }, entry.x.map((side, nth) =>
        side
          ? sideOf(side, sample, `${position}-${nth}`, nth)
          : element("section", { class: "side" }, [
              heading(3, isolated(sides[nth])),
              element("p", { class: "quiet" }, ["This sample is not in this report."]),
            ]),
      )),
    ]);
  };
  const metadata = (number) =>
    element("details", { class: "metadata" }, [
      element("summary", {}, ["Metadata"]),
      element("pre", { dir: "auto", tabindex: "0", role: "group", "aria-label": "Metadata" }, shown(text(number))),
    ]);

  const sideOf = (side, sample, key, nth) =>
    element("section", { class: "side" }, [
      paired ? heading(3, isolated(sides[nth])) : null,
      paired && side.r !== undefined
        ? element("dl", { class: "facts" }, [
            element("dt", {}, ["Response"]),
            element("dd", {}, [paragraph(text(side.r))]),
          ])
        : null,
      element("div", { class: "results" }, side.f.map((result, which) => resultOf(result, sample, side, nth, which, key))),
      element("div", { class: "retrieved" }, [
        contextsOf(side, key),
        ...(side.s ? [stagesOf(side)] : []),
      ]),
    ]);

  const resultOf = (result, sample, side, nth, which, key) => {
    const score = scores[which];
    const cell = cellOf(sample, nth, which);
    const scored = cell[0] === "scored";
    const status = scoreOf(cell) === null ? statusOf(cell) : "scored";
    const value = scoreOf(cell) === null ? status : number(scoreOf(cell));
    const gap = gapOf(sample, which);
    const targets = (result.t || []).map((target, at) =>
      targetOf(target, `${score.letter}${at + 1}`, key, side, which, scored, sample.l));
    const unmeasured = (result.u || []).map(([target, why]) =>
      element("li", { class: "target unmeasured" }, [
        element("p", { class: "line" }, [chip("unscored", ["not judged"])]),
        paragraph(text(target)),
        element("p", { class: "why", dir: "auto" }, shown(text(why))),
      ]),
    );
    const others = choices.flatMap((_, choice) => {
      const one = cell[1][choice];
      if (choice === state.choice || one === null) return [];
      return [element("span", {}, [isolated(score.measures[choice].label), " ", element("b", {}, [number(one)])])];
    });
    const judged = result.z
      ? `${counted(result.z[0], "judge call")}, ${counted(result.z[1] + result.z[2], "token")}`
      : null;
    const compared = (result.t || []).filter((target) => !target.y).length;
    const apart = paired && gap === null && compared < (result.t || []).length
      ? `Compared over ${counted(compared, "target")} that both reports have, of ${result.t.length}.`
      : paired && gap !== null ? `Not compared: ${gap}.` : null;
    return element("section", { class: "result" }, [
      heading(4,
        ...letterOf(score),
        isolated(score.measures[state.choice].label),
        element("span", { class: `value ${status}` }, [value]),
      ),
      apart ? element("p", { class: "reason" }, [apart]) : null,
      result.w === undefined ? null : element("p", { class: `reason ${cell[0]}`, dir: "auto" }, shown(text(result.w))),
      others.length ? element("p", { class: "per-k" }, others) : null,
      targets.length || unmeasured.length ? element("ul", { class: "targets" }, [...targets, ...unmeasured]) : null,
      judged ? element("p", { class: "quiet" }, [judged]) : null,
    ]);
  };

  const creditAt = (target, k) =>
    (target.s || []).reduce((credit, [rank, reached]) => (k === null || rank <= k ? reached : credit), 0);
  const targetOf = (target, tag, key, side, which, scored, name) => {
    const { k, least } = measureOf(which);
    const credit = creditAt(target, k);
    const partly = credit > 0 && credit < 1;
    const apart = Boolean(target.y) || (target.g ?? 1) < (least ?? 0);
    const found = Boolean(target.r) && (k === null || target.r <= k);
    const missed = scored && !apart && !found;
    const [kind, verdict] =
      !scored || apart
        ? ["apart", target.y ? "not compared" : "not counted"]
        : found
          ? ["found", "found"]
          : [partly ? "partly" : "lacks", partly ? "found in part" : "missed"];
    const facts = [];
    if (target.r) facts.push(found ? `at rank ${target.r}` : `at rank ${target.r}, beyond k = ${k}`);
    if (partly) facts.push(`credit ${number(credit)}`);
    if (target.v !== undefined) facts.push(["judged ", isolated(text(target.v))]);
    if (target.a !== undefined) facts.push(`${Math.round(target.a * 100)}% of the panel agree`);
    if (target.g !== undefined) facts.push(`grade ${brief(target.g)}`);
    if (target.w !== undefined) facts.push(counted(target.w, "character"));
    const ranks = [...new Set([...(target.n || []), ...(target.e || []).filter((item) => item.v !== false).map((item) => item.r)])].sort((a, b) => a - b);
    const quotes = (target.e || []).filter((item) => item.v === false && item.q !== undefined);
    return element("li", { class: `target ${kind}` }, [
      element("p", { class: "line" }, [
        element("span", { class: "tag" }, [tag]),
        chip(kind, [verdict]),
        ...facts.flatMap((fact) => [" ", element("span", { class: "fact" }, [fact].flat())]),
      ]),
      element("p", { class: "text", dir: "auto" }, shown(text(target.t))),
      ranks.length
        ? element("p", { class: "line where" }, [
            "Retrieved at ",
            ...ranks.slice(0, 12).flatMap((rank, nth) => [nth ? ", " : "", jump(rank, key, side)]),
            ranks.length > 12 ? ` and ${ranks.length - 12} more` : "",
            similarities(target.e),
          ])
        : null,
      ...quotes.map((item) =>
        element("div", { class: "unverified" }, [
          element("p", { class: "line" }, [chip("unscored", ["unverified quote"]), " not in the context at ", jump(item.r, key, side)]),
          element("blockquote", { dir: "auto" }, shown(text(item.q))),
        ]),
      ),
      labelsOf(name, text(target.t), scores[which].name, target.v !== undefined && !paired),
      target.u === undefined || !missed
        ? null
        : element("p", { class: "line why" }, [
            chip("cause", [isolated(causes[target.u][1])]),
            target.d === undefined ? null : element("span", { dir: "auto" }, [" ", isolated(text(target.d))]),
            target.x === undefined ? null : ` (rank ${target.x})`,
          ]),
    ]);
  };
  const similarities = (evidence = []) => {
    const known = evidence.filter((item) => item.s !== undefined && item.q === undefined);
    return known.length ? ` (similarity ${known.slice(0, 4).map((item) => number(item.s, 2)).join(", ")})` : "";
  };
  // Return the rank of the context at a place: the place, or the rank in its own call if the
  // contexts of several calls were merged.
  const rankOf = (side, place) => (side.k ? side.k[place - 1] : place);
  const jump = (place, key, side) =>
    element("button", { type: "button", class: "jump", "data-context": `context-${key}-${place}` }, [`rank ${rankOf(side, place)}`]);

  const contextsOf = (side, key) => {
    if (!side.c) {
      const why = side.e === undefined ? "No retrieval was observed." : "The retriever failed: ";
      return element("div", {}, [
        heading(4, "Retrieved contexts"),
        element("p", { class: "reason unscored", dir: "auto" }, [why, ...(side.e === undefined ? [] : [isolated(text(side.e))])]),
      ]);
    }
    const tags = side.c.map(() => []);
    const marks = side.c.map(() => []);
    side.f.forEach((result, nth) =>
      (result.t || []).forEach((target, which) => {
        const tag = `${scores[nth].letter}${which + 1}`;
        const ranks = new Set([...(target.n || []), ...(target.e || []).filter((item) => item.v !== false).map((item) => item.r)]);
        ranks.forEach((rank) => tags[rank - 1]?.push(tag));
        for (const item of target.e || []) {
          if (item.p) marks[item.r - 1]?.push({ from: item.p[0], to: item.p[1], tag });
        }
      }),
    );
    const cuts = new Map();
    scores.forEach((score, nth) => {
      const { k } = measureOf(nth);
      const within = side.c.filter((_, place) => k === null || rankOf(side, place + 1) <= k).length;
      if (within < side.c.length) cuts.set(within, [...(cuts.get(within) || []), [score.letter, k]]);
    });
    const few = Math.max(CONTEXTS_SHOWN, ...[...cuts.keys()].map((k) => Math.min(k, 20)));
    const items = side.c.map((context, nth) => contextOf(context, nth + 1, side, key, tags[nth], marks[nth], cuts.get(nth)));
    const hidden = items.filter((_, nth) => nth >= few && !tags[nth].length);
    hidden.forEach((item) => (item.hidden = true));
    const more = element("button", {
      type: "button",
      class: "more",
      onclick: () => {
        hidden.forEach((item) => (item.hidden = false));
        hidden[0].focus();
        more.remove();
      },
    }, [`Show ${counted(hidden.length, "more context")} that ${hidden.length === 1 ? "supports" : "support"} nothing`]);
    return element("div", {}, [
      heading(4, "Retrieved contexts ", element("span", { class: "count" }, [side.c.length.toLocaleString("en")])),
      side.c.length ? element("ol", { class: "contexts" }, items) : element("p", { class: "quiet" }, ["Nothing was retrieved."]),
      hidden.length ? more : null,
    ]);
  };
  const READ = { yes: "in the prompt", partly: "in the prompt in part", no: "not in the prompt" };
  const contextOf = (context, place, side, key, tags, marks, cut) => {
    const rank = rankOf(side, place);
    const read = side.b ? READ[side.b[place - 1]] : undefined;
    const from = context.d === undefined ? null : [isolated(text(context.d)), context.p === undefined ? "" : `[${context.p}:${context.e}]`];
    const string = context.t === undefined ? null : text(context.t);
    return element("li", { class: tags.length ? "context supports" : "context", id: `context-${key}-${place}`, tabindex: "-1" }, [
      cut ? element("p", { class: "cut" }, [`Beyond k = ${[...new Set(cut.map(([, k]) => k))].join(", ")}: not counted${cut[0][0] && ` in ${cut.map(([letter]) => letter).join(", ")}`}`]) : null,
      element("p", { class: "line" }, [
        element("span", { class: "rank" }, [element("span", { class: "hidden" }, ["Rank "]), String(rank)]),
        context.i === undefined ? null : isolated(text(context.i), { class: "id" }),
        from && context.d !== context.i ? element("span", { class: "id from" }, from) : null,
        context.s === undefined ? null : element("span", { class: "fact" }, [`score ${brief(context.s)}`]),
        read ? element("span", { class: "fact" }, [read]) : null,
        ...tags.map((tag) => chip("tag", [tag], { title: `supports ${tag}` })),
      ]),
      string ? element("p", { class: "text", dir: "auto" }, excerpt(string, marks)) : null,
      string === null && context.i === undefined ? element("p", { class: "quiet" }, ["no ID and no text"]) : null,
      context.m === undefined ? null : metadata(context.m),
    ]);
  };

  // Return a text in pieces; each marked piece has the tags of all targets that it is evidence for.
  const marked = (string, marks, from = 0, to = string.length) => {
    const inside = marks.filter((mark) => mark.from < to && mark.to > from);
    const borders = [...new Set([from, to, ...inside.flatMap((mark) => [Math.max(mark.from, from), Math.min(mark.to, to)])])];
    borders.sort((a, b) => a - b);
    const nodes = [];
    for (let nth = 0; nth + 1 < borders.length; nth += 1) {
      const [start, end] = [borders[nth], borders[nth + 1]];
      const over = [...new Set(inside.filter((mark) => mark.from <= start && mark.to >= end).map((mark) => mark.tag))];
      const piece = shown(string.slice(start, end));
      if (over.length) {
        const ends = over.filter((tag) => inside.some((mark) => mark.tag === tag && mark.to === end));
        nodes.push(element("mark", { class: "evidence", title: over.join(", ") }, piece));
        if (ends.length) nodes.push(element("sup", { class: "tag" }, [ends.join(" ")]));
      } else nodes.push(...piece);
    }
    return nodes;
  };
  const excerpt = (string, marks) => {
    const all = () => marked(string, marks);
    if (string.length <= LONG) return all();
    const kept = [[0, AROUND * 2], ...marks.map((mark) => [Math.max(0, mark.from - AROUND), Math.min(string.length, mark.to + AROUND)])];
    kept.sort((a, b) => a[0] - b[0]);
    const parts = [];
    for (const [from, to] of kept) {
      const previous = parts[parts.length - 1];
      if (previous && from <= previous[1] + AROUND) previous[1] = Math.max(previous[1], to);
      else parts.push([from, to]);
    }
    const nodes = parts.flatMap(([from, to]) => [
      ...marked(string, marks, from, to),
      to < string.length ? element("span", { class: "gap" }, [" … "]) : null,
    ]).filter((node) => node !== null);
    const whole = element("button", {
      type: "button",
      class: "more",
      onclick: (event) => {
        const holder = event.target.closest("p");
        holder.replaceChildren(...all());
        holder.closest("li").focus();
      },
    }, [`Show all ${string.length.toLocaleString("en")} characters`]);
    return [...nodes, whole];
  };

  const stagesOf = (side) => {
    const name = (context) => (context.i === undefined ? `t${context.t}` : `i${context.i}`);
    const ranks = new Map();
    (side.c || []).forEach((context, nth) => ranks.has(name(context)) || ranks.set(name(context), nth + 1));
    const rows = (stage) =>
      stage.c.slice(0, 100).map((context, nth) => {
        const rank = ranks.get(name(context));
        return element("li", { class: rank ? "kept" : "dropped" }, [
          element("span", { class: "rank" }, [String(nth + 1)]),
          isolated(context.i === undefined ? text(context.t).slice(0, 120) : text(context.i), { class: "id" }),
          element("span", { class: "fact" }, [rank ? `→ rank ${rank}` : "not in the final list"]),
        ]);
      });
    return element("div", { class: "stages" }, [
      heading(4, "Stages of the retrieval"),
      ...side.s.map((stage) =>
        element("details", {}, [
          element("summary", {}, [
            isolated(text(stage.n)),
            ` handed on ${counted(stage.c.length, "context")} to `,
            stage.i === undefined ? "the final list" : isolated(text(stage.i)),
          ]),
          element("ol", {}, rows(stage)),
          stage.c.length > 100 ? element("p", { class: "quiet" }, [`and ${stage.c.length - 100} more`]) : null,
        ]),
      ),
    ]);
  };

  // ---- Events: clicks, keys, and changes of the controls.

  body.addEventListener("click", (event) => {
    const target = event.target;
    const going = target.closest(".jump");
    if (going) {
      const context = byId(going.dataset.context);
      if (context) {
        context.hidden = false;
        context.scrollIntoView({ block: "nearest" });
        context.focus();
      }
      return;
    }
    const cause = target.closest("[data-cause]");
    if (cause) {
      filters.cause.value = cause.dataset.cause;
      update({ keepPage: false });
      return;
    }
    const marked = target.closest("[data-label]");
    if (marked) {
      mark(marked);
      return;
    }
    const line = target.closest(".sample-row");
    // If text is selected, the reader is copying a question: do not open the sample.
    if (line && (target.closest(".open") || !String(getSelection()))) toggle(line.querySelector(".open"));
  });
  body.addEventListener("keydown", (event) => {
    const within = event.target.closest(".detail");
    if (within && event.key === "Escape") {
      const button = within.previousElementSibling.querySelector(".open");
      toggle(button, false);
      button.focus();
      return;
    }
    if (!event.target.matches(".open") || event.altKey || event.ctrlKey || event.metaKey) return;
    const buttons = [...body.querySelectorAll(".open")];
    const at = buttons.indexOf(event.target);
    const goals = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 };
    if (event.key in goals) buttons[goals[event.key]]?.focus();
    else if (event.key === "ArrowRight") toggle(event.target, true);
    else if (event.key === "ArrowLeft" || event.key === "Escape") toggle(event.target, false);
    else return;
    event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest && event.target.closest("input, select, textarea");
    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    filters.search.focus();
  });
  let waiting = 0;
  filters.search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => update({ keepPage: false }), 150);
  });
  // Show a choice of measures on the whole page: in the means, the charts, and all samples.
  const choosers = [...document.querySelectorAll(".by-measure")];
  const choose = (choice) => {
    state.choice = choice;
    for (const select of choosers) select.value = String(choice);
    for (const part of document.querySelectorAll("[data-choice]")) {
      part.hidden = Number(part.dataset.choice) !== choice;
    }
    for (const part of document.querySelectorAll("[data-choices]")) {
      part.hidden = !part.dataset.choices.split(" ").includes(String(choice));
    }
    const ks = new Set(scores.map((score) => String(score.measures[choice].k)));
    for (const line of document.querySelectorAll("[data-k]")) {
      line.classList.toggle("now", ks.has(line.dataset.k));
    }
    showColumns();
    showFailing();
    showTurned();
    update({ keepPage: true });
  };
  // Show the failing samples by the chosen measure; the page's HTML has those of the first choice.
  const failing = byId("failing-samples");
  const worstFirst = (places, side) => {
    const key = (at) => {
      const cells = samples[at].v[side];
      return [
        Math.min(...cells.map(scoreOf).filter((one) => one !== null)),
        -Math.max(...cells.map((cell) => missedOf(cell) || 0)),
      ];
    };
    const ranked = places.map((at) => [...key(at), at]).sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
    return ranked.slice(0, 5).map(([, , at]) => {
      const question = samples[at].q || "";
      return element("li", {}, [
        element("a", { href: `#open=${at}` }, [isolated(samples[at].l)]),
        " ",
        element("span", {}, [isolated(question.length > 110 ? `${question.slice(0, 107)}…` : question)]),
      ]);
    });
  };
  const newly = byId("newly-samples");
  const showTurned = () => {
    if (!newly) return;
    const nths = [...scores.keys()];
    const places = (turn) => [...samples.keys()].filter((at) => turnedBy(samples[at], nths, TURNS[turn]));
    const counts = turns[state.choice];
    byId("turned-compared").textContent = counts.compared.toLocaleString("en");
    for (const turn of Object.keys(TURNS)) {
      byId(`${turn}-samples`).textContent = counts[turn].toLocaleString("en");
      byId(`show-${turn}`).hidden = !counts[turn];
    }
    byId("newly-worst").replaceChildren(...worstFirst(places("newly"), last));
    byId("mended-worst").replaceChildren(...worstFirst(places("mended"), 0));
  };
  const showFailing = () => {
    if (!failing) return;
    const nths = [...scores.keys()];
    failing.textContent = turns[state.choice].missing.toLocaleString("en");
    byId("failing-scored").textContent = turns[state.choice].scored.toLocaleString("en");
    const places = [...samples.keys()].filter((at) => failsOn(samples[at], last, nths));
    byId("failing-worst").replaceChildren(...worstFirst(places, last));
  };
  for (const select of choosers) {
    select.closest("label").hidden = false;
    select.addEventListener("change", () => choose(Number(select.value)));
  }
  for (const select of [filters.within, filters.score, filters.outcome, filters.cause]) {
    select?.addEventListener("change", () => update({ keepPage: false }));
  }
  byId("sort").addEventListener("change", (event) => sortBy(event.target.value));
  controls.addEventListener("submit", (event) => event.preventDefault());
  controls.addEventListener("reset", () => setTimeout(() => {
    Object.assign(state, { sort: "order", down: false, page: 0 });
    choose(first);
  }));
  byId("first").addEventListener("click", () => turnTo(0));
  byId("previous").addEventListener("click", () => turnTo(state.page - 1));
  byId("next").addEventListener("click", () => turnTo(state.page + 1));
  byId("last").addEventListener("click", () => turnTo(pages() - 1));

  const theme = byId("theme");
  const dark = () =>
    (document.documentElement.dataset.theme ||
      (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const nameTheme = () => (theme.textContent = dark() ? "Light" : "Dark");
  theme.addEventListener("click", () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    nameTheme();
  });
  nameTheme();
  byId("interactive").hidden = false;
  theme.hidden = false;
  columns = columnsNow();
  // After loading, the browser scrolls to an element named like the address, and finds none: scroll
  // to the opened sample then.
  if (follow()) addEventListener("load", () => requestAnimationFrame(reach));
  else choose(first);
})();
