(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const chart = document.getElementById("timeline");
  const readout = document.getElementById("timeline-readout");
  const cursor = chart.querySelector(".cursor");
  const width = chart.viewBox.baseVal.width;

  // where the pointer is: a cycle, and the lane
  function place(event) {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(chart.getScreenCTM().inverse());
    const cycle = (point.x - data.left) / (width - data.left - data.right) * data.cycles;
    return { x: point.x, cycle, lane: data.lanes[Math.floor((point.y - data.top) / data.lane)] };
  }
  function found(at) {
    if (!at.lane || at.cycle < 0 || at.cycle > data.cycles) return null;
    return at.lane.spans.find((span) => span[0] <= at.cycle && at.cycle < span[1]);
  }
  chart.addEventListener("mousemove", function (event) {
    const at = place(event);
    if (at.cycle < 0 || at.cycle > data.cycles) return;
    cursor.setAttribute("x1", at.x);
    cursor.setAttribute("x2", at.x);
    const span = found(at);
    let text = "cycle " + Math.round(at.cycle);
    if (at.lane) text += ", " + at.lane.name + ": ";
    if (span) {
      const waits = span[3] ? " " + span[3] + " before" : "";
      text += span[2] + waits + " " + (data.instructions[span[4]] || "") + ", " +
        Math.round(span[1] - span[0]) + " cycles from " + Math.round(span[0]);
    } else if (at.lane) text += "nothing";
    readout.textContent = text;
  });
  chart.addEventListener("click", function (event) {
    const span = found(place(event));
    const row = span && document.getElementById("i" + data.addresses[span[4]]);
    if (!row) return;
    const closed = row.closest("details");
    if (closed) closed.open = true;
    location.hash = row.id;
  });
})();
