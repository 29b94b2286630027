// Everything on the page that moves. The numbers of the curves are computed here, from the modes
// that the page carries, by the formulas of negcorr.spectrum. A page about deep networks has no
// modes: it shows the grid of λ that was trained, or nothing of λ at all.
"use strict";

const data = decoded(JSON.parse(document.getElementById("negcorr-data").textContent));
const curves = data.curves;
const grid = data.grid;
const state = { output: 0, gap: curves ? curves.chosen_gap[0] : null };

/** Arrays come as base64 of little-endian doubles, with their shape. */
function decoded(value) {
  if (Array.isArray(value)) return value.map(decoded);
  if (value === null || typeof value !== "object") return value;
  if (typeof value.f8 === "string") {
    const bytes = Uint8Array.from(atob(value.f8), (c) => c.charCodeAt(0));
    const numbers = new Float64Array(bytes.buffer);
    if (value.shape.length === 1) return numbers;
    const width = value.shape[1];
    return Array.from({ length: value.shape[0] }, (_, i) =>
      numbers.subarray(i * width, (i + 1) * width));
  }
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, decoded(v)]));
}

/** All quantities at one gap and output; the formulas are those of the Python package. */
function evaluate(gap, output) {
  const { rho, n_members: M, weight: n } = curves;
  const kappa2 = curves.kappa_squared[output];
  let dof = curves.intercept;
  let train = 0;
  let diversity = 0;
  for (let q = 0; q < rho.length; q += 1) {
    const stiffness = Math.max(M - rho[q], 0) / rho[q];
    const ga = gap * stiffness;
    const s = 1 / (1 + ga);
    const lost = ga / (1 + ga);
    dof += s;
    train += kappa2[q] * lost * lost;
    diversity += kappa2[q] * s * s * stiffness;
  }
  train += curves.outside[output];
  diversity = Math.max(diversity - ridge(gap, output), 0);
  const left = 1 - dof / n;
  return {
    gap,
    lam: 1 - gap,
    dof,
    train_error: train,
    member_error: train + diversity,
    diversity,
    sure: train + curves.noise_variance[output] * ((2 * dof) / n - 1),
    gcv: left > 1e-10 ? train / (left * left) : Infinity,
    kfold: tabulated(gap, output),
  };
}

/** The ridge's share, by the barycentric formula at Chebyshev nodes of log10(gap). */
function ridge(gap, output) {
  const values = curves.ridge[output] || [];
  const last = values.length - 1;
  if (last < 1) return 0;
  const decades = -Math.log10(curves.smallest_gap);
  const at = 1 + (2 * Math.log10(Math.max(gap, curves.smallest_gap))) / decades;
  let above = 0;
  let below = 0;
  for (let k = 0; k <= last; k += 1) {
    const distance = at - Math.cos((Math.PI * k) / last);
    if (distance === 0) return values[k];
    const weight = ((k % 2 ? -1 : 1) * (k === 0 || k === last ? 0.5 : 1)) / distance;
    above += weight * values[k];
    below += weight;
  }
  return above / below;
}

/** K-fold between tabulated gaps, by a line in log10(gap); null beyond them. */
function tabulated(gap, output) {
  const gaps = curves.kfold_gaps;
  const values = curves.kfold[output] || [];
  if (!gaps.length || gap > gaps[0] || gap < gaps[gaps.length - 1]) return null;
  let k = 0;
  while (k < gaps.length - 1 && gaps[k + 1] >= gap) k += 1;
  if (gaps[k] === gap || k === gaps.length - 1) return values[k];
  const share = Math.log(gap / gaps[k]) / Math.log(gaps[k + 1] / gaps[k]);
  return values[k] + share * (values[k + 1] - values[k]);
}

window.negcorr = { evaluate, state, show, data };

// ---------------------------------------------------------------- numbers and the slider

const decades = curves ? Math.max(-Math.log10(curves.smallest_gap), 0.1) : 0;
const slider = document.getElementById("knob");
const STEPS = 2000;

function number(value) {
  if (value === null || Number.isNaN(value)) return "unknown";
  if (!Number.isFinite(value)) return "∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text = size < 1e-3 || size >= 1e7 ? value.toExponential(4) : value.toPrecision(6);
  return text.replace("-", "−");
}

