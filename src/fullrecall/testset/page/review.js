"use strict";
// One question at a time. Everything that is shown goes through text nodes: nothing that the data
// holds is ever read as markup.
(() => {
  const byId = (id) => document.getElementById(id);
  const { set, planned, samples } = JSON.parse(byId("index").textContent);
  const decisions = new Map();
  const state = { at: 0, saved: true };

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
      if (value === undefined || value === null || value === false) continue;
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  }
  const isolated = (string, attributes = {}) => element("bdi", attributes, shown(string));
  const WORDS = { good: ["found", "good"], bad: ["lacks", "bad"] };
  const chip = (decision) => {
    if (!decision) return null;
    const [kind, word] = WORDS[decision.decision];
    return element("span", { class: `chip ${kind}` }, [word]);
  };

  // ---- One question.

  const current = () => samples[state.at];
  const evidence = (sample, at) =>
    sample.quotes[at].map(([source, before, quote, after]) =>
      element("blockquote", {}, [
        ...shown(before),
        element("mark", {}, shown(quote)),
        ...shown(after),
        element("p", { class: "quiet" }, [isolated(source)]),
      ]));
  const field = (label, id, text) =>
    element("label", { for: id }, [
      label,
      Object.assign(element("input", { id, autocomplete: "off" }), { value: text }),
    ]);

  function render() {
    const sample = current();
    const decision = decisions.get(sample.id);
    const parts = [
      element("p", { class: "quiet" }, [`${state.at + 1} of ${samples.length} · ${sample.kind} `, chip(decision)]),
      element("h2", { id: "question" }, [isolated(sample.question)]),
    ];
    parts.push(element("dl", {}, [
      element("dt", {}, ["Answer"]), element("dd", {}, [isolated(sample.answer)]),
      ...sample.claims.flatMap((claim, at) => [
        element("dt", {}, [`Claim ${at + 1}`]),
        element("dd", {}, [isolated(claim), ...(sample.quotes[at] ? evidence(sample, at) : [])]),
      ]),
    ]));
    if (decision && decision.decision === "bad") {
      const input = field("Reason", "reason", decision.reason || "");
      input.lastChild.addEventListener("input", (event) => {
        decision.reason = event.target.value;
        state.saved = false;
      });
      parts.push(input);
    }
    byId("draft").replaceChildren(...parts);
    status();
  }

  function status() {
    const done = samples.filter((sample) => decisions.has(sample.id)).length;
    const bad = [...decisions.values()].filter((one) => one.decision === "bad").length;
    byId("status").textContent = `${done} of ${samples.length} decided, ${bad} bad${state.saved ? "" : ", not saved"}`;
    for (const [at, button] of [...byId("all").querySelectorAll("button")].entries()) {
      const sample = samples[at];
      button.replaceChildren(...[isolated(sample.question), " ", chip(decisions.get(sample.id))].filter(Boolean));
      if (at === state.at) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    }
  }

  // ---- Decisions.

  function show(at) {
    state.at = Math.max(0, Math.min(samples.length - 1, at));
    render();
    byId("draft").focus({ preventScroll: true });
  }
  function decide(word) {
    const sample = current();
    const before = decisions.get(sample.id) || {};
    decisions.set(sample.id, word === "good" ? { decision: word } : { ...before, decision: word });
    state.saved = false;
    if (word === "good" && state.at < samples.length - 1) show(state.at + 1);
    else {
      render();
      const reason = byId("reason");
      if (reason) reason.focus();
    }
  }
  function undecided() {
    for (let step = 1; step <= samples.length; step += 1) {
      const at = (state.at + step) % samples.length;
      if (!decisions.has(samples[at].id)) return show(at);
    }
    return undefined;
  }

  // ---- Files.

  function save() {
    const plain = {
      kind: "fullrecall review",
      set,
      planned,
      decisions: samples.filter((one) => decisions.has(one.id)).map((one) => ({ id: one.id, ...decisions.get(one.id) })),
    };
    const blob = new Blob([`${JSON.stringify(plain, null, 1)}\n`], { type: "application/json" });
    const link = element("a", { href: URL.createObjectURL(blob), download: "review.json" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    state.saved = true;
    status();
  }
  async function load(event) {
    const [file] = event.target.files;
    if (!file) return;
    const text = await file.text();
    event.target.value = ""; // else the same file could not be chosen again
    try {
      const plain = JSON.parse(text);
      if (plain.kind !== "fullrecall review" || plain.set !== set) throw new Error("of another set");
      for (const { id, ...decision } of plain.decisions) {
        const known = samples.find((sample) => sample.id === id);
        if (known && Object.hasOwn(WORDS, decision.decision)) decisions.set(id, decision);
      }
      show(state.at);
    } catch (error) {
      byId("status").textContent = "That file holds no decisions about these questions";
    }
  }

  // ---- Keys and buttons.

  const ACTIONS = {
    g: () => decide("good"),
    b: () => decide("bad"),
    n: undecided,
    s: save,
    ArrowRight: () => show(state.at + 1),
    ArrowLeft: () => show(state.at - 1),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const writing = event.target.matches("input");
    if (event.key === "Escape" && writing) {
      event.preventDefault();
      byId("draft").focus();
    } else if (!writing && Object.hasOwn(ACTIONS, event.key)) {
      event.preventDefault();
      ACTIONS[event.key]();
    }
  });
  byId("good").addEventListener("click", ACTIONS.g);
  byId("bad").addEventListener("click", ACTIONS.b);
  byId("previous").addEventListener("click", ACTIONS.ArrowLeft);
  byId("next").addEventListener("click", ACTIONS.ArrowRight);
  byId("save").addEventListener("click", save);
  byId("load").addEventListener("change", load);
  window.addEventListener("beforeunload", (event) => {
    if (!state.saved) event.preventDefault();
  });

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
  theme.hidden = false;

  byId("all").append(...samples.map((_, at) => element("li", {}, [element("button", { type: "button", onclick: () => show(at) })])));
  byId("interactive").hidden = false;
  render();
})();
