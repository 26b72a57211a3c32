// Values under the pointer: each figure carries its numbers as JSON beside its charts.
for (const figure of document.querySelectorAll("figure[data-curve]")) {
  const data = JSON.parse(figure.dataset.curve);
  const readout = figure.querySelector(".readout");
  let at = Math.floor(data.x.length / 2);
  const number = (value) => typeof value === "string" ? value : Number(value.toPrecision(4)).toLocaleString("en", { maximumSignificantDigits: 4 });
  const show = (index) => {
    at = Math.max(0, Math.min(data.x.length - 1, index));
    let words = `${data.name} = ${number(data.x[at])}: ${number(data.y[at])}`;
    if (data.lower) words += `, interval ${number(data.lower[at])} to ${number(data.upper[at])}`;
    if (data.band_lower) words += `, band ${number(data.band_lower[at])} to ${number(data.band_upper[at])}`;
    readout.textContent = words;
    for (const svg of figure.querySelectorAll("svg.chart")) {
      const pixels = data.pixels[svg.classList.contains("wide") ? "wide" : "narrow"];
      const cursor = svg.querySelector(".cursor");
      cursor.querySelector("path").setAttribute("transform", `translate(${pixels.x[at]} 0)`);
      cursor.querySelector("circle").setAttribute("transform", `translate(${pixels.x[at]} ${pixels.y[at]})`);
      cursor.setAttribute("visibility", "visible");
    }
  };
  const nearest = (event) => {
    const svg = event.currentTarget;
    const box = svg.getBoundingClientRect();
    const pixels = data.pixels[svg.classList.contains("wide") ? "wide" : "narrow"].x;
    const where = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
    const distances = pixels.map((x) => Math.abs(x - where));
    show(distances.indexOf(Math.min(...distances)));
  };
  for (const svg of figure.querySelectorAll("svg.chart")) {
    svg.addEventListener("pointermove", nearest);
    svg.addEventListener("pointerdown", nearest);
  }
  figure.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1, Home: -at, End: data.x.length }[event.key];
    if (move === undefined) return;
    show(at + move);
    event.preventDefault();
  });
}