function gapText(gap) {
  return gap > 1e-4 ? (1 - gap).toFixed(6) : `1 − ${gap.toExponential(3).replace("-", "−")}`;
}

function fill(values) {
  const noise = (curves || grid).noise_variance[state.output];
  const found = { ...values, sure_new: values.sure + noise };
  for (const cell of document.querySelectorAll("[data-quantity]")) {
    const value = found[cell.dataset.quantity];
    cell.textContent = typeof value === "string" ? value : number(value);
  }
}

/** The row of the grid that was chosen, for the output that is shown. */
function chosenRow() {
  const names = ["dof", "dof_std_error", "train_error", "sure", "gcv"];
  const found = Object.fromEntries(names.map((n) => [n, grid[n][state.output][grid.chosen]]));
  // No more digits than the estimate has.
  if (found.dof_std_error > 0) {
    found.dof = `${short(found.dof)} ± ${short(Number(found.dof_std_error.toPrecision(2)))}`;
  }
  return found;
}

function show() {
  if (!curves) {
    if (grid) fill(chosenRow());
    const words = document.getElementById("members-now");
    if (words) words.textContent = data.members[state.output];
    return;
  }
  const found = evaluate(state.gap, state.output);
  fill(found);
  document.getElementById("lam-now").textContent = gapText(state.gap);
  slider.setAttribute("aria-valuetext", `lambda ${gapText(state.gap)}`);
  const chosen = curves.chosen_gap[state.output];
  document.getElementById("at-choice").hidden = state.gap === chosen;
  const ratio = found.member_error / found.train_error;
  const useless = found.member_error > curves.total[state.output];
  document.getElementById("members-now").textContent = Number.isFinite(ratio)
    ? `A member alone has ${number(ratio)} times the training error of the ensemble` +
      (useless ? ", more than a constant would: members are useless alone." : ".")
    : "";
  for (const chart of charts) chart.redraw(false);
}

if (slider) {
  slider.max = String(STEPS);
  slider.addEventListener("input", () => {
    state.gap = 10 ** (-(decades * Number(slider.value)) / STEPS);
    show();
  });
  document.getElementById("at-choice").addEventListener("click", toChoice);
}

function toChoice() {
  if (!curves) {
    show();
    return;
  }
  state.gap = curves.chosen_gap[state.output];
  const at = state.gap > 0 ? -Math.log10(state.gap) / decades : 1;
  slider.value = String(Math.round(STEPS * at));
  show();
}

const outputs = document.getElementById("output");
if (outputs) {
  outputs.addEventListener("change", () => {
    state.output = Number(outputs.value);
    drawAll();
    toChoice();
  });
}

// ---------------------------------------------------------------- charts

let charts = [];
const COLOURS = ["--blue", "--vermilion", "--green", "--purple", "--sky"];

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function axis(label, more = {}) {
  return {
    label,
    stroke: colour("--ink"),
    grid: { stroke: colour("--grid"), width: 1 },
    ticks: { stroke: colour("--grid") },
    font: "12px system-ui, sans-serif",
    labelFont: "12px system-ui, sans-serif",
    size: 62,
    ...more,
  };
}

const SUPERSCRIPT = "⁰¹²³⁴⁵⁶⁷⁸⁹";
function raised(exponent) {
  const digits = [...String(Math.abs(exponent))].map((d) => SUPERSCRIPT[d]).join("");
  return `10${exponent < 0 ? "⁻" : ""}${digits}`;
}
function power(x) {
  if (x === 0) return "1";
  return Number.isInteger(x) ? raised(-x) : "";
}

function short(value) {
  if (value === null) return "";
  const size = Math.abs(value);
  if (value !== 0 && (size < 1e-3 || size >= 1e5)) {
    const exponent = Math.floor(Math.log10(size) + 1e-9);
    const digit = Number((value / 10 ** exponent).toPrecision(3));
    return (digit === 1 ? raised(exponent) : `${digit}·${raised(exponent)}`).replace("-", "−");
  }
  return String(Number(value.toPrecision(4))).replace("-", "−");
}

/** Powers of ten between two of them, at most eight. */
function tens([from, to]) {
  const low = Math.round(Math.log10(from));
  const high = Math.round(Math.log10(to));
  const step = Math.ceil((high - low) / 7) || 1;
  const found = [];
  for (let e = low; e <= high; e += step) found.push(10 ** e);
  return found;
}

