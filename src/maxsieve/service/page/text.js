// Shows the text of documents safely: only as text nodes, with control characters and invisible ones made visible.
//
// The service counts positions in code points, JavaScript counts in UTF-16. `codePoints` converts between them.

const WORDS = new Intl.NumberFormat("en", { maximumFractionDigits: 3 });

export const codePoints = (text) => Array.from(text);

export const count = (number) => WORDS.format(number);

export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

export const score = (number) => (number === null || number === undefined ? "none yet" : number.toFixed(3));

export const bytes = (number) => {
  const units = ["bytes", "KB", "MB", "GB", "TB"];
  let power = 0;
  for (; number >= 1000 && power < units.length - 1; power++) number /= 1000;
  return `${power === 0 ? number : number.toPrecision(3)} ${units[power]}`;
};

export const milliseconds = (number) => (number < 0.01 ? "< 0.01" : number < 10 ? number.toFixed(2) : number.toFixed(1));

// Ends of lines and pages: white space, whatever the system or the format that wrote them.
const isSpace = (point) => point >= 0x09 && point <= 0x0d;

// Other control characters, marks of direction, invisible separators, single halves of a surrogate pair.
const isStrange = (point) =>
  (point < 0x20 && !isSpace(point)) || (point >= 0x7f && point <= 0x9f) || point === 0x61c ||
  (point >= 0x200b && point <= 0x200f) || (point >= 0x2028 && point <= 0x202e) || (point >= 0x2060 && point <= 0x206f) ||
  point === 0xfeff || (point >= 0xd800 && point <= 0xdfff) || (point >= 0xe0000 && point <= 0xe007f);

const nameOf = (point) => `U+${point.toString(16).toUpperCase().padStart(4, "0")}`;

// One line of plain text, for canvases, labels and sentences.
export const harmless = (text) =>
  codePoints(String(text)).map((one) => {
    const point = one.codePointAt(0);
    return isSpace(point) ? " " : isStrange(point) ? `[${nameOf(point)}]` : one;
  }).join("");

export const shorten = (text, most) => {
  const points = codePoints(harmless(text));
  return points.length <= most ? points.join("") : `${points.slice(0, most - 1).join("")}…`;
};

// An element with properties and children; strings become text nodes.
export const element = (name, properties = {}, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "class") made.className = value;
    else if (key === "data") Object.assign(made.dataset, value);
    else if (key in made && typeof value !== "string") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
};

// Appends code points to a node. Unusual ones are shown in a box with their name.
export const appendText = (node, points) => {
  let run = "";
  const flush = () => {
    if (run) node.append(run);
    run = "";
  };
  for (const one of points) {
    const point = one.codePointAt(0);
    if (isStrange(point)) {
      flush();
      node.append(element("span", { class: "strange" }, nameOf(point)));
    } else if (point === 0x0b || point === 0x0c) run += " ";
    else if (point !== 0x0d) run += one;
  }
  flush();
};

// Appends the code points from `start` to `end`, with marks: `{start, end, grade}`, in order. Grade 0 is not visible.
export const appendMarked = (node, points, marks, start, end) => {
  let done = start;
  for (const mark of marks) {
    if (mark.start < done || mark.end > end || mark.end <= mark.start) continue;
    appendText(node, points.slice(done, mark.start));
    const word = element(mark.grade ? "mark" : "span", { class: `word g${mark.grade}`, data: { start: String(mark.start) } });
    if (mark.title) word.title = mark.title;
    appendText(word, points.slice(mark.start, mark.end));
    node.append(word);
    done = mark.end;
  }
  appendText(node, points.slice(done, end));
};
