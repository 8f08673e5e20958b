"use strict";
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const NS = "http://www.w3.org/2000/svg";

  // --- heat map ---
  const heat = document.getElementById("heat");
  if (heat) {
    const cells = document.getElementById("heat-cells");
    const cursor = heat.querySelector(".cursor");
    const readout = document.getElementById("heat-cell");
    // which index of a cell's place is that of the problem
    const problem = cells.dataset.axes === "problems across" ? 0 : 1;
    const size = problem === 0 ? [data.problems.length, data.instances.length] : [data.instances.length, data.problems.length];
    const at = [0, 0];
    const describe = function (cell) {
      if (cell >= 0) return cell + " % of the best speed";
      return cell === -1 ? "not measured" : data.statuses[-2 - cell];
    };
    const show = function () {
      cursor.setAttribute("x", at[0]);
      cursor.setAttribute("y", at[1]);
      const row = at[problem], instance = at[1 - problem];
      readout.textContent = data.problems[row] + ", I" + (instance + 1) + " " +
        data.instances[instance] + ": " + describe(data.cells[row][instance]);
    };
    heat.addEventListener("mousemove", function (event) {
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(cells.getScreenCTM().inverse());
      const column = Math.floor(point.x), row = Math.floor(point.y);
      if (column < 0 || row < 0 || column >= size[0] || row >= size[1]) return;
      at[0] = column;
      at[1] = row;
      show();
    });
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    heat.addEventListener("keydown", function (event) {
      const step = steps[event.key];
      if (!step) return;
      event.preventDefault();
      for (const axis of [0, 1]) at[axis] = Math.min(size[axis] - 1, Math.max(0, at[axis] + step[axis]));
      show();
    });
    heat.addEventListener("focus", show);
  }

  // --- rounds over time ---
  function element(name, attributes, text) {
    const made = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }
  function short(number) {
    return String(Number(number.toPrecision(4)));
  }
  function ticks(low, high) {
    const rough = (high - low) / 4;
    const power = Math.pow(10, Math.floor(Math.log10(rough)));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((factor) => factor >= rough * 0.999);
    const ticks = [];
    for (let index = Math.ceil(low / step); index * step <= high; index++) ticks.push(index * step);
    return ticks;
  }
  function draw(problem, kernels) {
    const width = 960, height = 300, left = 64, right = 16, top = 12, bottom = 44;
    const all = kernels.flatMap((kernel) => kernel.points);
    const end = Math.max(1, ...all.map((point) => point[0]));
    const times = all.map((point) => point[1]);
    const spread = Math.max(Math.max(...times) - Math.min(...times), Math.max(...times) * 0.02);
    const low = Math.min(...times) - 0.08 * spread, high = Math.max(...times) + 0.08 * spread;
    const x = (seconds) => left + (seconds / end) * (width - left - right);
    const y = (time) => height - bottom - ((time - low) / (high - low)) * (height - top - bottom);
    const text = "Rounds of " + kernels.length + " kernels on P" + (problem + 1) + ", between " +
      short(Math.min(...times)) + " and " + short(Math.max(...times)) + " ms; the table below has the figures.";
    const svg = element("svg", { viewBox: "0 0 " + width + " " + height, width, height, role: "img", "aria-label": text });
    svg.append(element("title", {}, "Rounds over time"), element("desc", {}, text));
    for (const time of ticks(low, high)) {
      svg.append(element("line", { x1: left, x2: width - right, y1: y(time), y2: y(time), class: "grid" }));
      svg.append(element("text", { x: left - 8, y: y(time) + 4, "text-anchor": "end" }, short(time)));
    }
    for (const seconds of ticks(0, end)) {
      svg.append(element("text", { x: x(seconds), y: height - bottom + 16, "text-anchor": "middle" }, short(seconds)));
    }
    svg.append(element("text", { x: (left + width) / 2, y: height - 8, class: "axis", "text-anchor": "middle" }, "seconds since the first round"));
    svg.append(element("text", { x: 14, y: height / 2, class: "axis", "text-anchor": "middle", transform: "rotate(-90 14 " + height / 2 + ")" }, "ms"));
    kernels.forEach(function (kernel, index) {
      const points = kernel.points.map((point) => x(point[0]).toFixed(1) + "," + y(point[1]).toFixed(1));
      svg.append(element("polyline", { points: points.join(" "), class: "series s" + index }));
      for (const point of kernel.points) {
        const mark = element("circle", { cx: x(point[0]).toFixed(1), cy: y(point[1]).toFixed(1), r: 3, class: "mark s" + index });
        mark.append(element("title", {}, kernel.name + ": " + short(point[1]) + " ms"));
        svg.append(mark);
      }
    });
    return svg;
  }
  function legend(kernels) {
    const list = document.createElement("ul");
    list.className = "legend";
    kernels.forEach(function (kernel, index) {
      const item = document.createElement("li");
      const swatch = document.createElement("i");
      swatch.className = "swatch line";
      swatch.style.background = "var(--s" + index + ")";
      item.append(swatch, kernel.name);
      list.append(item);
    });
    return list;
  }
  function table(kernels) {
    const body = document.querySelector("#trace-table tbody");
    body.replaceChildren();
    for (const kernel of kernels) {
      const times = kernel.points.map((point) => point[1]);
      const sorted = times.slice().sort((a, b) => a - b);
      const middle = sorted.length >> 1;
      const median = sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
      const drift = times[times.length - 1] / times[0];
      const row = body.insertRow();
      const name = row.insertCell();
      name.className = "name";
      name.textContent = kernel.name;
      const shown = [times.length, median, sorted[0], sorted[sorted.length - 1]].map((figure) => [figure, short(figure)]);
      shown.push([drift, (drift >= 1 ? "+" : "") + (100 * (drift - 1)).toFixed(1) + " %"]);
      for (const [sortedBy, text] of shown) {
        const cell = row.insertCell();
        cell.className = "number";
        cell.dataset.v = sortedBy;
        cell.textContent = text;
      }
    }
  }
  const choice = document.getElementById("trace-problem");
  if (choice) {
    const update = function () {
      const problem = Number(choice.value), kernels = data.traces[problem];
      const box = document.getElementById("trace");
      const names = document.getElementById("trace-legend");
      if (kernels.length) {
        box.replaceChildren(draw(problem, kernels));
        names.replaceChildren(legend(kernels));
      } else {
        box.replaceChildren("No kernel has a verified time on this problem.");
        names.replaceChildren();
      }
      table(kernels);
      for (const boxes of document.querySelectorAll(".boxes")) boxes.hidden = boxes.dataset.problem !== choice.value;
    };
    choice.addEventListener("change", update);
    const first = data.traces.findIndex((kernels) => kernels.length);
    choice.value = String(Math.max(0, first));
    update();
  }
})();