/** A vertical line where λ stands now, and a dashed one where it was chosen. */
function marks(chart) {
  const where = (gap) => -Math.log10(Math.max(gap, curves.smallest_gap));
  upright(chart, where(curves.chosen_gap[state.output]), "--grey", [6, 6]);
  upright(chart, where(state.gap), "--ink", []);
}

/** A line at one place of the x axis, over the whole height or between two values. */
function upright(chart, at, name, dash, from, to) {
  const { ctx, bbox } = chart;
  const x = chart.valToPos(at, "x", true);
  ctx.save();
  ctx.strokeStyle = colour(name);
  ctx.lineWidth = 2 * (window.devicePixelRatio || 1);
  ctx.setLineDash(dash);
  ctx.beginPath();
  ctx.moveTo(x, from === undefined ? bbox.top : chart.valToPos(from, "y", true));
  ctx.lineTo(x, to === undefined ? bbox.top + bbox.height : chart.valToPos(to, "y", true));
  ctx.stroke();
  ctx.restore();
}

function sizeOf(node) {
  return { width: Math.max(node.clientWidth, 260), height: 280 };
}

function overGaps(id, names, label, points, lowest) {
  over(id, names, label, points, lowest, {
    x: (p) => -Math.log10(p.gap),
    axis: axis("1 − λ", { values: (_, ticks) => ticks.map(power), size: 46 }),
    points: { show: false },
    draw: marks,
  });
}

/** Against the values of λ that were trained, with bars of one standard error where there are. */
function overLams(id, names, label, points, bars) {
  over(id, names, label, points, undefined, {
    x: (p) => p.lam,
    axis: axis("λ", { values: (_, ticks) => ticks.map(short), size: 46 }),
    points: { show: true, size: 7 },
    most: bars ? (p) => p[names[0][0]] + (p[bars] || 0) : undefined,
    draw: (chart) => {
      upright(chart, grid.lam[grid.chosen], "--grey", [6, 6]);
      if (!bars) return;
      for (const p of points) {
        const middle = p[names[0][0]];
        if (p[bars] > 0) upright(chart, p.lam, COLOURS[0], [], middle - p[bars], middle + p[bars]);
      }
    },
  });
}

function over(id, names, label, points, lowest, look) {
  const node = document.getElementById(id);
  if (!node) return;
  node.replaceChildren();
  const x = points.map(look.x);
  const wanted = names.filter(([key]) => points.some((p) => Number.isFinite(p[key])));
  const series = wanted.map(([key]) => points.map((p) => (Number.isFinite(p[key]) ? p[key] : null)));
  const all = series.flat().filter((v) => v !== null);
  if (!all.length) {
    node.textContent = "Not known for this ensemble.";
    return;
  }
  if (look.most) all.push(...points.map(look.most).filter(Number.isFinite));
  const least = Math.min(...all);
  const most = Math.max(...all);
  const logarithmic = least > 0 && most > 20 * least;
  // What matters are the sizes of errors that can be reached, not how small a training error gets.
  const floor = lowest === undefined ? least : Math.max(least, lowest);
  const range = logarithmic
    ? [10 ** Math.floor(Math.log10(floor) + 1e-9), 10 ** Math.ceil(Math.log10(most) - 1e-9)]
    : [Math.min(0, least), most * 1.05];
  const options = {
    ...sizeOf(node),
    scales: { x: { time: false }, y: { distr: logarithmic ? 3 : 1, range } },
    legend: { live: false },
    cursor: { drag: { x: false, y: false } },
    axes: [
      look.axis,
      axis(label, {
        values: (_, ticks) => ticks.map(short),
        ...(logarithmic ? { splits: () => tens(range) } : {}),
      }),
    ],
    series: [
      {},
      ...wanted.map(([, title, dash], k) => ({
        label: title,
        stroke: colour(COLOURS[k]),
        width: 2,
        dash,
        points: look.points,
      })),
    ],
    hooks: { draw: [look.draw] },
  };
  charts.push(new uPlot(options, [x, ...series], node));
}

function scatter(id, x, columns, labels) {
  const node = document.getElementById(id);
  if (!node) return;
  node.replaceChildren();
  const order = Array.from(x.keys()).sort((a, b) => x[a] - x[b]);
  const sorted = (values) => order.map((i) => values[i]);
  const options = {
    ...sizeOf(node),
    scales: { x: { time: false } },
    legend: { live: false },
    cursor: { drag: { x: false, y: false } },
    axes: [
      axis(labels[0], { values: (_, ticks) => ticks.map(short), size: 46 }),
      axis(labels[1], { values: (_, ticks) => ticks.map(short) }),
    ],
    series: [{}, ...columns.map((column) => ({
      label: column.label,
      stroke: colour(column.colour),
      width: column.line ? 1.5 : 0,
      dash: column.dash,
      paths: column.line ? undefined : () => null,
      points: { show: !column.line, size: 4, fill: colour(column.colour) },
    }))],
  };
  charts.push(new uPlot(options, [sorted(x), ...columns.map((c) => sorted(c.values))], node));
}

function drawHeldOut() {
  const held = data.held_out && data.held_out[state.output];
  if (!held) return;
  const x = Array.from(held.predicted);
  const observed = Array.from(held.observed);
  const ends = held.lower ? [["95 % interval, low", held.lower], ["high", held.upper]] : [];
  scatter("predicted-observed", x, [
    { label: "rows", values: observed, colour: "--blue" },
    { label: "perfect", values: x, colour: "--grey", line: true },
    ...ends.map(([label, values]) => ({
      label, values: Array.from(values), colour: "--vermilion", line: true, dash: [6, 4],
    })),
  ], ["predicted", "observed"]);
  scatter("residuals", x, [
    { label: "observed − predicted", values: observed.map((y, i) => y - x[i]), colour: "--blue" },
    { label: "zero", values: x.map(() => 0), colour: "--grey", line: true },
  ], ["predicted", "residual"]);
}

function drawAll() {
  for (const chart of charts) chart.destroy();
  charts = [];
  if (curves) drawCurves();
  else if (grid) drawGrid();
  drawHeldOut();
}

function drawGrid() {
  const row = (name, k) => grid[name][state.output][k];
  const points = Array.from(grid.lam, (lam, k) => ({
    lam,
    train_error: row("train_error", k),
    sure: row("sure", k) + grid.noise_variance[state.output],
    gcv: row("gcv", k),
    dof: row("dof", k),
    dof_std_error: row("dof_std_error", k),
  }));
  overLams("chart-criteria", [
    ["train_error", "training error", [6, 4]], ["sure", "SURE + σ²"], ["gcv", "GCV"],
  ], "mean squared error", points);
  overLams("chart-dof", [["dof", "degrees of freedom"]], "degrees of freedom", points,
    "dof_std_error");
}

function drawCurves() {
  const count = 240;
  const points = Array.from({ length: count + 1 }, (_, k) =>
    evaluate(10 ** (-(decades * k) / count), state.output));
  overGaps("chart-criteria", [
    ["train_error", "training error", [6, 4]], ["kfold", "K-fold"], ["sure", "SURE + σ²"],
    ["gcv", "GCV"],
  ], "mean squared error", points.map((p) => ({
    ...p, sure: p.sure + curves.noise_variance[state.output],
  })), 0.05 * curves.total[state.output] * bestError(points));
  overGaps("chart-dof", [["dof", "degrees of freedom"]], "degrees of freedom", points);
  overGaps("chart-diversity", [
    ["train_error", "ensemble error"], ["member_error", "average member error"],
    ["diversity", "diversity", [6, 4]],
  ], "mean square", points);
}

/** The smallest estimate of an error, over the mean square of y. */
function bestError(points) {
  const total = curves.total[state.output];
  const found = points.flatMap((p) => [p.kfold, p.gcv]).filter((v) => Number.isFinite(v) && v > 0);
  return found.length && total > 0 ? Math.min(...found) / total : 1;
}

let waiting = 0;
function later() {
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(() => { drawAll(); show(); });
}
window.addEventListener("resize", later);
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", later);
window.addEventListener("beforeprint", () => { drawAll(); show(); });

for (const button of document.querySelectorAll("button[data-copy]")) {
  button.addEventListener("click", async () => {
    const text = document.getElementById(button.dataset.copy).textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      const range = document.createRange();
      range.selectNodeContents(document.getElementById(button.dataset.copy));
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      button.textContent = "Selected: press Ctrl+C";
    }
  });
}

drawAll();
toChoice();
